// Each rank as a bar of what its functions took themselves, below the bars of mean, deviation, least and most.

import type { JSX } from "preact";

import type { Amount, Amounts } from "./answer";
import { useAnswer } from "./asking";
import { oklch, pixel, pixelCss } from "./colors";
import { useScrollKeys } from "./keys";
import { amount } from "./measure";
import { functionName } from "./names";
import type { Recording } from "./recording";
import { decodeBars, type Bars as BarsData, type RankList } from "./rank_rows";
import { Strip } from "./rank_strip";
import { Rows, type RowStyle } from "./rows";
import { dark, ranks as chosen, selected, selection } from "./state";
import { showTip } from "./tip";

const PARTS = 24;
const NAMED = 8;
const HEIGHT = 20;
const WIDE = 1000; // pixels of a bar, before it is stretched
const REST: [[number, number, number], [number, number, number]] = [
  [218, 220, 224],
  [66, 70, 76],
];

/** Neighbours differ: functions of one module lie beside each other, and must be told apart. */
function partPixel(part: number, night: boolean): number {
  return pixel(oklch(night ? 0.55 : 0.78 - 0.06 * (part % 3), 0.11, (part * 137.5) % 360));
}

interface Bar {
  words: string;
  rank: number; // -1 = of all
  /** What each function took, and the last of them all others. */
  parts: ArrayLike<Amount>;
  whole: Amount | null;
}

function partsOf(bars: BarsData, column: number): Amount[] {
  return Array.from({ length: bars.code.length + 1 }, (_, part) => bars.cells[part * bars.columns + column]);
}

function barAt(bars: BarsData, ranks: RankList, index: number): Bar {
  const sums: [string, Amounts, Amount][] = [
    ["mean", bars.mean, bars.whole.mean],
    ["std. deviation", bars.std, bars.whole.std],
    ["most", bars.max, bars.whole.max],
    ["least", bars.min, bars.whole.min],
  ];
  if (index < sums.length) return { words: sums[index][0], rank: -1, parts: sums[index][1], whole: sums[index][2] };
  const place = index - sums.length;
  return { words: `rank ${ranks.rank[place]}`, rank: ranks.rank[place], parts: partsOf(bars, place), whole: ranks.amount[place] };
}

/** Where each part ends, in pixels of a bar. */
function ends(bar: Bar, longest: number): number[] {
  let sum = 0;
  return Array.from(bar.parts, (part) => {
    sum += part;
    return Math.round((WIDE * sum) / longest);
  });
}

/** Which colour is which function, of those with the most. */
function Names({ recording, bars, colorOf }: { recording: Recording; bars: BarsData; colorOf(part: number): number }): JSX.Element {
  return (
    <p class="legend">
      {[...bars.code.subarray(0, NAMED)].map((code, part) => (
        <button type="button" key={code} aria-pressed={selected.value === code} title={recording.codes.place(code)} onClick={() => (selected.value = code)}>
          <i style={{ background: pixelCss(colorOf(part)) }} />
          <bdi>{functionName(recording.codes, code)}</bdi>
        </button>
      ))}
      <span>
        <i style={{ background: pixelCss(colorOf(bars.code.length)) }} />
        all others
      </span>
    </p>
  );
}

export function Bars({ recording, ranks }: { recording: Recording; ranks: RankList }): JSX.Element | null {
  const request = { ask: "rank_bars", recording: recording.number, ...selection.value, limit: PARTS, columns: ranks.rank.length };
  const bars = useAnswer(request, decodeBars, [recording]);
  useScrollKeys(".parts .rows");
  if (!bars) return null;
  // What functions took at most, each on its own rank, may come to more than any rank has.
  const longest = Math.max(bars.whole.max, bars.max.reduce((sum: number, part) => sum + part, 0));
  const night = dark.value;
  const colorOf = (part: number) => (part < bars.code.length ? partPixel(part, night) : pixel(REST[night ? 1 : 0]));
  const row = (index: number, style: RowStyle) => {
    const bar = barAt(bars, ranks, index);
    const places = ends(bar, longest);
    const paint = (into: Uint32Array) => places.forEach((end, part) => into.fill(colorOf(part), part ? places[part - 1] : 0, end));
    const partAt = (pixelAt: number) => places.findIndex((end) => pixelAt < end);
    const show = (at: number, event: MouseEvent) => {
      const part = partAt(at);
      if (part < 0) return showTip(null);
      const name = part < bars.code.length ? functionName(recording.codes, bars.code[part]) : "all other functions";
      return showTip({ title: name, place: bar.words, figures: [["itself", amount(bar.parts[part])], ["mean of all", part < bars.code.length ? amount(bars.mean[part]) : "–"]] }, event);
    };
    const words = String(bar.rank);
    return (
      <div class={`row${bar.rank < 0 ? " sum" : ""}`} role="row" style={style}>
        {bar.rank < 0 ? (
          <b role="rowheader">{bar.words}</b>
        ) : (
          <button type="button" class="label" aria-pressed={chosen.value === words} title={`${ranks.host(index - 4)}: only this rank in all views`} onClick={() => (chosen.value = chosen.value === words ? "" : words)}>
            {bar.words}
          </button>
        )}
        <span role="cell">{bar.whole === null ? "" : amount(bar.whole)}</span>
        <Strip paint={paint} columns={WIDE} of={[bars, index, night]} onMove={show} onChoose={(at) => (selected.value = bars.code[partAt(at)] ?? 0)} />
      </div>
    );
  };
  return (
    <div class="parts" role="table" aria-label="ranks as bars of their functions" onMouseLeave={() => showTip(null)}>
      <Names recording={recording} bars={bars} colorOf={colorOf} />
      <Rows count={ranks.rank.length + 4} height={HEIGHT} label="ranks" row={row} />
    </div>
  );
}
