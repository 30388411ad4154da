// The selected function: its figures, its callers and callees, its threads and its hottest lines.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import type { Amount, Share } from "./answer";
import { useAnswer } from "./asking";
import { copyText } from "./files";
import { calleesOf, callersOf, functions, rowOf, type Functions, type Neighbour } from "./functions";
import { amount, countWord, figure, wholeWords } from "./measure";
import { functionName, Place, shortName } from "./names";
import { count, perCent, time } from "./numbers";
import { decodeAcross } from "./rank_rows";
import { heatPixel, Strip } from "./rank_strip";
import { CODE_KINDS, hasRanks, threadName, type Recording } from "./recording";
import { arrangement, dark, MODULE_WORDS, modules, recordings, selected, selection, showSource, titleOf, toggleModule, view } from "./state";

const MOST = 12;
/** Whoever walks through functions sees their figures at once, lines and threads of the one that they stop at. */
const REST_MS = 100;

interface ListProps {
  title: string;
  rows: Neighbour[];
  recording: Recording;
}

function List({ title, rows, recording }: ListProps): JSX.Element {
  const shown = rows.slice(0, MOST);
  return (
    <section>
      <h3>
        {title} <small>{rows.length || "none"}</small>
      </h3>
      <ol class="neighbours">
        {shown.map((row) => (
          <li key={row.code}>
            <button type="button" title={shortName(recording.codes.place(row.code), 1000)} onClick={() => (selected.value = row.code)}>
              <bdi>{functionName(recording.codes, row.code)}</bdi>
            </button>
            <span class="figure">{figure(row.total, row.share)}</span>
          </li>
        ))}
      </ol>
      {rows.length > shown.length && (
        <button type="button" class="more" onClick={() => (view.value = "table")}>
          and {count(rows.length - shown.length)} more
        </button>
      )}
    </section>
  );
}

interface ShareOfThread {
  thread: number;
  total: Amount;
  share: Share;
}

/** Where it ran, when there are several threads. */
function Threads({ recording, code }: { recording: Recording; code: number }): JSX.Element | null {
  const { threads } = recording.summary;
  const request = threads.length > 1 ? { ask: "threads", recording: recording.number, code, ...selection.value } : null;
  const rows = useAnswer(
    request,
    (answer) => {
      const share = answer.shares("total_share");
      return Array.from(answer.amounts("total"), (total, thread): ShareOfThread => ({ thread, total, share: share[thread] }))
        .filter(({ total }) => total > 0)
        .sort((a, b) => b.total - a.total);
    },
    [recording],
    REST_MS,
  );
  if (!rows?.length || threads.length < 2) return null;
  const largest = rows[0].total;
  const name = (id: number) => threadName(threads.find((thread) => thread.id === id));
  return (
    <section>
      <h3>
        Threads <small>{count(rows.length)}</small>
      </h3>
      <ol class="bars small">
        {rows.slice(0, MOST).map(({ thread, total, share }) => (
          <li key={thread}>
            <span class="held">
              <span class="bar" style={{ width: `${(100 * total) / largest}%` }} />
              <bdi class="name">{shortName(name(thread), 60)}</bdi>
            </span>
            <span class="figure">{figure(total, share)}</span>
          </li>
        ))}
      </ol>
      {rows.length > MOST && <p class="hint">and {count(rows.length - MOST)} more</p>}
    </section>
  );
}

/** The lines of the function that took most; only samples, allocations and line times know them. */
function HotLines({ recording, code }: { recording: Recording; code: number }): JSX.Element | null {
  const { codes } = recording;
  const { sampled, lined, memory } = recording.summary;
  const canHave = (sampled || lined || memory) && codes.fileId[code] > 0;
  const request = { ask: "lines", recording: recording.number, file: codes.fileId[code], code, ...selection.value };
  const lines = useAnswer(
    canHave ? request : null,
    (answer) => {
      const share = answer.shares("total_share");
      const text = answer.values.has_text ? new TextDecoder().decode(answer.small("text")).split("\n") : [];
      return Array.from(answer.amounts("total"), (value, line) => ({ line, value, share: share[line], text: (text[line - 1] ?? "").trim() }))
        .filter(({ value, line }) => line && value > 0)
        .sort((a, b) => b.value - a.value)
        .slice(0, 6);
    },
    [recording],
    REST_MS,
  );
  if (!lines?.length) return null;
  return (
    <section>
      <h3>Hottest lines</h3>
      <ol class="neighbours lines">
        {lines.map(({ line, value, share, text }) => (
          <li key={line}>
            <button type="button" onClick={() => showSource(code, line)} title={shortName(text)}>
              <span class="number">{line}</span> <bdi>{shortName(text)}</bdi>
            </button>
            <span class="figure">{figure(value, share)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The function on each rank: a cell for each, or for several. */
function OverRanks({ recording, code }: { recording: Recording; code: number }): JSX.Element | null {
  const request = { ask: "rank_function", recording: recording.number, code, ...selection.value };
  const found = useAnswer(hasRanks(recording) ? request : null, decodeAcross, [recording], REST_MS);
  const night = dark.value;
  if (!found || found.rank.length < 2) return null;
  const { spread, total } = found;
  const paint = (into: Uint32Array) => total.forEach((value, rank) => (into[rank] = heatPixel(value / spread.max, night)));
  return (
    <section>
      <h3>
        Over ranks <small>{count(found.rank.length)}</small>
      </h3>
      <Strip paint={paint} columns={found.rank.length} of={[found, night]} onChoose={() => (view.value = "ranks")} />
      <p class="hint">
        mean {amount(spread.mean)}, most {amount(spread.max)} (rank {spread.max_rank}), imbalance {perCent(spread.imbalance_share)}, on {count(spread.present)} of them
      </p>
    </section>
  );
}

function perCall(table: Functions, row: number): string {
  return table.calls[row] ? `${time(table.perCall[row])} each` : "";
}

function Figures({ table, row }: { table: Functions; row: number }): JSX.Element {
  return (
    <dl class="figures">
      <dt>total</dt>
      <dd>{amount(table.total[row])}</dd>
      <dd>{perCent(table.totalShare[row])}</dd>
      <dt>self</dt>
      <dd>{amount(table.self[row])}</dd>
      <dd>{perCent(table.selfShare[row])}</dd>
      <dt>{countWord(table.sampled)}</dt>
      <dd>{count(table.sampled ? table.totalSamples[row] : table.calls[row])}</dd>
      <dd>{table.sampled ? `${count(table.samples[row])} self` : perCall(table, row)}</dd>
      <dt class="of">per cent of {wholeWords(table.whole)}</dt>
    </dl>
  );
}

function Links({ recording, code }: { recording: Recording; code: number }): JSX.Element {
  const { codes } = recording;
  const file = codes.file(code);
  const module = codes.module(code);
  const [copied, setCopied] = useState(false);
  const around = () => {
    arrangement.value = "sandwich";
    view.value = "flame";
  };
  return (
    <p class="links">
      {file && file !== "~" && !file.startsWith("<") && (
        <button type="button" onClick={() => showSource(code)}>
          Source
        </button>
      )}
      <button type="button" onClick={around}>
        Sandwich
      </button>
      <button type="button" onClick={() => (view.value = "table")}>
        Table
      </button>
      {module && (
        <button type="button" aria-pressed={modules.value.includes(module)} title={`${shortName(module)}: ${MODULE_WORDS} (m)`} onClick={() => toggleModule(module)}>
          Module
        </button>
      )}
      <button
        type="button"
        title="copy name and place"
        onClick={async () => setCopied(await copyText([codes.name(code), codes.place(code)].filter(Boolean).join(" ")))}
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </p>
  );
}

function Chosen({ recording, table, row }: { recording: Recording; table: Functions; row: number }): JSX.Element {
  const { codes } = recording;
  const code = table.code[row];
  const [callers, callees] = useMemo(() => [callersOf(table, code), calleesOf(table, code)], [table, code]);
  return (
    <>
      <h2 title={shortName(codes.name(code), 1000)}>
        <bdi>{functionName(codes, code)}</bdi>
      </h2>
      <p class="place">
        {codes.place(code) ? <Place codes={codes} code={code} /> : [CODE_KINDS[codes.kind[code]], shortName(codes.module(code))].filter(Boolean).join(" · ")}
      </p>
      {recordings.value.length > 1 && <p class="hint">in {shortName(titleOf(recording), 60)}</p>}
      <Figures table={table} row={row} />
      <Links recording={recording} code={code} />
      <List title="Callers" rows={callers} recording={recording} />
      <List title="Callees" rows={callees} recording={recording} />
      <OverRanks recording={recording} code={code} />
      <HotLines recording={recording} code={code} />
      <Threads recording={recording} code={code} />
    </>
  );
}

export function Inspector({ recording }: { recording: Recording }): JSX.Element {
  const code = selected.value;
  const table = functions.value;
  const row = rowOf.value.get(code);
  const isChosen = code > 0 && table !== null && row !== undefined;
  return (
    <aside class={`inspector${code ? " chosen" : ""}`} aria-label="the selected function">
      {code > 0 && (
        <button type="button" class="unselect" aria-label="close the inspector" onClick={() => (selected.value = 0)}>
          ✕
        </button>
      )}
      {isChosen ? (
        <Chosen key={code} recording={recording} table={table} row={row} />
      ) : (
        <p class="hint">
          {code && table ? "The selected function is not in what is shown." : "Select a function: its callers and callees, lines and threads appear here."}
        </p>
      )}
    </aside>
  );
}
