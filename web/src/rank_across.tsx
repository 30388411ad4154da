// One function on every rank: a bar each, and how many ranks took how much.

import type { JSX } from "preact";

import { useAnswer } from "./asking";
import { useScrollKeys } from "./keys";
import { amount, bySamples, countWord } from "./measure";
import { functionName } from "./names";
import { count, perCent } from "./numbers";
import type { Recording } from "./recording";
import { decodeAcross, type Across as AcrossData } from "./rank_rows";
import { Rows, type RowStyle } from "./rows";
import { ranks as chosen, selected, selection } from "./state";

const HEIGHT = 20;
const PARTS = 20;
const LEAST = 0.4; // of ten: one rank among thousands is seen, too

function Histogram({ data }: { data: AcrossData }): JSX.Element {
  const most = data.histogram.reduce((a, b) => Math.max(a, b), 1);
  const height = (ranks: number) => (ranks ? Math.max(LEAST, (10 * ranks) / most) : 0);
  return (
    <figure class="histogram">
      <figcaption>
        how many ranks took how much <small>at most {count(most)}</small>
      </figcaption>
      <svg viewBox={`0 0 ${data.histogram.length} 10`} preserveAspectRatio="none" role="img" aria-label={`ranks by amount, from least to most: ${data.histogram.join(", ")}`}>
        {[...data.histogram].map((ranks, at) => (
          <rect x={at + 0.05} width={0.9} y={10 - height(ranks)} height={height(ranks)}>
            <title>{count(ranks)} ranks</title>
          </rect>
        ))}
      </svg>
      <p class="ends" aria-hidden="true">
        <span>{amount(data.spread.min)}</span>
        <span>{amount(data.spread.max)}</span>
      </p>
    </figure>
  );
}

export function Across({ recording, bySelf, rankCount }: { recording: Recording; bySelf: boolean; rankCount: number }): JSX.Element | null {
  const code = selected.value;
  const request = { ask: "rank_function", recording: recording.number, ...selection.value, code, by_self: bySelf, limit: PARTS };
  const data = useAnswer(code ? request : null, decodeAcross, [recording]);
  useScrollKeys(".across .rows");
  if (!code) return <p class="hint empty">Select a function: here it is shown on each rank.</p>;
  if (!data) return null;
  const { spread } = data;
  const values = bySelf ? data.self : data.total;
  const row = (index: number, style: RowStyle) => {
    const words = String(data.rank[index]);
    return (
      <div class="row" role="row" style={style}>
        <button type="button" class="label" aria-pressed={chosen.value === words} title="only this rank in all views" onClick={() => (chosen.value = chosen.value === words ? "" : words)}>
          rank {words}
        </button>
        <span role="cell">{amount(values[index])}</span>
        <span role="cell">{perCent(data.share[index])}</span>
        <span role="cell">{count(data.calls[index] || data.samples[index])}</span>
        <span class="bar" role="presentation">
          <i style={{ width: `${(100 * values[index]) / (spread.max || 1)}%` }} />
          <u style={{ left: `${(100 * spread.mean) / (spread.max || 1)}%` }} title={`mean ${amount(spread.mean)}`} />
        </span>
      </div>
    );
  };
  return (
    <div class="across">
      <p class="spread">
        <b>
          <bdi>{functionName(recording.codes, code)}</bdi>
        </b>{" "}
        mean {amount(spread.mean)} · most {amount(spread.max)} (rank {spread.max_rank}) · least {amount(spread.min)} (rank {spread.min_rank}) · deviation {amount(spread.std)} · imbalance {perCent(spread.imbalance_share)} · on {count(spread.present)} of {count(rankCount)} ranks
      </p>
      <Histogram data={data} />
      <div class="row head" role="row">
        <span>rank</span>
        <span>{bySelf ? "itself" : "total"}</span>
        <span>of the rank</span>
        <span>{countWord(bySamples.value)}</span>
        <span class="legend">the line is the mean</span>
      </div>
      <Rows count={data.rank.length} height={HEIGHT} label="ranks" row={row} />
    </div>
  );
}
