// The run over time, below every view: how many threads ran and which part of them held the GIL. Dragging selects a
// range that all views then show; its ends are sliders, so that keys move them as well.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { drawAxis, ticks } from "./axis";
import { time } from "./numbers";
import type { Recording } from "./recording";
import { ask, dark, idle, problem, process, range, thread } from "./state";

const AXIS = 16;
/** Samples come at random instants: in less time a column would show chance. */
const COLUMN_NS = 20e6;

interface Activity {
  begin: number;
  end: number;
  /** Threads at once, in each column. */
  running: Float64Array;
  gil: Float64Array;
  /** How many there are. */
  threads: number;
}

const activity = signal<Activity | null>(null);
/** The range while it is being dragged. */
const dragged = signal<[number, number] | null>(null);
/** Time below the mouse. */
const hovered = signal<number | null>(null);

function whole(recording: Recording): [number, number] | null {
  const { begin_ns, end_ns } = recording.summary;
  return end_ns > begin_ns ? [begin_ns, end_ns] : null;
}

/** Asks for the whole run; the range does not narrow it, since it is chosen here. */
function useActivity(recording: Recording): void {
  useEffect(() => {
    const all = whole(recording);
    if (!all) return;
    const columns = Math.round(Math.min(innerWidth, Math.max(60, (all[1] - all[0]) / COLUMN_NS)));
    const chosen = { thread: thread.value, process: process.value, idle: idle.value };
    let current = true;
    ask({ ask: "activity", recording: recording.number, columns, ...chosen }).then(
      (answer) => current && (activity.value = decode(answer.values, answer.reals("running_and_gil"), recording)),
      (error: Error) => (problem.value = error.message),
    );
    return () => {
      current = false;
    };
  }, [recording, thread.value, process.value, idle.value]);
}

function decode(values: Record<string, any>, both: Float64Array, recording: Recording): Activity {
  const columns = both.length / 2;
  const columnNs = (values.end_ns - values.begin_ns) / columns;
  const threads = both.map((ns) => ns / columnNs);
  return {
    begin: values.begin_ns,
    end: values.end_ns,
    running: threads.subarray(0, columns),
    gil: threads.subarray(columns),
    threads: recording.summary.threads.length,
  };
}

const TONES = {
  light: { running: "#9cc3f2", gil: "#2f6fc4", line: "#c3cad3", text: "#4d5662", veil: "rgb(251 252 253 / .72)" },
  dark: { running: "#3c618f", gil: "#84b6f2", line: "#454c55", text: "#b3bcc7", veil: "rgb(23 25 28 / .72)" },
};

/** A round number of threads that the highest column fits below; chance may show more than there are. */
function ceiling(shown: Activity): number {
  let highest = 0;
  for (const value of shown.running) if (value > highest) highest = value;
  return Math.max(1, Math.min(shown.threads, Math.ceil(highest - 0.05)));
}

function drawArea(context: CanvasRenderingContext2D, values: Float64Array, top: number, width: number, height: number): void {
  context.beginPath();
  context.moveTo(0, height);
  const step = width / values.length;
  for (let i = 0; i < values.length; i++) {
    const y = height - Math.min(1, values[i] / top) * (height - 2);
    context.lineTo(i * step, y);
    context.lineTo((i + 1) * step, y);
  }
  context.lineTo(width, height);
  context.fill();
}

function drawStrip(canvas: HTMLCanvasElement, shown: Activity, [from, to]: [number, number], chosen: [number, number] | null): void {
  const scale = devicePixelRatio || 1;
  const width = (canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale)));
  const height = (canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale)));
  const context = canvas.getContext("2d")!;
  const tone = dark.value ? TONES.dark : TONES.light;
  const place = (value: number) => ((value - from) / (to - from)) * width;
  const floor = height - AXIS * scale;
  context.save();
  context.translate(place(shown.begin), 0);
  const drawn = place(shown.end) - place(shown.begin);
  context.fillStyle = tone.running;
  drawArea(context, shown.running, ceiling(shown), drawn, floor);
  context.fillStyle = tone.gil;
  drawArea(context, shown.gil, ceiling(shown), drawn, floor);
  context.restore();
  if (chosen) {
    context.fillStyle = tone.veil;
    context.fillRect(0, 0, place(chosen[0]), floor);
    context.fillRect(place(chosen[1]), 0, width, floor);
  }
  drawAxis(context, ticks(from, to, width / scale, from), place, { ...tone, top: floor, height: AXIS * scale, scale });
}

function limited(value: number, [from, to]: [number, number]): number {
  return Math.min(to, Math.max(from, value));
}

interface HandleProps {
  /** 0 = begin, 1 = end. */
  end: 0 | 1;
  all: [number, number];
  chosen: [number, number];
}

/** A new value for one end; the ends never cross, and the whole is no range. */
function moveEnd(end: 0 | 1, value: number, chosen: [number, number], all: [number, number]): [number, number] | null {
  const least = (all[1] - all[0]) / 1000;
  const moved: [number, number] = [...chosen];
  moved[end] = end ? limited(value, [chosen[0] + least, all[1]]) : limited(value, [all[0], chosen[1] - least]);
  return moved[0] <= all[0] && moved[1] >= all[1] ? null : moved;
}

function Handle({ end, all, chosen }: HandleProps): JSX.Element {
  const length = all[1] - all[0];
  const onKey = (event: KeyboardEvent) => {
    const step = (length / 100) * (event.shiftKey ? 10 : 1);
    const targets: Record<string, number> = {
      ArrowLeft: chosen[end] - step,
      ArrowRight: chosen[end] + step,
      Home: all[0],
      End: all[1],
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    event.stopPropagation();
    range.value = moveEnd(end, targets[event.key], chosen, all);
  };
  return (
    <div
      class="handle"
      role="slider"
      tabIndex={0}
      data-end={end}
      aria-label={end ? "end of the range" : "begin of the range"}
      aria-valuemin={0}
      aria-valuemax={length / 1e9}
      aria-valuenow={(chosen[end] - all[0]) / 1e9}
      aria-valuetext={time(chosen[end] - all[0])}
      style={{ left: `${(100 * (chosen[end] - all[0])) / length}%` }}
      onKeyDown={onKey}
    />
  );
}

type Grip = { kind: "new" | "move" | "begin" | "end"; at: number; before: [number, number] | null; moved: boolean };

/** What a pointer that goes down at `value` takes hold of. */
function gripAt(event: PointerEvent, value: number): Grip {
  const target = event.target as HTMLElement;
  const before = range.value;
  const kind = target.dataset.end ? (target.dataset.end === "1" ? "end" : "begin") : "new";
  const inside = before && kind === "new" && value > before[0] && value < before[1] && !event.shiftKey;
  return { kind: inside ? "move" : kind, at: value, before, moved: false };
}

function pulled(grip: Grip, value: number, all: [number, number]): [number, number] | null {
  const before = grip.before ?? all;
  if (grip.kind === "begin") return moveEnd(0, value, before, all);
  if (grip.kind === "end") return moveEnd(1, value, before, all);
  if (grip.kind === "new") return [limited(Math.min(value, grip.at), all), limited(Math.max(value, grip.at), all)];
  const by = Math.min(all[1] - before[1], Math.max(all[0] - before[0], value - grip.at));
  return [before[0] + by, before[1] + by];
}

/** Listens for a range being drawn, moved or resized with the mouse. Views follow when it is let go. */
function useDrag(strip: { current: HTMLDivElement | null }, all: [number, number] | null): void {
  useEffect(() => {
    const element = strip.current;
    if (!element || !all) return;
    const off = new AbortController();
    const on = (name: string, act: (event: PointerEvent) => void) =>
      element.addEventListener(name, act as EventListener, { signal: off.signal });
    const valueAt = (event: MouseEvent) => {
      const { left, width } = element.getBoundingClientRect();
      return all[0] + ((event.clientX - left) / width) * (all[1] - all[0]);
    };
    let grip: (Grip & { x: number }) | null = null;
    on("pointerdown", (event) => {
      if (event.button) return;
      grip = { ...gripAt(event, valueAt(event)), x: event.clientX };
      element.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      hovered.value = limited(valueAt(event), all);
      if (!grip || (!grip.moved && Math.abs(event.clientX - grip.x) < 3)) return;
      grip.moved = true;
      dragged.value = pulled(grip, valueAt(event), all);
    });
    on("pointerup", () => {
      if (grip?.moved) range.value = dragged.value;
      dragged.value = grip = null;
    });
    on("pointercancel", () => (dragged.value = grip = null));
    on("pointerleave", () => (hovered.value = null));
    on("dblclick", () => (range.value = null));
    return () => off.abort();
  }, [all?.[0], all?.[1]]);
}

/** What the mouse is on, what is selected, or what the tones mean. */
function words(shown: Activity | null, all: [number, number], chosen: [number, number] | null): string {
  const at = hovered.value;
  if (dragged.value || (chosen && at === null))
    return `${time(chosen![0] - all[0])} to ${time(chosen![1] - all[0])}: ${time(chosen![1] - chosen![0])} · double click or Esc: all`;
  if (at === null || !shown) return "drag to select a range";
  const columns = shown.running.length;
  const column = Math.floor(((at - shown.begin) / (shown.end - shown.begin)) * columns);
  const running = (shown.running[column] ?? 0).toFixed(1);
  return `at ${time(at - all[0])}: ${running} running, ${(shown.gil[column] ?? 0).toFixed(1)} with the GIL`;
}

function Drawn({ all }: { all: [number, number] }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLDivElement>(null);
  const shown = activity.value;
  const chosen = dragged.value ?? range.value;
  useDrag(strip, all);
  useEffect(() => {
    const element = canvas.current!; // the observer may still speak when the page has let go of it
    const draw = () => shown && drawStrip(element, shown, all, chosen);
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    return () => watch.disconnect();
  }, [shown, all[0], all[1], chosen?.[0], chosen?.[1], dark.value]);
  return (
    <footer class="strip" aria-label="the run over time">
      <div class="legend">
        <b>{shown ? `${ceiling(shown)} ${ceiling(shown) > 1 ? "threads" : "thread"}` : ""}</b>
        <span class="tone running">running</span>
        <span class="tone gil">with the GIL</span>
        <span>{words(shown, all, chosen)}</span>
      </div>
      <div class="course" ref={strip}>
        <canvas ref={canvas} aria-hidden="true" />
        <Handle end={0} all={all} chosen={chosen ?? all} />
        <Handle end={1} all={all} chosen={chosen ?? all} />
      </div>
    </footer>
  );
}

export function Strip({ recording }: { recording: Recording }): JSX.Element {
  const all = whole(recording);
  useActivity(recording);
  if (all) return <Drawn all={all} />;
  return <footer class="strip none hint">Sums were recorded, not one time after the other, so there is no run over time to show; sonde record keeps the times.</footer>;
}
