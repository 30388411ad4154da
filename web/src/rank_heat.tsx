// Functions over ranks: a row for each function, a column for each rank, or for several where there is no room.

import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { rowStep, useViewKeys } from "./keys";
import { amount } from "./measure";
import { functionName } from "./names";
import { count, perCent } from "./numbers";
import type { Recording } from "./recording";
import { decodePage, type FunctionPage, type RankList } from "./rank_rows";
import { heatPixel, Strip } from "./rank_strip";
import { Rows, type RowStyle } from "./rows";
import { ask, dark, matches, problem, ranks as chosen, selected, selection } from "./state";
import { showTip } from "./tip";

const PAGE = 64; // functions asked for at once
const HEIGHT = 22;
/** Columns of figures, and how the core calls their order. */
const HEADS = [
  { name: "mean", title: "mean" },
  { name: "max", title: "most (rank)" },
  { name: "imbalance", title: "imbalance" },
  { name: "present", title: "present" },
];

interface HeatProps {
  recording: Recording;
  ranks: RankList;
  /** How the functions are ordered: a column of the core's table. */
  order: string;
  onOrder(order: string): void;
  bySelf: boolean;
  /** Colours are shares of the hottest cell of all, not of each row. */
  isGlobal: boolean;
}

/** Pages of functions, asked for as they come into sight. */
function usePages({ recording, order, bySelf }: HeatProps, columns: number): { pages: Map<number, FunctionPage>; want(row: number): void } {
  const [pages, setPages] = useState(new Map<number, FunctionPage>());
  const asked = useRef(new Set<number>());
  const chosenPart = JSON.stringify(selection.value);
  const generation = useRef(0);
  const want = useCallback(
    (row: number) => {
      const page = Math.floor(row / PAGE);
      if (asked.current.has(page)) return;
      asked.current.add(page);
      const current = generation.current;
      const request = { ask: "rank_functions", recording: recording.number, ...selection.peek(), view: order, falling: true, by_self: bySelf, columns };
      ask({ ...request, first: page * PAGE, limit: PAGE }).then(
        (answer) => current === generation.current && setPages((before) => new Map(before).set(page, decodePage(answer))),
        (error: Error) => (problem.value = error.message),
      );
    },
    [recording, order, bySelf, columns, chosenPart],
  );
  useEffect(() => {
    generation.current++;
    asked.current = new Set();
    setPages(new Map());
    want(0);
  }, [want]);
  return { pages, want };
}

function rowOf(pages: Map<number, FunctionPage>, wanted: number): number {
  for (const [page, { code }] of pages) if (wanted && code.includes(wanted)) return page * PAGE + code.indexOf(wanted);
  return -1;
}

/** The row of the selected function as far as it is known, from which keys go on, however quickly they come. */
function useWalk(pages: Map<number, FunctionPage>, all: number, want: (row: number) => void): number {
  const goal = useRef(-1);
  const go = () => {
    if (goal.current < 0) return;
    const page = pages.get(Math.floor(goal.current / PAGE));
    if (!page) return want(goal.current); // and when it is there, this is called again
    selected.value = page.code[goal.current % PAGE];
    goal.current = -1;
  };
  useEffect(go, [pages]);
  const take = ({ key }: KeyboardEvent) => {
    const by = rowStep(key, 20);
    const from = goal.current < 0 ? rowOf(pages, selected.peek()) : goal.current;
    if (by && all) goal.current = Math.max(0, Math.min(all - 1, from + by));
    go();
    return by !== 0;
  };
  useViewKeys(take, [pages, all]);
  return rowOf(pages, selected.value);
}

/** "7", or "8 to 11" where a column stands for several. */
function columnWords(page: FunctionPage, ranks: RankList, column: number): string {
  const [first, last] = [page.columnFirst[column], page.columnFirst[column + 1] - 1];
  return first === last ? `rank ${ranks.rank[first]}` : `ranks ${ranks.rank[first]} to ${ranks.rank[last]}`;
}

function showCell(props: HeatProps, page: FunctionPage, row: number, column: number, event: MouseEvent): void {
  const at = row * page.columns + column;
  const isOne = page.columnFirst[column + 1] - page.columnFirst[column] === 1;
  const figures: [string, string][] = [
    [columnWords(page, props.ranks, column), amount(page.cells[at])],
    ...((isOne ? [] : [["most of one", amount(page.cellMost[at])]]) as [string, string][]),
    ["mean of all", amount(page.mean[row])],
    ["most", `${amount(page.max[row])} (rank ${page.maxRank[row]})`],
    ["least", `${amount(page.min[row])} (rank ${page.minRank[row]})`],
    ["imbalance", perCent(page.imbalance[row])],
  ];
  const { codes } = props.recording;
  showTip({ title: functionName(codes, page.code[row]), place: codes.place(page.code[row]), figures }, event);
}

/** Which rank a click on a column chooses: the one, or all of them. */
function chooseColumn(page: FunctionPage, ranks: RankList, column: number): void {
  const [first, last] = [page.columnFirst[column], page.columnFirst[column + 1] - 1];
  const words = first === last ? `${ranks.rank[first]}` : `${ranks.rank[first]}-${ranks.rank[last]}`;
  chosen.value = chosen.value === words ? "" : words;
}

export function Heat(props: HeatProps): JSX.Element {
  const { recording, ranks, isGlobal } = props;
  const columns = Math.min(ranks.rank.length, 1024);
  const { pages, want } = usePages(props, columns);
  const hottest = pages.get(0)?.max.reduce((most: number, one) => Math.max(most, one), 0) ?? 0;
  const all = pages.get(0)?.all ?? 0;
  const focus = useWalk(pages, all, want);
  const night = dark.value;
  const row = (index: number, style: RowStyle) => {
    const page = pages.get(Math.floor(index / PAGE));
    if (!page) {
      want(index);
      return <div class="row" role="row" style={style} />;
    }
    const at = index % PAGE;
    const code = page.code[at];
    const paint = (into: Uint32Array) => {
      const whole = isGlobal ? hottest : page.max[at];
      for (let column = 0; column < page.columns; column++) into[column] = heatPixel(page.cellMost[at * page.columns + column] / whole, night);
    };
    return (
      <div class={`row${selected.value === code ? " selected" : ""}${matches.value && !matches.value.has(code) ? " faint" : ""}`} role="row" style={style}>
        <button type="button" class="label" title={recording.codes.place(code)} onClick={() => (selected.value = code)}>
          <bdi>{functionName(recording.codes, code)}</bdi>
        </button>
        <span role="cell">{amount(page.mean[at])}</span>
        <span role="cell">
          {amount(page.max[at])} <small>({page.maxRank[at]})</small>
        </span>
        <span role="cell">{perCent(page.imbalance[at])}</span>
        <span role="cell">
          {count(page.present[at])}/{count(ranks.rank.length)}
        </span>
        <Strip
          paint={paint}
          columns={page.columns}
          of={[page, at, isGlobal, hottest, night]}
          onMove={(column, event) => showCell(props, page, at, column, event)}
          onChoose={(column) => chooseColumn(page, ranks, column)}
        />
      </div>
    );
  };
  return (
    <div class="heat" role="table" aria-label="functions over ranks" onMouseLeave={() => showTip(null)}>
      <div class="row head" role="row">
        <span role="columnheader">function</span>
        {HEADS.map(({ name, title }) => (
          <span role="columnheader" aria-sort={props.order === name ? "descending" : undefined}>
            <button type="button" onClick={() => props.onOrder(name)}>
              {title}
              {props.order === name && " ▾"}
            </button>
          </span>
        ))}
        <span role="columnheader" class="axis">
          <span>rank {ranks.rank[0]}</span>
          <span>{ranks.rank[ranks.rank.length - 1]}</span>
        </span>
      </div>
      <Rows count={all} height={HEIGHT} focus={focus} label="functions" row={row} />
    </div>
  );
}
