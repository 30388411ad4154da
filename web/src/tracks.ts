// The tracks of the timeline: what lies on one axis of time, one below the other. Each kind of track is a row of KINDS: how
// tall it is, what it asks for, how it draws. To show something else over time (ranks, a GPU): a row.

import { noAmounts, noShares, type Amount, type Amounts, type Answer, type Shares } from "./answer";
import { css, pixel, regionColor, textOn } from "./colors";
import { ceilingOf, counterValue, meaningOfCounter, titleOfCounter } from "./counters";
import type { Request } from "./engine";
import { count } from "./numbers";
import type { Counter, Figures, Process, Recording, Thread } from "./recording";
import type { Band, Layout, Rectangles, Window } from "./rectangles";
import { background, lookOf, MONOSPACED } from "./stacks";
import { dark } from "./state";

export type KindName = "process" | "counter" | "region" | "mark" | "thread" | "calls";

export interface Track {
  kind: KindName;
  key: string;
  title: string;
  detail: string;
  process: number;
  thread: number;
  counter: (Counter & Figures) | null;
  /** Of a counter's picture, in CSS pixels. */
  chart: number;
  /** Levels that are shown at most, and those that have been seen: a track that shrank while moving would be restless. */
  limit: number;
  levels: number;
  /** What is known of it now, and for which window. */
  layout: TimedLayout | null;
  /** What marks say, by rectangle. */
  words(rectangle: number): string;
  activity: Activity | null;
  values: Values | null;
  known: Window | null;
}

/** Rectangles, and which part of the run each lasts. */
export interface TimedLayout extends Layout {
  share: Shares;
  /** Of how many calls each is the picture: more than one where they are too short to be drawn apart; 0 where samples are. */
  calls: Uint32Array;
  line: Uint32Array;
}

/** A counter: the smallest and the largest value of each column of time; NaN where nothing is known. */
interface Values {
  from: number;
  to: number;
  least: Amounts;
  most: Amounts;
}

/** What a counter was in a stretch of time. */
export interface Reading {
  counter: Counter & Figures;
  from: number;
  to: number;
  least: Amount;
  most: Amount;
}

/** Threads that ran, and held the GIL, in each column of time. */
interface Activity {
  from: number;
  to: number;
  running: Float64Array;
  gil: Float64Array;
}

/** Where a track is drawn, in CSS pixels. */
export interface Place {
  rectangles: Rectangles;
  recording: Recording;
  window: Window;
  top: number;
  tones: { running: number; gil: number; cpu: number; cpuEdge: number; level: number; levelEdge: number };
}

interface Kind {
  height(track: Track): number;
  /** Whether there is anything to ask for. */
  asks: boolean;
  /** Requests that tell it what happened in a window, and what takes their answers. */
  requests(track: Track, window: Window, columns: number): Request[];
  take(track: Track, answers: Answer[], window: Window): void;
  draw(track: Track, place: Place): void;
  /** The rectangles that the mouse may be on. */
  band(track: Track, place: Place): Band | null;
}

const HEAD = 22;
const LANE = 12;
const ROW = 16;
const GAP = 6;
const CHART = 40;
const TALL_CHART = 160;
/** Of a counter's picture: the line along its upper end, in CSS pixels. */
const EDGE = 1.5;
const FEW_LEVELS = 4;
const SOME_LEVELS = 14;
const EMPTY: TimedLayout = {
  level: new Uint32Array(1),
  start: new Float64Array(0),
  size: noAmounts(),
  share: noShares(),
  code: new Uint32Array(0),
  calls: new Uint32Array(0),
  line: new Uint32Array(0),
};

function levelsOf(track: Track): number {
  return Math.max(1, Math.min(track.levels, track.limit));
}

/** Whether all of its levels are shown. */
export function isOpen(track: Track): boolean {
  return track.limit >= track.levels;
}

export function toggle(track: Track): void {
  track.limit = isOpen(track) && track.levels > FEW_LEVELS ? FEW_LEVELS : Infinity;
}

function decodeActivity(answer: Answer): Activity {
  const [running, gil] = answer.halves("running_and_gil");
  const { begin_ns: from, end_ns: to } = answer.values;
  return { from, to, running, gil };
}

function threadBand(track: Track, { recording, window, top }: Place): Band {
  const layout = track.layout ?? EMPTY;
  return {
    layout,
    window: { ...window, top: 0 },
    look: lookOf(recording, layout, { rowHeight: ROW, threads: () => [track.thread, 1] }),
    top: top + LANE,
    height: levelsOf(track) * ROW,
  };
}

/** Single calls: of what the thread did besides nothing is known. */
function callsBand(track: Track, place: Place): Band {
  return { ...threadBand(track, place), top: place.top };
}

/** Regions have colours by their names. */
function regionBand(track: Track, place: Place): Band {
  return namedBand(track, place, (rectangle) => regionName(place.recording, (track.layout ?? EMPTY).code[rectangle]));
}

/** Marks have them by their words. */
function markBand(track: Track, place: Place): Band {
  return namedBand(track, place, track.words);
}

function namedBand(track: Track, { window, top }: Place, name: (rectangle: number) => string): Band {
  const layout = track.layout ?? EMPTY;
  const night = dark.value;
  return {
    layout,
    window: { ...window, top: 0 },
    look: {
      rowHeight: ROW,
      upwards: false,
      background: background(),
      color: (rectangle) => pixel(regionColor(name(rectangle), night)),
      label: name,
      textColor: (shown) => css(textOn(shown)),
      font: MONOSPACED,
    },
    top,
    height: levelsOf(track) * ROW,
  };
}

export function regionName({ summary }: Recording, region: number): string {
  return summary.regions[region] || "region";
}

export function decodeTimed(answer: Answer): TimedLayout {
  return {
    level: answer.numbers("level"),
    start: answer.reals("start"),
    size: answer.amounts("total"),
    share: answer.shares("share"),
    code: answer.numbers("code"),
    calls: answer.numbers("calls"),
    line: answer.numbers("line"),
  };
}

/** What to say of calls, or lines of them, that are drawn as one. */
export function crowd(calls: number, line: number): [string, string][] {
  const what = line ? "lines" : "calls";
  return calls > 1 ? [[what, `${count(calls)}, too short to be drawn apart; the longest is this`]] : [];
}

function takeLayout(track: Track, answer: Answer, window: Window): void {
  track.layout = decodeTimed(answer);
  track.levels = Math.max(track.levels, track.layout.level.length - 1);
  track.known = window;
}

/** How much of the time the thread ran and held the GIL, as heights. */
function drawActivity(track: Track, { rectangles, window, top, tones }: Place): void {
  const shown = track.activity;
  if (!shown) return;
  const perPixel = (window.to - window.from) / rectangles.columns;
  const perColumn = (shown.to - shown.from) / shown.running.length;
  for (let x = 0; x < rectangles.columns; x++) {
    const column = Math.floor((window.from + x * perPixel - shown.from) / perColumn);
    const running = shown.running[column];
    if (!(running > 0)) continue;
    rectangles.bar(x, top, LANE - 2, running, tones.running);
    rectangles.bar(x, top, LANE - 2, shown.gil[column], tones.gil);
  }
}

function decodeValues(answer: Answer): Values {
  const [least, most] = answer.halves("least_and_most");
  const { begin_ns: from, end_ns: to } = answer.values;
  return { from, to, least, most };
}

/** How far a pixel of the picture reaches down and up; null where nothing is known. */
function extentBetween({ from, to, least, most }: Values, begin: number, end: number): [number, number] | null {
  const perColumn = (to - from) / least.length;
  const first = Math.max(0, Math.floor((begin - from) / perColumn));
  const last = Math.min(least.length - 1, Math.ceil((end - from) / perColumn) - 1);
  let found: [number, number] | null = null;
  for (let i = first; i <= Math.max(first, last) && i < least.length; i++) {
    if (Number.isNaN(most[i])) continue;
    found = found ? [Math.min(found[0], least[i]), Math.max(found[1], most[i])] : [least[i], most[i]];
  }
  return found;
}

/** An area up to the smallest value of each pixel, and a line from there to the largest: no peak is too short to be seen. */
function drawValues(track: Track, { rectangles, window, top, tones }: Place): void {
  const { values, counter, chart } = track;
  if (!values || !counter) return;
  const isTime = counter.unit === "ns";
  const [area, edge] = isTime ? [tones.cpu, tones.cpuEdge] : [tones.level, tones.levelEdge];
  const ceiling = ceilingOf(counter, counter.most);
  const perPixel = (window.to - window.from) / rectangles.columns;
  for (let x = 0; x < rectangles.columns; x++) {
    const found = extentBetween(values, window.from + x * perPixel, window.from + (x + 1) * perPixel);
    if (!found) continue;
    rectangles.bar(x, top, chart, Math.max(found[1] / ceiling, EDGE / chart), edge);
    rectangles.bar(x, top, chart, Math.max(0, found[0] / ceiling - EDGE / chart), area);
  }
}

/** What a counter was at a time: the column of the answer that holds it, which is about as wide as a pixel. */
export function readingAt({ values, counter }: Track, time: number): Reading | null {
  if (!values || !counter) return null;
  const perColumn = (values.to - values.from) / values.least.length;
  const column = Math.floor((time - values.from) / perColumn);
  const [least, most] = [values.least[column], values.most[column]];
  if (most === undefined || Number.isNaN(most)) return null;
  return { counter, from: values.from + column * perColumn, to: values.from + (column + 1) * perColumn, least, most };
}

/** The core answers at most so many columns. */
const COLUMNS_MAX = 16383;

/** Samples come at random instants: in less time a column would show chance. */
const COLUMN_NS = 20e6;

export const KINDS: Record<KindName, Kind> = {
  process: {
    height: () => HEAD,
    asks: false,
    requests: () => [],
    take() {},
    draw() {},
    band: () => null,
  },
  counter: {
    height: ({ chart }) => chart + GAP,
    asks: true,
    requests: ({ counter }, { from, to }, columns) => [
      {
        ask: "series",
        counter: counter!.id,
        from_ns: Math.floor(from),
        to_ns: Math.ceil(to),
        columns: Math.min(COLUMNS_MAX, columns),
      },
    ],
    take(track, [answer], window) {
      track.values = decodeValues(answer);
      track.known = window;
    },
    draw: drawValues,
    band: () => null,
  },
  region: {
    asks: true,
    height: (track) => levelsOf(track) * ROW + GAP,
    requests: ({ thread }, { from, to }, columns) => [
      { ask: "regions", thread, from_ns: Math.floor(from), to_ns: Math.ceil(to), columns },
    ],
    take: (track, [answer], window) => takeLayout(track, answer, window),
    draw: (track, place) => place.rectangles.band(regionBand(track, place)),
    band: regionBand,
  },
  mark: {
    asks: true,
    height: () => ROW + GAP,
    requests: ({ thread }, { from, to }, columns) => [
      { ask: "marks", thread, from_ns: Math.floor(from), to_ns: Math.ceil(to), columns },
    ],
    take(track, [answer], window) {
      takeLayout(track, answer, window);
      track.words = answer.texts("words");
    },
    draw: (track, place) => place.rectangles.band(markBand(track, place)),
    band: markBand,
  },
  calls: {
    asks: true,
    height: (track) => levelsOf(track) * ROW + GAP,
    requests: ({ thread }, { from, to }, columns) => [
      { ask: "time", thread, from_ns: Math.floor(from), to_ns: Math.ceil(to), columns },
    ],
    take: (track, [answer], window) => takeLayout(track, answer, window),
    draw: (track, place) => place.rectangles.band(callsBand(track, place)),
    band: callsBand,
  },
  thread: {
    asks: true,
    height: (track) => LANE + levelsOf(track) * ROW + GAP,
    requests({ thread }, { from, to }, columns) {
      const window = { thread, from_ns: Math.floor(from), to_ns: Math.ceil(to) };
      const few = Math.ceil(Math.min(columns / 2, Math.max(10, (to - from) / COLUMN_NS)));
      return [
        { ask: "time", ...window, columns },
        { ask: "activity", ...window, columns: few },
      ];
    },
    take(track, [order, activity], window) {
      takeLayout(track, order, window);
      track.activity = decodeActivity(activity);
    },
    draw(track, place) {
      place.rectangles.band(threadBand(track, place));
      drawActivity(track, place);
    },
    band: threadBand,
  },
};

/** A rank's number says more than the system's. */
function processTrack({ id, rank, pid, parent, command, host }: Process): Track {
  const process = pid || parent ? `process ${pid}` : "program";
  const words = rank === undefined ? [process] : [`rank ${rank}`, process];
  return { ...blank("process", id, 0), title: words[0], detail: [...words.slice(1), command, host].filter(Boolean).join(" · ") };
}

function blank(kind: KindName, process: number, thread: number): Track {
  return {
    kind,
    key: `${kind} ${thread || process}`,
    counter: null,
    chart: CHART,
    values: null,
    title: "",
    detail: "",
    process,
    thread,
    limit: FEW_LEVELS,
    levels: 1,
    layout: null,
    words: () => "",
    activity: null,
    known: null,
  };
}

function counterTrack(counter: Counter & Figures): Track {
  return {
    ...blank("counter", counter.process, 0),
    key: `counter ${counter.id}`,
    counter,
    title: titleOfCounter(counter),
    detail: `highest ${counterValue(counter, counter.most)}, mean ${counterValue(counter, counter.mean)}: ${meaningOfCounter(counter)}`,
  };
}

/** Where there is nothing but counters, they share the height. Beside tracks that grow as more is known of them they stay as
 *  they are, or all would be restless. */
export function fitCharts(tracks: Track[], height: number): void {
  const charts = tracks.filter(({ counter }) => counter);
  if (!charts.length || tracks.some(({ kind, counter }) => !counter && kind !== "process")) return;
  const heads = (tracks.length - charts.length) * HEAD;
  const share = (height - heads) / charts.length - GAP;
  for (const track of charts) track.chart = Math.floor(Math.max(CHART, Math.min(TALL_CHART, share)));
}

const FEW_THREADS = 4;

function byProcess<T extends { process: number }>(rows: T[]): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const row of rows) {
    const known = found.get(row.process);
    if (known) known.push(row);
    else found.set(row.process, [row]);
  }
  return found;
}

/** Those of no rank stay where they are, before the ranks. */
function inOrderOfRanks(processes: Process[]): Process[] {
  return [...processes].sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1) || a.id - b.id);
}

/** Counters of a process, then its threads, below it; those of a single process need no heading. Without times there is
 *  nothing of threads to show. */
export function tracksOf(recording: Recording): Track[] {
  const { processes, threads, counters, timed, sampled } = recording.summary;
  const threadTrack = ({ id, process, name, tid }: Thread): Track => ({
    ...blank(sampled ? "thread" : "calls", process, id),
    title: name || "thread",
    detail: String(tid),
    limit: threads.length <= FEW_THREADS || id === threads[0].id ? SOME_LEVELS : FEW_LEVELS,
  });
  const regionTrack = ({ id, process, name, tid }: Thread): Track => ({
    ...blank("region", process, id),
    title: "regions",
    detail: name || (tid ? `thread ${tid}` : ""),
    limit: SOME_LEVELS,
  });
  const markTrack = (thread: Thread): Track => ({
    ...blank("mark", thread.process, thread.id),
    title: "marks",
    detail: regionTrack(thread).detail,
  });
  const tracksOfThread = (thread: Thread): Track[] => [
    ...(thread.marks ? [markTrack(thread)] : []),
    ...(thread.regions ? [regionTrack(thread)] : []),
    ...(timed ? [threadTrack(thread)] : []),
  ];
  const [countersOf, threadsOf] = [byProcess(counters), byProcess(threads)];
  const tracksBelow = (process: number): Track[] => [
    ...(countersOf.get(process) ?? []).filter(({ points }) => points).map(counterTrack),
    ...(threadsOf.get(process) ?? []).flatMap(tracksOfThread),
  ];
  if (processes.length < 2) return [...tracksBelow(0), ...processes.flatMap(({ id }) => tracksBelow(id))];
  return [
    ...tracksBelow(0),
    ...inOrderOfRanks(processes).flatMap((process) => {
      const own = tracksBelow(process.id);
      return own.length ? [processTrack(process), ...own] : [];
    }),
  ];
}
