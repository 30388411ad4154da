// What to look at first, in words; then what was recorded and how good it is.

import { batch } from "@preact/signals";
import type { JSX } from "preact";

import { amountIn, type Amounts, type Shares } from "../answer";
import { useAnswer } from "../asking";
import { counterValue, titleOfCounter, totalOf } from "../counters";
import { functions, rowOf, type Functions } from "../functions";
import { amount, memoryMeasure, wholeWords } from "../measure";
import { MemoryOverview, Usage } from "../memory";
import { functionName, shortName } from "../names";
import { count, distance, microseconds, perCent, time } from "../numbers";
import { hasRanks, type Finding, type Recording, type Summary } from "../recording";
import { Regions } from "../regions";
import { arrangement, idle, modules, other, recordings, selected, shown as shownNumber, shownIsAfter, showRecording } from "../state";
import { ranks, selection, titleOf, view } from "../state";
import type { ViewProps } from "../views";
import { showOneFunction } from "./ranks";

const NOTE_LOSS = 1;
const NOTE_WORDS = ["Note", "Lost", "Not recorded", "Switched off", "Clock", "Ended", "Warning"];
const TOP = 10;

/** Where a finding is seen best; the flame view unless said otherwise. */
const VIEW_OF: Record<string, string> = {
  "many-calls": "table",
  "c-code": "table",
  flat: "table",
  recursion: "graph",
  loop: "source",
  "hot-line": "source",
  "never-ran": "source",
  waiting: "timeline",
  leak: "source",
  "late-rank": "ranks",
  "late-sender": "ranks",
  "late-receiver": "ranks",
  mpi: "ranks",
  pickling: "ranks",
  "idle-ranks": "ranks",
  imbalance: "ranks",
  "imbalance-all": "ranks",
  balanced: "ranks",
  "missing-ranks": "ranks",
};
/** Said of one function over the ranks. */
const ACROSS_RANKS = new Set(["idle-ranks", "imbalance"]);

function show(code: number, where = "flame"): void {
  if (!code) return;
  selected.value = code;
  if (where === "flame") arrangement.value = "top-down";
  view.value = where;
}

function showFinding({ topic, code }: Finding, where: string): void {
  batch(() => {
    if (ACROSS_RANKS.has(topic)) showOneFunction();
    show(code, where);
  });
}

function FindingLine({ finding, summary }: { finding: Finding; summary: Summary }): JSX.Element {
  const where = VIEW_OF[finding.topic] ?? (summary.only_lines ? "source" : "flame");
  if (finding.topic === "damage") return <>{finding.text}</>;
  if (finding.code)
    return (
      <button type="button" title={`show it in the ${where} view`} onClick={() => showFinding(finding, where)}>
        {finding.text}
      </button>
    );
  if (!VIEW_OF[finding.topic]) return <>{finding.text}</>;
  return (
    <button type="button" onClick={() => (view.value = where)}>
      {finding.text}
    </button>
  );
}

/** What ranks share badly comes first: they are why a run of many is looked at. Of chosen ones nothing of the kind is said. */
function useFindings(recording: Recording): Finding[] {
  const { findings, live } = recording.summary;
  const asks = hasRanks(recording) && !ranks.value;
  const request = { ask: "ranks", recording: recording.number, ...selection.value };
  const ofRanks = useAnswer(asks ? request : null, (answer) => answer.values.findings as Finding[], [recording]);
  const all = new Map([...(ofRanks ?? []), ...findings].map((finding) => [finding.text, finding]));
  // One that is still being made has not been closed, which is no fault of it.
  return [...all.values()].filter(({ topic }) => !(live && topic === "damage"));
}

function Findings({ recording }: { recording: Recording }): JSX.Element {
  const { summary } = recording;
  const found = useFindings(recording);
  if (!found.length) return <p>Nothing stands out.</p>;
  return (
    <ol class="findings">
      {found.map((finding) => (
        <li key={finding.text}>
          <FindingLine finding={finding} summary={summary} />
        </li>
      ))}
    </ol>
  );
}

type Fact = [name: string, text: string | undefined];

const number = (text: string | undefined) => (text === undefined || text === "" ? NaN : Number(text));

/** "1,000 a second asked for, 432 reached" */
function rateWords({ rate_hz, achieved_hz }: Summary["meta"]): string | undefined {
  if (!(number(rate_hz) > 0)) return undefined;
  const reached = number(achieved_hz) > 0 ? `, ${count(number(achieved_hz))} reached` : "";
  return `${count(number(rate_hz))} a second asked for${reached}`;
}

/** How late instants were: of half of them, of nine in ten, of 99 in 100. */
function jitterWords(meta: Summary["meta"]): string | undefined {
  if (!(number(meta.late_us_50) >= 0)) return undefined;
  const late = (key: string) => microseconds(amountIn(meta[key]));
  return `half of the samples less than ${late("late_us_50")}, 99 in 100 less than ${late("late_us_99")}`;
}

function overheadWords({ overhead_ns, overhead_share, sampled }: Summary): string | undefined {
  if (!(overhead_ns > 0)) return undefined;
  return `${time(overhead_ns)} estimated, ${perCent(overhead_share)} of ${sampled ? "the run" : "all threads' time"}`;
}

function distinct(texts: string[]): string | undefined {
  const known = [...new Set(texts.filter(Boolean))];
  return known.length > 4 ? `${known.slice(0, 4).join(", ")} and ${known.length - 4} more` : known.join(", ") || undefined;
}

function durationOf(summary: Summary): string | undefined {
  return summary.duration_ns > 0 ? time(summary.duration_ns) : undefined;
}

function startedOf({ meta }: Summary): string | undefined {
  return meta.started && meta.started.replace("T", " ").replace(/\+0000$/, " UTC");
}

/** "123 MiB at 1.2 s" of what all processes had together. */
function memoryWords(recording: Recording): string | undefined {
  const memory = totalOf(recording, "rss", "pss", "uss");
  if (!memory?.points) return undefined;
  const at = distance(recording.summary.begin_ns, memory.most_ns);
  return `${counterValue(memory, memory.most)} ${titleOfCounter(memory)} at most, at ${at}; ${counterValue(memory, memory.last)} ${recording.summary.live ? "now" : "at the end"}`;
}

function cpuWords(recording: Recording): string | undefined {
  const cpu = totalOf(recording, "cpu");
  return cpu && cpu.points > 1 ? `${counterValue(cpu, cpu.mean)} in use in the mean, ${counterValue(cpu, cpu.most)} at most` : undefined;
}

/** What kind of data they are, for those who opened a file of another program. */
function kindOf(summary: Summary): string {
  if (summary.only_counters) return "counters over time";
  if (summary.only_lines) return `hits and ${summary.lined ? "times" : "memory"} of the lines of chosen functions`;
  const lines = summary.lined ? "; hits and times of lines" : "";
  if (summary.sampled) return `stacks, sampled${lines}`;
  if (summary.measure !== "time") return "allocations by stack";
  return summary.flat ? "functions and who called them, without stacks: stacks are estimated" : `every call, counted and timed${lines}`;
}

function run(recording: Recording): Fact[] {
  const { summary } = recording;
  const { meta, processes } = summary;
  const rankCount = processes.filter(({ rank }) => rank !== undefined).length;
  return [
    ["Command", meta.command ?? distinct(processes.map(({ command }) => command))],
    ["Folder", meta.folder],
    ["Started", startedOf(summary)],
    ["Duration", durationOf(summary)],
    ["Python", meta.python ?? distinct(processes.map(({ python }) => python))],
    ["Host", meta.host ?? distinct(processes.map(({ host }) => host))],
    ["Ranks", rankCount ? count(rankCount) : undefined],
    ["Processes", processes.length ? count(processes.length) : undefined],
    ["Threads", summary.threads.length ? count(summary.threads.length) : undefined],
    ["CPU", cpuWords(recording)],
    ["Memory", memoryWords(recording)],
  ];
}

function quality(summary: Summary): Fact[] {
  const { meta } = summary;
  return [
    ["Recorded by", meta.sonde && meta.mode && `sonde ${meta.mode === "line-memory" ? "mem --lines" : meta.mode} ${meta.sonde}`],
    ["Format", meta.sonde ? undefined : meta.mode],
    ["Holds", kindOf(summary)],
    ["Time means", meta.clock && (meta.clock === "cpu" ? "time on a CPU" : "wall-clock time")],
    ["Rate", rateWords(meta)],
    ["Late by", jitterWords(meta)],
    ["Samples", meta.samples && count(number(meta.samples))],
    ["Errors", meta.errors && count(number(meta.errors))],
    ["Overhead", overheadWords(summary)],
    ["Losses", summary.notes.some(({ kind }) => kind === NOTE_LOSS) ? undefined : "none"],
    ...summary.notes.map(({ kind, count: times, text }): Fact => [NOTE_WORDS[kind] ?? "Note", times > 1 ? `${count(times)} ${text}` : text]),
    ["File", damageWords(summary)],
  ];
}

function damageWords({ damage, live, meta }: Summary): string {
  if (live) return "not yet whole: this page follows it";
  const words = [];
  if (damage.damaged_chunks) words.push(`${count(damage.damaged_chunks)} chunks are damaged and left out`);
  if (damage.orphaned_rows) words.push(`${count(damage.orphaned_rows)} rows name things that were lost with them`);
  if (damage.truncated) words.push("the end is cut off");
  else if (meta.sonde && !damage.complete) words.push("it was not closed: what came after the last checkpoint is missing");
  if (!words.length) return "whole";
  return `${words.join("; ")}. All that is whole is shown.`;
}

function Facts({ title, rows }: { title: string; rows: Fact[] }): JSX.Element | null {
  const known = rows.filter(([, text]) => text);
  if (!known.length) return null;
  return (
    <section>
      <h2>{title}</h2>
      <dl class="facts">
        {known.map(([name, text]) => (
          <>
            <dt>{name}</dt>
            <dd>
              <bdi>{shortName(text!, 2000)}</bdi>
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

interface TopProps {
  title: string;
  /** The column that they are ordered by. */
  by: "self" | "total";
  table: Functions;
  recording: Recording;
}

/** The first functions by one column: of a hundred thousand they are found where the table is, beside the page. */
function Top({ title, by, table, recording }: TopProps): JSX.Element | null {
  const request = { ask: "order", view: by, falling: true, limit: TOP, recording: recording.number, ...selection.value };
  const codes = useAnswer(request, (answer) => answer.numbers("code"), [table]);
  const [values, shares]: [Amounts, Shares] = by === "self" ? [table.self, table.selfShare] : [table.total, table.totalShare];
  if (!codes) return null;
  const order = Array.from(codes, (code) => rowOf.value.get(code)).filter((row) => row !== undefined && values[row] > 0) as number[];
  if (!order.length) return null; // of lines, memory or hits alone may be known
  const largest = values[order[0]] || 1;
  return (
    <section>
      <h2>
        {title} <small>per cent of {wholeWords(table.whole)}</small>
      </h2>
      <ol class="bars">
        {order.map((row) => (
          <li key={row}>
            <button type="button" onClick={() => show(table.code[row])} title={shortName(recording.codes.place(table.code[row]), 1000)}>
              <span class="bar" style={{ width: `${(100 * values[row]) / largest}%` }} />
              <bdi class="name">{functionName(recording.codes, table.code[row])}</bdi>
            </button>
            <span class="figure">{amount(values[row])}</span>
            <span class="figure">{perCent(shares[row])}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The shown recording with another: the one that stands first in the list was before. */
function compareWith(number: number): void {
  batch(() => {
    other.value = number;
    shownIsAfter.value = number < shownNumber.value;
    view.value = "compare";
  });
}

/** Where several are open, as when a folder was named: which, and a way to each. */
function Recordings({ shown }: { shown: Recording }): JSX.Element | null {
  if (recordings.value.length < 2) return null;
  return (
    <section class="wide">
      <h2>Recordings</h2>
      <table class="recordings" aria-label="recordings">
        <tbody>
          {recordings.value.map((one) => (
            <tr key={one.number}>
              <th scope="row">
                <button
                  type="button"
                  class="framed"
                  aria-current={one.number === shown.number ? "true" : undefined}
                  title={shortName(one.summary.name, 1000)}
                  onClick={() => showRecording(one.number)}
                >
                  <bdi>{shortName(titleOf(one), 60)}</bdi>
                </button>
              </th>
              <td>{durationOf(one.summary)}</td>
              <td>{kindOf(one.summary)}</td>
              <td>{startedOf(one.summary)}</td>
              <td>
                {one.number !== shown.number && (
                  <button type="button" class="framed" aria-label={`compare with ${titleOf(one).slice(-60)}`} onClick={() => compareWith(one.number)}>
                    compare
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Why there is nothing to show, and what to type. */
function Nothing({ recording }: { recording: Recording }): JSX.Element {
  const { meta, sampled, live, threads } = recording.summary;
  const mode = meta.mode === "trace" ? "trace" : "record";
  const script = meta.command?.match(/\S+\.py\b/)?.[0] ?? "script.py";
  const through = modules.value.length > 0;
  const why = through
    ? "No stack passes through the chosen modules."
    : live
    ? "Nothing has been recorded yet; what comes is shown here."
    : sampled && !idle.value
      ? "Every sample found its thread idle: it waited, and did not compute."
      : threads.length
        ? "The program ended before anything was recorded, or recording was switched off all the time."
        : "The file holds no samples and no calls.";
  return (
    <section class="wide nothing">
      <h2>There is nothing to show</h2>
      <p>{why}</p>
      {through ? (
        <button type="button" class="framed" onClick={() => (modules.value = [])}>
          Show all modules (Esc)
        </button>
      ) : sampled && !idle.value ? (
        <button type="button" class="framed" onClick={() => (idle.value = true)}>
          Show idle threads (i)
        </button>
      ) : (
        !live && <pre>{mode === "trace" ? `sonde trace ${script}` : `sonde record -r 1000 ${script}`}</pre>
      )}
    </section>
  );
}

/** Of counters alone there is nothing to find but how they went. */
function OverTime({ recording }: { recording: Recording }): JSX.Element {
  return (
    <>
      <Usage recording={recording} />
      <section class="wide">
        <button type="button" class="framed" onClick={() => (view.value = "timeline")}>
          Show the timeline
        </button>
      </section>
    </>
  );
}

function Damage({ summary }: { summary: Summary }): JSX.Element | null {
  const { damaged_chunks, truncated, complete } = summary.damage;
  const isWhole = !damaged_chunks && !truncated && (complete || !summary.meta.sonde);
  if (summary.live || isWhole) return null;
  return (
    <p class="wide problem" role="status">
      The file is not whole: {damageWords(summary)}
    </p>
  );
}

export function Overview({ recording }: ViewProps): JSX.Element {
  const table = functions.value;
  const { summary } = recording;
  const isEmpty = table && !(table.whole > 0) && !table.totalCalls;
  const onlyCounters = summary.only_counters;
  const what = memoryMeasure.value ? "memory" : "time";
  return (
    <div class="overview">
      <Damage summary={summary} />
      {onlyCounters && <OverTime recording={recording} />}
      {isEmpty && !onlyCounters && <Nothing recording={recording} />}
      {!isEmpty && (
        <section class="wide">
          <h2>Findings</h2>
          <Findings recording={recording} />
        </section>
      )}
      <Recordings shown={recording} />
      {summary.memory && <MemoryOverview recording={recording} />}
      {table && !isEmpty && <Top title={`Most ${what} in itself`} by="self" table={table} recording={recording} />}
      {table && !isEmpty && <Top title={`Most ${what} with what it calls`} by="total" table={table} recording={recording} />}
      <Regions recording={recording} />
      <Facts title="The run" rows={run(recording)} />
      <Facts title="The recording" rows={quality(summary)} />
    </div>
  );
}
