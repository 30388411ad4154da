// Callers, the function, callees, side by side: where its time comes from and where it goes.

import type { JSX } from "preact";

import { calleesOf, callersOf, rowOf, type Functions, type Neighbour } from "./functions";
import { amount, countWord, figure } from "./measure";
import { functionName, Place } from "./names";
import { count, perCent } from "./numbers";
import type { Recording } from "./recording";
import { selected } from "./state";

const MOST = 200;

interface SideProps {
  title: string;
  rows: Neighbour[];
  recording: Recording;
  unit: string;
}

function Wing({ title, rows, recording, unit }: SideProps): JSX.Element {
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
              <span class="bar" style={{ width: `${Math.min(100, 100 * row.part)}%` }} />
              <bdi class="name">{functionName(codes, row.code)}</bdi>
            </button>
            <span class="figure">{amount(row.total)}</span>
            <span class="figure">{perCent(row.part)}</span>
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
  return (
    <section class="heart" aria-label="function">
      <h3>
        <bdi>{functionName(codes, code)}</bdi>
      </h3>
      <Place codes={codes} code={code} />
      <dl>
        <dt>total</dt>
        <dd>{figure(table.total[row], table.totalShare[row])}</dd>
        <dt>self</dt>
        <dd>{figure(table.self[row], table.selfShare[row])}</dd>
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
  const unit = countWord(table.sampled);
  return (
    <div class="butterfly">
      <Wing title="Called by" rows={callersOf(table, code)} recording={recording} unit={unit} />
      <Heart recording={recording} table={table} row={row} />
      <Wing title="Calls" rows={calleesOf(table, code)} recording={recording} unit={unit} />
    </div>
  );
}
