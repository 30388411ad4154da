// Two recordings, one laid over the other: what became slower, what faster, what is new and what is gone.

import { batch, computed, signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { pickAmounts, pickShares, type Amount, type Amounts, type Answer, type Share, type Shares } from "../answer";
import { useAnswer } from "../asking";
import { css, differenceColor, pixel, textOn } from "../colors";
import { takeKeys } from "../keys";
import { amount, figure, lessWord, moreWord } from "../measure";
import { functionName, Place, shortName } from "../names";
import { perCent } from "../numbers";
import { Picture, type PictureOptions } from "../picture";
import { hasRanks, type Recording } from "../recording";
import type { Layout, Look } from "../rectangles";
import { Rows, type RowStyle } from "../rows";
import { background, MONOSPACED } from "../stacks";
import { dark, engine, idle, keepChoice, matcher, modules, other, own, percent, onPrinting, rankList, ranksAfter, ranksBefore, recordings, search, selected, shownIsAfter, shownMeasure, showRecording, showSource, titleOf } from "../state";
import { showTip, Tip } from "../tip";
import type { ViewProps } from "../views";

const ROW = 24;

interface Difference extends Layout {
  /** By rectangle. */
  before: Amounts;
  after: Amounts;
  change: Amounts;
  /** Of each run. */
  beforeShare: Shares;
  afterShare: Shares;
  /** -1 (gone) to 1 (new): of the amount, and of the share of the run. */
  tone: Shares;
  shareTone: Shares;
  /** By function, from 0. */
  beforeCode: Uint32Array;
  afterCode: Uint32Array;
  self: Sides;
  total: Sides;
  wholeBefore: Amount;
  wholeAfter: Amount;
  wholeChange: Amount;
  wholeRatio: Share;
}

/** What functions take, by themselves or in all. */
interface Sides {
  before: Amounts;
  after: Amounts;
  beforeShare: Shares;
  afterShare: Shares;
  change: Amounts;
  ratio: Shares;
}

function decodeSides(answer: Answer, name: string): Sides {
  return {
    before: answer.amounts(`before_${name}`),
    after: answer.amounts(`after_${name}`),
    beforeShare: answer.shares(`before_${name}_share`),
    afterShare: answer.shares(`after_${name}_share`),
    change: answer.amounts(`change_${name}`),
    ratio: answer.shares(`ratio_${name}`),
  };
}

function decode(answer: Answer): Difference {
  const node = answer.numbers("node");
  const amounts = (name: string) => pickAmounts(answer.amounts(name), node);
  const shares = (name: string) => pickShares(answer.shares(name), node);
  return {
    level: answer.numbers("level"),
    start: answer.reals("start"),
    size: answer.amounts("total"),
    code: answer.numbers("code"),
    before: amounts("node_before"),
    after: amounts("node_after"),
    change: amounts("node_change"),
    beforeShare: shares("node_before_share"),
    afterShare: shares("node_after_share"),
    tone: shares("node_tone"),
    shareTone: shares("node_share_tone"),
    beforeCode: answer.numbers("before_code"),
    afterCode: answer.numbers("after_code"),
    self: decodeSides(answer, "self"),
    total: decodeSides(answer, "total"),
    wholeBefore: answer.values.before,
    wholeAfter: answer.values.after,
    wholeChange: answer.values.change,
    wholeRatio: answer.share("ratio"),
  };
}

interface Pair {
  before: Recording;
  after: Recording;
}

/** Functions are named by the recording that has them. */
function nameOf({ before, after }: Pair, difference: Difference, row: number): string {
  const code = difference.beforeCode[row];
  return code ? functionName(before.codes, code) : functionName(after.codes, difference.afterCode[row]);
}

/** Functions are selected in the recording that is shown; one that it has not is shown in the other. */
function select({ before, after }: Pair, difference: Difference, row: number): void {
  const code = () => (shownIsAfter.value ? difference.afterCode : difference.beforeCode)[row];
  batch(() => {
    if (!code()) {
      other.value = (shownIsAfter.value ? before : after).number;
      showRecording(other.value);
    }
    selected.value = code();
  });
}

function isSelected(difference: Difference, row: number): boolean {
  const codes = shownIsAfter.value ? difference.afterCode : difference.beforeCode;
  return codes[row] > 0 && codes[row] === selected.value;
}

function signed(value: Amount): string {
  return `${value > 0 ? "+" : ""}${amount(value).replace("-", "−")}`;
}

function lookOf(pair: Pair, difference: Difference): Look {
  const night = dark.value;
  const found = search.value ? matcher(search.value) : null;
  const tones = percent.value ? difference.shareTone : difference.tone;
  return {
    rowHeight: 20,
    upwards: false,
    background: background(),
    color(rectangle) {
      const row = difference.code[rectangle] - 1;
      if (row < 0) return night ? 0xff3a3532 : 0xffe4e0dc;
      if (isSelected(difference, row)) return night ? 0xfff2f0ee : 0xff2b2724; // orange is slower here
      const isFound = !found || found(nameOf(pair, difference, row));
      return pixel(differenceColor(isFound ? tones[rectangle] : 0, night));
    },
    label: (rectangle) => {
      const row = difference.code[rectangle] - 1;
      return row < 0 ? "both" : nameOf(pair, difference, row);
    },
    textColor: (color) => css(textOn(color)),
    font: MONOSPACED,
  };
}

function tip(pair: Pair, difference: Difference, rectangle: number, event?: MouseEvent): void {
  if (rectangle < 0) return showTip(null);
  const row = difference.code[rectangle] - 1;
  const { before, after, beforeShare, afterShare, change } = difference;
  showTip(
    {
      title: row < 0 ? "both runs" : nameOf(pair, difference, row),
      figures: [
        ["before", `${amount(before[rectangle])} (${perCent(beforeShare[rectangle])} of the run)`],
        ["after", `${amount(after[rectangle])} (${perCent(afterShare[rectangle])} of the run)`],
        ["change", signed(change[rectangle])],
      ],
    },
    event,
  );
}

function Flame({ pair, difference }: { pair: Pair; difference: Difference }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const options: PictureOptions = {
    layout: difference,
    whole: [0, difference.size[0] || 1],
    look: () => lookOf(pair, difference),
    onHover: (rectangle, event) => tip(pair, difference, rectangle, event),
    onChoose: (rectangle) => {
      const row = rectangle < 0 ? -1 : difference.code[rectangle] - 1;
      if (row >= 0) select(pair, difference, row);
    },
  };
  useEffect(() => {
    const made = (picture.current = new Picture(canvas.current!, options));
    const off = onPrinting(() => made.draw());
    const release = takeKeys((event) => {
      if (event.key === "Escape") return made.leave();
      return stepKey(event) || made.onKey(event);
    });
    return () => {
      off();
      made.close();
      showTip(null);
      release();
    };
  }, [difference]);
  const drawn = [difference, dark.value, search.value, selected.value, shownIsAfter.value, percent.value];
  useEffect(() => picture.current?.replace(options), drawn);
  return (
    <div class="picture">
      <canvas ref={canvas} class="stacks" aria-label="both call trees; the table below has the same figures as text" />
      <Tip />
    </div>
  );
}

/** Which figures the table is about. */
const byTotal = signal(false);
const sortColumn = signal("change");
keepChoice("total", byTotal, [true, false]);
keepChoice("change", sortColumn, ["before", "after", "change", "ratio"]);

interface Column {
  name: string;
  title: string;
  value(difference: Difference, row: number): number;
  text(difference: Difference, row: number): string;
}

const columns = computed<Column[]>(() => {
  const sides = byTotal.value ? ({ total }: Difference) => total : ({ self }: Difference) => self;
  return [
    {
      name: "before",
      title: "Before",
      value: (difference, row) => sides(difference).before[row],
      text: (difference, row) => (difference.beforeCode[row] ? figure(sides(difference).before[row], sides(difference).beforeShare[row]) : "–"),
    },
    {
      name: "after",
      title: "After",
      value: (difference, row) => sides(difference).after[row],
      text: (difference, row) => (difference.afterCode[row] ? figure(sides(difference).after[row], sides(difference).afterShare[row]) : "–"),
    },
    {
      name: "change",
      title: "Change",
      value: (difference, row) => Math.abs(sides(difference).change[row]),
      text: (difference, row) => signed(sides(difference).change[row]),
    },
    {
      name: "ratio",
      title: "Ratio",
      value: (difference, row) => sides(difference).ratio[row] || 0,
      text: (difference, row) => times(sides(difference).ratio[row]),
    },
  ];
});

function times(ratio: Share): string {
  return ratio > 0 ? `× ${ratio.toPrecision(3)}` : "–";
}

function orderOf(pair: Pair, difference: Difference): Uint32Array {
  const column = columns.value.find(({ name }) => name === sortColumn.value)!;
  const found = search.value ? matcher(search.value) : null;
  const rows = Uint32Array.from(difference.self.change.keys()).filter(
    (row) =>
      (difference.beforeCode[row] || difference.afterCode[row]) && (!found || found(nameOf(pair, difference, row))),
  );
  return rows.sort((a, b) => column.value(difference, b) - column.value(difference, a) || a - b);
}

/** Moves the selection through the rows; as they stand in the page now. */
let step: (by: number) => void = () => {};
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 };

function stepKey({ key }: KeyboardEvent): boolean {
  if (key in STEPS) step(STEPS[key]);
  return key in STEPS;
}

interface ChangeProps {
  pair: Pair;
  difference: Difference;
  row: number;
  /** Of which the bars are: the largest change. */
  largest: number;
  style: RowStyle;
}

function Change({ pair, difference, row, largest, style }: ChangeProps): JSX.Element {
  const [before, after] = [difference.beforeCode[row], difference.afterCode[row]];
  const change = (byTotal.value ? difference.total : difference.self).change[row];
  const side = change < 0 ? "faster" : change > 0 ? "slower" : "";
  const codes = before ? pair.before.codes : pair.after.codes;
  const isChosen = isSelected(difference, row);
  return (
    <div
      role="row"
      class={`row${isChosen ? " selected" : ""}`}
      style={style}
      aria-selected={isChosen}
      onClick={() => select(pair, difference, row)}
      onDblClick={() => showSource(selected.value)}
    >
      {columns.value.map(({ name, text }) => (
        <span role="cell" class={`cell ${name} ${name === "change" ? side : ""}`}>
          {name === "change" && <span class="bar" style={{ width: `${(100 * Math.abs(change)) / largest}%` }} />}
          <span>{text(difference, row)}</span>
        </span>
      ))}
      <span role="cell" class="cell mark">
        {before ? (after ? "" : "gone") : "new"}
      </span>
      <span role="cell" class="cell name" title={shortName(nameOf(pair, difference, row), 1000)}>
        <bdi>{nameOf(pair, difference, row)}</bdi>
      </span>
      <span role="cell" class="cell place">
        <Place codes={codes} code={before || after} />
      </span>
    </div>
  );
}

function Changes({ pair, difference }: { pair: Pair; difference: Difference }): JSX.Element {
  const order = useMemo(() => orderOf(pair, difference), [difference, columns.value, sortColumn.value, search.value]);
  const focus = order.findIndex((row) => isSelected(difference, row));
  const { change } = byTotal.value ? difference.total : difference.self;
  const largest = useMemo(() => change.reduce((most, value) => Math.max(most, Math.abs(value)), 1), [change]);
  step = (by) => {
    const at = focus < 0 ? (by > 0 ? 0 : order.length - 1) : Math.min(order.length - 1, Math.max(0, focus + by));
    if (order.length) select(pair, difference, order[at]);
  };
  return (
    <div class="changes grid" role="table" aria-label="what changed" aria-rowcount={order.length}>
      <div class="row heads" role="row">
        {columns.value.map(({ name, title }) => (
          <span role="columnheader" class={`cell ${name}`} aria-sort={sortColumn.value === name ? "descending" : undefined}>
            <button type="button" onClick={() => (sortColumn.value = name)}>
              {title}
              {sortColumn.value === name ? " ▾" : ""}
            </button>
          </span>
        ))}
        <span role="columnheader" class="cell mark" />
        <span role="columnheader" class="cell name">
          Function
        </span>
        <span role="columnheader" class="cell place">
          File
        </span>
      </div>
      <Rows
        count={order.length}
        height={ROW}
        focus={focus}
        label="functions"
        row={(index, style) => <Change pair={pair} difference={difference} row={order[index]} largest={largest} style={style} />}
      />
    </div>
  );
}

function Choice({ label, value, onChoose }: { label: string; value: number; onChoose(number: number): void }): JSX.Element {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {recordings.value.map((one) => (
          <option value={one.number}>
            {one.number + 1}: {titleOf(one).slice(-80)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Puts another recording on one side; the one on the other side changes places with it. */
function put(pair: Pair, isAfter: boolean, number: number): void {
  if (number === (isAfter ? pair.before : pair.after).number) shownIsAfter.value = !shownIsAfter.value;
  else if (shownIsAfter.value === isAfter) showRecording(number);
  else other.value = number;
}

/** Ranks of the shown recording, as people write them; what is no list of ranks is not taken. */
function RankChoice({ label, group }: { label: string; group: Signal<string> }): JSX.Element {
  return (
    <label>
      {label}{" "}
      <input
        type="text"
        class="ranks-input"
        placeholder="0,7,100-115"
        aria-label={`ranks ${label}`}
        value={group.value}
        onChange={(event) => (group.value = rankList(event.currentTarget.value.replaceAll(" ", "")) || group.value)}
      />
    </label>
  );
}

function swap(pair: Pair): void {
  if (pair.before.number !== pair.after.number) shownIsAfter.value = !shownIsAfter.value;
  else [ranksBefore.value, ranksAfter.value] = [ranksAfter.value, ranksBefore.value];
}

function Toolbar({ pair }: { pair: Pair }): JSX.Element {
  const ofRanks = pair.before.number === pair.after.number;
  return (
    <div class="choices" role="toolbar" aria-label="what is compared">
      {ofRanks && <RankChoice label="ranks" group={ranksBefore} />}
      {ofRanks && <RankChoice label="with ranks" group={ranksAfter} />}
      {!ofRanks && <Choice label="before" value={pair.before.number} onChoose={(number) => put(pair, false, number)} />}
      {!ofRanks && <Choice label="after" value={pair.after.number} onChoose={(number) => put(pair, true, number)} />}
      <button type="button" title="before becomes after" onClick={() => swap(pair)}>
        ⇄ swap
      </button>
      <button type="button" aria-pressed={!byTotal.value} onClick={() => (byTotal.value = false)}>
        Self
      </button>
      <button type="button" aria-pressed={byTotal.value} onClick={() => (byTotal.value = true)}>
        Total
      </button>
      <button type="button" aria-pressed={percent.value} title="key t: shares of each run, so that a longer run is not slower everywhere" onClick={() => (percent.value = !percent.value)}>
        per cent
      </button>
      <span class="space" />
      <span class="scale" aria-hidden="true">
        {[-1, -0.5, 0, 0.5, 1].map((change) => (
          <i style={{ background: css(differenceColor(change, dark.value)) }} />
        ))}
        {lessWord()} to {moreWord()}
      </span>
    </div>
  );
}

function Totals({ pair, difference }: { pair: Pair; difference: Difference }): JSX.Element {
  const { wholeBefore, wholeAfter, wholeChange, wholeRatio } = difference;
  const words = wholeAfter > wholeBefore ? moreWord() : lessWord();
  return (
    <p class="totals">
      <span class="paper">
        {titleOf(pair.before)}, then {titleOf(pair.after)}:{" "}
      </span>
      <b>{amount(wholeBefore)}</b> before, <b>{amount(wholeAfter)}</b> after: {signed(wholeChange)},{" "}
      {wholeBefore > 0 && wholeAfter !== wholeBefore ? `${times(wholeRatio)}, ${words}` : "no change"}
    </p>
  );
}

function Alone(): JSX.Element {
  return (
    <div class="empty">
      <h2>One recording is open</h2>
      <p>
        {engine.value?.canOpen
          ? "Drop two files on the page at once: the first is before, the second after."
          : "Name two files: the first is before, the second after."}
      </p>
      <pre>sonde view before.sonde after.sonde</pre>
    </div>
  );
}

function Both({ pair }: { pair: Pair }): JSX.Element {
  const request = {
    ask: "compare",
    recording: pair.before.number,
    other: pair.after.number,
    idle: idle.value,
    own: own.value,
    modules: modules.value.join("\n"),
    measure: shownMeasure.value,
    ...(pair.before.number === pair.after.number ? { ranks: ranksBefore.value, other_ranks: ranksAfter.value } : {}),
  };
  const difference = useAnswer(request, decode, [pair.before, pair.after]);
  return (
    <div class="compare">
      <Toolbar pair={pair} />
      {difference && <Totals pair={pair} difference={difference} />}
      {difference && <Flame pair={pair} difference={difference} />}
      {difference && <Changes pair={pair} difference={difference} />}
      <p class="status">a frame is as wide as the longer of both; blue is {lessWord()}, orange {moreWord()}</p>
    </div>
  );
}

/** Nobody has said which: the first with the last. */
function chooseEnds({ summary }: Recording): void {
  const numbers = summary.processes.map(({ rank }) => rank).filter((rank) => rank !== undefined);
  batch(() => {
    ranksBefore.value = String(Math.min(...numbers));
    ranksAfter.value = String(Math.max(...numbers));
  });
}

export function Compare({ recording }: ViewProps): JSX.Element {
  const all = recordings.value;
  const isOfRanks = hasRanks(recording) && (all.length < 2 || (ranksBefore.value && ranksAfter.value));
  useEffect(() => {
    if (isOfRanks && !(ranksBefore.value && ranksAfter.value)) chooseEnds(recording);
  }, [isOfRanks, recording]);
  if (isOfRanks) return ranksBefore.value && ranksAfter.value ? <Both pair={{ before: recording, after: recording }} /> : <></>;
  if (all.length < 2) return <Alone />;
  const fallback = all.find(({ number }) => number !== recording.number)!;
  const second = other.value === recording.number ? fallback : (all[other.value] ?? fallback);
  return <Both pair={shownIsAfter.value ? { before: second, after: recording } : { before: recording, after: second }} />;
}
