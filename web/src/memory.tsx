// What a recording of memory says at a glance: how much, over time, where, and of which sizes.

import type { JSX } from "preact";

import { amountIn, type Amount, type Amounts, type Answer } from "./answer";
import { useAnswer } from "./asking";
import { ticks } from "./axis";
import { titleOfCounter } from "./counters";
import { MEMORY, memoryMeasure } from "./measure";
import { shortName } from "./names";
import { bytes, count, distance } from "./numbers";
import type { Recording, Summary } from "./recording";
import { measure, modules, range, selection, showSource, view } from "./state";

const TOP = 12;
/** Of the picture of usage, in its own units; it is stretched to the page's width. */
const [WIDTH, HEIGHT, FOOT] = [1000, 150, 18];
const COUNTERS = ["rss", "heap"];

interface Memory {
  values: Record<string, any>;
  sizes: { from: Amounts; count: Amounts; bytes: Amounts };
  sites: {
    code: Uint32Array;
    line: Uint32Array;
    peak: Amounts;
    total: Amounts;
    leaked: Amounts;
    leakedCount: Amounts;
    temporary: Amounts;
    count: Amounts;
  };
}

function decode(answer: Answer): Memory {
  return {
    values: answer.values,
    sizes: { from: answer.amounts("size_from"), count: answer.amounts("size_count"), bytes: answer.amounts("size_bytes") },
    sites: {
      code: answer.numbers("site_code"),
      line: answer.numbers("site_line"),
      peak: answer.amounts("site_peak"),
      total: answer.amounts("site_total"),
      leaked: answer.amounts("site_leaked"),
      leakedCount: answer.amounts("site_leaked_count"),
      temporary: answer.amounts("site_temporary"),
      count: answer.amounts("site_count"),
    },
  };
}

function show(name: string): void {
  measure.value = name;
  view.value = "flame";
}

/** One figure of each measure; a click shows its flame graph. */
function Totals({ memory, begin }: { memory: Memory; begin: number }): JSX.Element {
  const { values } = memory;
  const after = !range.value && values.peak_ns > begin ? `, after ${distance(begin, values.peak_ns)}` : "";
  const kept = values.kept_bytes > 0 && !range.value ? `, without ${bytes(values.kept_bytes)} that the interpreter keeps` : "";
  const words: Record<string, string> = range.value
    ? { peak: "allocated in this time and not freed", total: "allocated in this time", temporary: "freed at once in this time" }
    : {
        peak: `alive at the peak${after}`,
        total: "allocated in all",
        leaked: `${values.ended ? "never freed" : "alive at the end"}${kept}`,
        temporary: "freed at once",
      };
  return (
    <ul class="measures">
      {MEMORY.filter(({ name }) => words[name]).map(({ name }) => (
        <li key={name}>
          <button type="button" title="show it as a flame graph" aria-pressed={memoryMeasure.value?.name === name} onClick={() => show(name)}>
            <b>{bytes(values[`${name}_bytes`])}</b> in {count(values[`${name}_count`])} {values[`${name}_count`] === 1 ? "block" : "blocks"}
            <small>{words[name]}</small>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** How far the figures can be trusted. */
function qualityWords({ values }: Memory, { meta }: Summary): string {
  const how = values.sampled
    ? `Estimated from ${values.sample_bytes ? `one allocation for each ${bytes(values.sample_bytes)}` : "samples"}.`
    : "Every allocation was counted.";
  const net = values.of_range && !values.exact_range ? " Of a part of the run, the net growth of each stack is known; sonde mem --log knows each block." : "";
  const own = Number(meta.memory_bytes) > 0 ? ` The tracker itself took ${bytes(amountIn(meta.memory_bytes))}.` : "";
  return how + net + own;
}

interface Course {
  name: string;
  begin: number;
  end: number;
  most: Amounts;
  highest: Amount;
  highestAt: number;
}

function useCourse(recording: Recording, name: string): Course | null {
  const known = recording.summary.counter_totals.some((one) => one.name === name);
  return useAnswer(
    known ? { ask: "series", recording: recording.number, text: name, columns: WIDTH / 2 } : null,
    (answer) => {
      const { begin_ns, end_ns, most, most_ns } = answer.values;
      return { name, begin: begin_ns, end: end_ns, most: answer.halves("least_and_most")[1], highest: most, highestAt: most_ns };
    },
    [recording],
  );
}

/** The area below a course. Where nothing is known there is a gap. */
function outline({ most }: Course, top: number): string {
  const step = WIDTH / most.length;
  const y = (value: number) => ((1 - value / top) * (HEIGHT - FOOT)).toFixed(1);
  let path = "";
  let isOpen = false;
  for (let i = 0; i < most.length; i++) {
    if (Number.isNaN(most[i]) && isOpen) path += `V${HEIGHT - FOOT}Z`;
    isOpen = !Number.isNaN(most[i]) && (isOpen || ((path += `M${i * step},${HEIGHT - FOOT}`), true));
    if (isOpen) path += `V${y(most[i])}H${((i + 1) * step).toFixed(1)}`;
  }
  return isOpen ? `${path}V${HEIGHT - FOOT}Z` : path;
}

export function Usage({ recording }: { recording: Recording }): JSX.Element | null {
  const courses = COUNTERS.map((name) => useCourse(recording, name)).filter((one) => one !== null);
  if (!courses.length) return null;
  const { begin, end } = courses[0];
  const top = 1.08 * Math.max(...courses.map(({ highest }) => highest), 1);
  const place = (value: number) => ((value - begin) / (end - begin)) * WIDTH;
  const peak = courses.find(({ name }) => name === "heap") ?? courses[0];
  const [x, y] = [place(peak.highestAt), (1 - peak.highest / top) * (HEIGHT - FOOT)];
  const words = courses.map((one) => `${titleOfCounter(one)} at most ${bytes(one.highest)}`).join(", ");
  return (
    <section class="wide">
      <h2>
        Memory over time{" "}
        <small>
          {words}
          {recording.summary.memory && "; select a range below to see what was allocated in it and not freed"}
        </small>
      </h2>
      <svg class="usage" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`memory over time: ${words}`}>
        {courses.map((one) => (
          <path key={one.name} class={one.name} d={outline(one, top)} />
        ))}
        {range.value && <rect class="chosen" x={place(range.value[0])} width={place(range.value[1]) - place(range.value[0])} height={HEIGHT - FOOT} />}
        <line class="peak" x1={x} x2={x} y1={0} y2={HEIGHT - FOOT} />
      </svg>
      <div class="marks" aria-hidden="true">
        {ticks(begin, end - (end - begin) / 20, 950, begin).map(({ value, label }) => (
          <span key={value} style={{ left: `${place(value) / 10}%` }}>
            {label}
          </span>
        ))}
        <b class={x > WIDTH * 0.85 ? "before" : ""} style={{ left: `${x / 10}%`, top: `${y - HEIGHT}px` }}>
          peak {bytes(peak.highest)}
        </b>
      </div>
      <p class="legend">
        {courses.map(({ name }) => (
          <span key={name}>
            <i class={name} /> {titleOfCounter({ name })}
          </span>
        ))}
      </p>
    </section>
  );
}

interface SitesProps {
  recording: Recording;
  memory: Memory;
  title: string;
  /** By which the rows are ordered, and whose bars are drawn. */
  by: "peak" | "total" | "leaked" | "temporary";
}

/** Lines of the program's own code that allocate the most. */
function Sites({ recording, memory, title, by }: SitesProps): JSX.Element | null {
  const { sites } = memory;
  const { codes } = recording;
  const rows = Array.from(sites.code.keys()).filter((row) => sites[by][row] > 0);
  if (!rows.length) return null;
  const largest = sites[by][rows[0]];
  const cell = (values: Amounts, row: number, write: (value: Amount) => string) => <td>{values[row] ? write(values[row]) : "–"}</td>;
  return (
    <section class="wide">
      <h2>{title}</h2>
      <table class="sites">
        <thead>
          <tr>
            <th scope="col">where</th>
            <th scope="col">{range.value ? "not freed" : "peak"}</th>
            <th scope="col">total</th>
            {!range.value && <th scope="col">leaked</th>}
            <th scope="col">blocks</th>
            <th scope="col">temporary</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row">
                <span class="bar" style={{ width: `${(100 * sites[by][row]) / largest}%` }} />
                <button type="button" title={shortName(codes.place(sites.code[row]), 1000)} onClick={() => showSource(sites.code[row], sites.line[row])}>
                  <bdi>
                    {shortName(codes.name(sites.code[row]), 60)} <small>{lineOf(recording, sites.code[row], sites.line[row])}</small>
                  </bdi>
                </button>
              </th>
              {cell(sites.peak, row, bytes)}
              {cell(sites.total, row, bytes)}
              {!range.value && cell(sites.leaked, row, bytes)}
              {cell(sites.count, row, count)}
              {cell(sites.temporary, row, count)}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** "etl.py:12" */
function lineOf({ codes }: Recording, code: number, line: number): string {
  const file = codes.file(code);
  if (!file || file === "~") return "";
  return shortName(`${file.slice(file.lastIndexOf("/") + 1)}:${line || codes.line[code]}`, 60);
}

function Sizes({ memory }: { memory: Memory }): JSX.Element | null {
  const { from, count: counts, bytes: sums } = memory.sizes;
  if (!from.length || range.value || modules.value.length) return null; // known of whole processes alone
  const most = Math.max(...counts);
  return (
    <section>
      <h2>
        Allocations by size <small>how many, and their bytes</small>
      </h2>
      <ol class="bars sizes">
        {Array.from(from, (floor, row) => (
          <li key={row}>
            <span class="held">
              <span class="bar" style={{ width: `${(100 * counts[row]) / most}%` }} />
              <span class="name">from {bytes(floor)}</span>
            </span>
            <span class="figure">{count(counts[row])}</span>
            <span class="figure">{bytes(sums[row])}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The sites by one measure, and what the whole comes to. */
function useMemory(recording: Recording, by: string): Memory | null {
  return useAnswer({ ask: "memory", recording: recording.number, limit: TOP, ...selection.value, measure: by }, decode, [recording]);
}

export function MemoryOverview({ recording }: { recording: Recording }): JSX.Element | null {
  const by = (memoryMeasure.value?.name ?? "peak") as SitesProps["by"];
  const memory = useMemory(recording, by);
  const leaks = useMemory(recording, "leaked");
  if (!memory || !leaks) return null;
  const title = MEMORY.find(({ name }) => name === by)!.title;
  return (
    <>
      <section class="wide">
        <h2>Memory</h2>
        <Totals memory={memory} begin={recording.summary.begin_ns} />
        <p class="hint">{qualityWords(memory, recording.summary)}</p>
      </section>
      <Usage recording={recording} />
      <Sites recording={recording} memory={memory} by={by} title={range.value ? "Where it was allocated" : `Where most is ${title}`} />
      {by !== "leaked" && !range.value && <Sites recording={recording} memory={leaks} by="leaked" title={memory.values.ended ? "Never freed" : "Alive at the end"} />}
      <Sizes memory={memory} />
    </>
  );
}
