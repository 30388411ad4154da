// Callers, the function, callees, side by side: where its time comes from and where it goes.

import type { JSX } from "preact";

import { calleesOf, callersOf, rowOf, type Functions, type Neighbour } from "./functions";
import { amount, countWord } from "./measure";
import { functionName, Place } from "./names";
import { count, share } from "./numbers";
import type { Recording } from "./recording";
import { percent, selected } from "./state";

const MOST = 200;

interface SideProps {
  title: string;
  rows: Neighbour[];
  recording: Recording;
  /** The function's total time, of which the shares are. */
  whole: number;
  unit: string;
}

function Wing({ title, rows, recording, whole, unit }: SideProps): JSX.Element {
  const { codes } = recording;
  return (
    <section class="wing" aria-label={title}>
      <h3>
        {title} <small>{rows.length ? count(rows.length) : "none"}</small>
      </h3>
      <ol class="bars">
        {rows.slice(0, MOST).map((row) => (
          <li key={row.code}>
            <button
              type="button"
              title={`${codes.place(row.code)}\n${count(row.calls)} ${unit}`}
              onClick={() => (selected.value = row.code)}
            >
              <span class="bar" style={{ width: `${Math.min(100, (100 * row.total) / (whole || 1))}%` }} />
              <bdi class="name">{functionName(codes, row.code)}</bdi>
            </button>
            <span class="figure">{amount(row.total)}</span>
            <span class="figure">{share(row.total, whole)}</span>
          </li>
        ))}
      </ol>
      {rows.length > MOST && <p class="hint">and {count(rows.length - MOST)} more</p>}
    </section>
  );
}

function Heart({ recording, table, row }: { recording: Recording; table: Functions; row: number }): JSX.Element {
  const { codes } = recording;
  const code = table.code[row];
  const figure = (value: number) => (percent.value ? share(value, table.whole) : amount(value));
  return (
    <section class="heart" aria-label="function">
      <h3>
        <bdi>{functionName(codes, code)}</bdi>
      </h3>
      <Place codes={codes} code={code} />
      <dl>
        <dt>total</dt>
        <dd>{figure(table.total[row])}</dd>
        <dt>self</dt>
        <dd>{figure(table.self[row])}</dd>
        <dt>{countWord(table.sampled)}</dt>
        <dd>{count(table.sampled ? table.totalSamples[row] : table.calls[row])}</dd>
      </dl>
    </section>
  );
}

export function Butterfly({ recording, table }: { recording: Recording; table: Functions }): JSX.Element | null {
  const code = selected.value;
  const row = rowOf.value.get(code);
  if (!code || row === undefined) return null;
  const whole = table.total[row];
  const unit = countWord(table.sampled);
  return (
    <div class="butterfly">
      <Wing title="Called by" rows={callersOf(table, code)} recording={recording} whole={whole} unit={unit} />
      <Heart recording={recording} table={table} row={row} />
      <Wing title="Calls" rows={calleesOf(table, code)} recording={recording} whole={whole} unit={unit} />
    </div>
  );
}
