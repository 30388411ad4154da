// The tracks of the timeline: what lies on one axis of time, one below the other. Each kind of track is a row of KINDS: how
// tall it is, what it asks for, how it draws. To show something else over time (zones, regions, counters, ranks): a row.

import type { Answer } from "./answer";
import type { Request } from "./engine";
import type { Process, Recording, Thread } from "./recording";
import type { Band, Layout, Rectangles, Window } from "./rectangles";
import { lookOf } from "./stacks";

export type KindName = "process" | "thread";

export interface Track {
  kind: KindName;
  key: string;
  title: string;
  detail: string;
  process: number;
  thread: number;
  /** Levels that are shown at most, and those that have been seen: a track that shrank while moving would be restless. */
  limit: number;
  levels: number;
  /** What is known of it now, and for which window. */
  layout: Layout | null;
  activity: Activity | null;
  known: Window | null;
}

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
  tones: { running: number; gil: number };
}

interface Kind {
  height(track: Track): number;
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
const FEW_LEVELS = 4;
const SOME_LEVELS = 14;
const EMPTY: Layout = {
  level: new Uint32Array(1),
  start: new Float64Array(0),
  size: new Float64Array(0),
  code: new Uint32Array(0),
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
  const both = answer.reals("running_and_gil");
  const columns = both.length / 2;
  const { begin_ns: from, end_ns: to } = answer.values;
  const parts = both.map((ns) => (ns * columns) / (to - from));
  return { from, to, running: parts.subarray(0, columns), gil: parts.subarray(columns) };
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

/** Samples come at random instants: in less time a column would show chance. */
const COLUMN_NS = 20e6;

export const KINDS: Record<KindName, Kind> = {
  process: {
    height: () => HEAD,
    requests: () => [],
    take() {},
    draw() {},
    band: () => null,
  },
  thread: {
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
      track.layout = {
        level: order.numbers("level"),
        start: order.reals("start"),
        size: order.reals("total"),
        code: order.numbers("code"),
      };
      track.levels = Math.max(track.levels, track.layout.level.length - 1);
      track.activity = decodeActivity(activity);
      track.known = window;
    },
    draw(track, place) {
      place.rectangles.band(threadBand(track, place));
      drawActivity(track, place);
    },
    band: threadBand,
  },
};

function processTrack(process: Process): Track {
  const rank = process.rank === undefined ? "" : `rank ${process.rank} · `;
  return {
    ...blank("process", process.id, 0),
    title: `${rank}process ${process.pid}`,
    detail: [process.command, process.host].filter(Boolean).join(" · "),
  };
}

function blank(kind: KindName, process: number, thread: number): Track {
  return {
    kind,
    key: `${kind} ${thread || process}`,
    title: "",
    detail: "",
    process,
    thread,
    limit: FEW_LEVELS,
    levels: 1,
    layout: null,
    activity: null,
    known: null,
  };
}

const FEW_THREADS = 4;

/** Processes with their threads below; those of a single process need no heading. */
export function tracksOf(recording: Recording): Track[] {
  const { processes, threads } = recording.summary;
  const threadTrack = ({ id, process, name, tid }: Thread): Track => ({
    ...blank("thread", process, id),
    title: name || "thread",
    detail: String(tid),
    limit: threads.length <= FEW_THREADS || id === threads[0].id ? SOME_LEVELS : FEW_LEVELS,
  });
  if (processes.length < 2) return threads.map(threadTrack);
  return processes.flatMap((process) => {
    const own = threads.filter((thread) => thread.process === process.id);
    return own.length ? [processTrack(process), ...own.map(threadTrack)] : [];
  });
}
