// The selected function: its figures, its callers and callees.

import type { JSX } from "preact";

import { functions, rowOf, type Functions } from "./functions";
import { count, share, time } from "./numbers";
import type { Recording } from "./recording";
import { percent, selected } from "./state";

interface Neighbour {
  code: number;
  total: number;
  calls: number;
}

function neighbours(table: Functions, own: Uint32Array, other: Uint32Array, code: number): Neighbour[] {
  const found: Neighbour[] = [];
  for (let i = 0; i < own.length; i++)
    if (own[i] === code)
      found.push({
        code: other[i],
        total: table.edges.total[i],
        calls: table.sampled ? table.edges.samples[i] : table.edges.calls[i],
      });
  return found.sort((a, b) => b.total - a.total);
}

function amount(value: number, whole: number): string {
  return percent.value ? share(value, whole) : time(value);
}

function List(props: { title: string; rows: Neighbour[]; recording: Recording; whole: number }): JSX.Element {
  const { title, rows, recording, whole } = props;
  const shown = rows.slice(0, 12);
  return (
    <section>
      <h3>
        {title} <small>{rows.length || "none"}</small>
      </h3>
      <ol class="neighbours">
        {shown.map((row) => (
          <li key={row.code}>
            <button type="button" title={recording.codes.place(row.code)} onClick={() => (selected.value = row.code)}>
              {recording.codes.name(row.code)}
            </button>
            <span class="figure">{amount(row.total, whole)}</span>
          </li>
        ))}
      </ol>
      {rows.length > shown.length && <small>and {rows.length - shown.length} more in the table</small>}
    </section>
  );
}

export function Inspector({ recording }: { recording: Recording }): JSX.Element {
  const code = selected.value;
  const table = functions.value;
  const row = rowOf.value.get(code);
  if (!code || !table || row === undefined)
    return (
      <aside class="inspector" aria-label="selection">
        <p class="hint">{code && table ? "Not in this selection." : "Select a function to see its callers and callees."}</p>
      </aside>
    );
  const { codes } = recording;
  const whole = table.totalNs;
  return (
    <aside class="inspector" aria-label="selection">
      <h2 title={codes.name(code)}>{codes.name(code)}</h2>
      <p class="place">{codes.place(code) || codes.module(code)}</p>
      <dl class="figures">
        <dt>total</dt>
        <dd>{time(table.total[row])}</dd>
        <dd>{share(table.total[row], whole)}</dd>
        <dt>self</dt>
        <dd>{time(table.self[row])}</dd>
        <dd>{share(table.self[row], whole)}</dd>
        <dt>{table.sampled ? "samples" : "calls"}</dt>
        <dd>{count(table.sampled ? table.totalSamples[row] : table.calls[row])}</dd>
        <dd>{table.sampled ? `${count(table.samples[row])} self` : perCall(table, row)}</dd>
      </dl>
      <List
        title="Callers"
        rows={neighbours(table, table.edges.callee, table.edges.caller, code)}
        recording={recording}
        whole={whole}
      />
      <List
        title="Callees"
        rows={neighbours(table, table.edges.caller, table.edges.callee, code)}
        recording={recording}
        whole={whole}
      />
    </aside>
  );
}

function perCall(table: Functions, row: number): string {
  return table.calls[row] ? `${time(table.total[row] / table.calls[row])} each` : "";
}
