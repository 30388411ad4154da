// What to look at first, in words; then what was recorded and how good it is.

import type { JSX } from "preact";

import { functions, type Functions } from "../functions";
import { count, share, time } from "../numbers";
import type { Recording, Summary } from "../recording";
import { selected, view } from "../state";
import type { ViewProps } from "../views";

const NOTE_WORDS = ["", "lost", "refused", "throttled", "clock", "end", "note"];

function show(code: number): void {
  if (!code) return;
  selected.value = code;
  view.value = "flame";
}

function Findings({ summary }: { summary: Summary }): JSX.Element {
  if (!summary.findings.length) return <p>Nothing stands out.</p>;
  return (
    <ol class="findings">
      {summary.findings.map((finding) => (
        <li key={finding.text}>
          {finding.code ? (
            <button type="button" onClick={() => show(finding.code)}>
              {finding.text}
            </button>
          ) : (
            finding.text
          )}
        </li>
      ))}
    </ol>
  );
}

function facts(summary: Summary): [string, string][] {
  const { meta } = summary;
  const rows: [string, string | undefined][] = [
    ["Command", meta.command],
    ["Recorded by", meta.mode && `sonde ${meta.mode}`],
    ["Python", meta.python],
    ["Host", meta.host],
    ["Started", meta.started],
    ["Duration", summary.end_ns > summary.begin_ns ? time(summary.end_ns - summary.begin_ns) : undefined],
    ["Samples", meta.samples && count(Number(meta.samples))],
    ["Errors", meta.errors && count(Number(meta.errors))],
    ["Rate", meta.rate_hz && `${count(Number(meta.rate_hz))} a second`],
    ["Overhead", meta.overhead],
    ["Processes", count(summary.processes.length)],
    ["Threads", count(summary.threads.length)],
  ];
  return rows.filter((row): row is [string, string] => !!row[1]);
}

function Facts({ summary }: { summary: Summary }): JSX.Element {
  return (
    <dl class="facts">
      {facts(summary).map(([name, text]) => (
        <>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </>
      ))}
      {summary.notes.map((note) => (
        <>
          <dt>{NOTE_WORDS[note.kind] ?? "note"}</dt>
          <dd>{note.count > 1 ? `${count(note.count)} ${note.text}` : note.text}</dd>
        </>
      ))}
      {(summary.damage.truncated || summary.damage.damaged_chunks > 0) && (
        <>
          <dt>Damage</dt>
          <dd>
            {summary.damage.truncated ? "the file is cut off; " : ""}
            {count(summary.damage.damaged_chunks)} chunks could not be read; all others are shown
          </dd>
        </>
      )}
    </dl>
  );
}

function Top(props: { title: string; table: Functions; values: Float64Array; recording: Recording }): JSX.Element {
  const { title, table, values, recording } = props;
  const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
  const largest = values[order[0]] || 1;
  return (
    <section>
      <h2>{title}</h2>
      <ol class="bars">
        {order.slice(0, 10).map((row) => (
          <li key={row}>
            <button type="button" onClick={() => show(table.code[row])} title={recording.codes.place(table.code[row])}>
              <span class="bar" style={{ width: `${(100 * values[row]) / largest}%` }} />
              <span class="name">{recording.codes.name(table.code[row])}</span>
            </button>
            <span class="figure">{time(values[row])}</span>
            <span class="figure">{share(values[row], table.totalNs)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Overview({ recording }: ViewProps): JSX.Element {
  const table = functions.value;
  return (
    <div class="overview">
      <section class="wide">
        <h2>Findings</h2>
        <Findings summary={recording.summary} />
      </section>
      {table && <Top title="Most time in itself" table={table} values={table.self} recording={recording} />}
      {table && <Top title="Most time with what it calls" table={table} values={table.total} recording={recording} />}
      <section class="wide">
        <h2>The recording</h2>
        <Facts summary={recording.summary} />
      </section>
    </div>
  );
}
