// The run over time, below every view: how many threads ran and which part of them held the GIL (where threads have no
// times: how many CPUs were in use), and with how much memory. Dragging selects a
// range that all views then show; its ends are sliders, so that keys move them as well.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Amounts, Answer } from "./answer";
import { drawAxis, ticks } from "./axis";
import { placeCanvas } from "./canvas_place";
import { ceilingOf, counterRange, counterValue, titleOfCounter, totalOf } from "./counters";
import { distance } from "./numbers";
import type { Counter, Figures, Recording } from "./recording";
import { ask, dark, idle, modules, problem, process, range, region, thread } from "./state";

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

/** A counter of all processes together. */
interface Course {
  counter: Counter & Figures;
  begin: number;
  end: number;
  least: Amounts;
  most: Amounts;
}

const activity = signal<Activity | null>(null);
const cpu = signal<Course | null>(null);
const memory = signal<Course | null>(null);
/** The range while it is being dragged. */
const dragged = signal<[number, number] | null>(null);
/** Time below the mouse. */
const hovered = signal<number | null>(null);

function whole(recording: Recording): [number, number] | null {
  const { begin_ns, end_ns } = recording.summary;
  return end_ns > begin_ns ? [begin_ns, end_ns] : null;
}

function courseOf(counter: Counter & Figures, answer: Answer): Course {
  const [least, most] = answer.halves("least_and_most");
  const { begin_ns: begin, end_ns: end } = answer.values;
  return { counter, begin, end, least, most };
}

/** The counter of that name, where the recording has it. */
function useCourse(recording: Recording, shown: { value: Course | null }, ...names: string[]): void {
  useEffect(() => {
    const counter = totalOf(recording, ...names);
    shown.value = null;
    if (!counter) return;
    let current = true;
    ask({ ask: "series", recording: recording.number, text: counter.name, columns: Math.round(innerWidth) }).then(
      (answer) => current && (shown.value = courseOf(counter, answer)),
      (error: Error) => (problem.value = error.message),
    );
    return () => {
      current = false;
    };
  }, [recording]);
}

/** Asks for the whole run; the range does not narrow it, since it is chosen here. */
function useActivity(recording: Recording): void {
  useEffect(() => {
    const all = whole(recording);
    if (!all || !recording.summary.timed || !recording.summary.sampled) return;
    const columns = Math.round(Math.min(innerWidth, Math.max(60, (all[1] - all[0]) / COLUMN_NS)));
    const part = { modules: modules.value.join("\n"), region: region.value };
    const chosen = { thread: thread.value, process: process.value, idle: idle.value, ...part };
    let current = true;
    ask({ ask: "activity", recording: recording.number, columns, ...chosen }).then(
      (answer) => current && (activity.value = decode(answer, recording)),
      (error: Error) => (problem.value = error.message),
    );
    return () => {
      current = false;
    };
  }, [recording, thread.value, process.value, idle.value, modules.value, region.value]);
}

function decode(answer: Answer, recording: Recording): Activity {
  const [running, gil] = answer.halves("running_and_gil");
  const { begin_ns: begin, end_ns: end } = answer.values;
  return { begin, end, running, gil, threads: recording.summary.threads.length };
}

const TONES = {
  light: { running: "#9cc3f2", gil: "#2f6fc4", memory: "#2e8a4a", line: "#c3cad3", text: "#4d5662", veil: "rgb(251 252 253 / .72)" },
  dark: { running: "#3c618f", gil: "#84b6f2", memory: "#7ad08f", line: "#454c55", text: "#b3bcc7", veil: "rgb(23 25 28 / .72)" },
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

interface Shown {
  activity: Activity | null;
  cpu: Course | null;
  memory: Course | null;
}

/** A line through the largest value of each column, which rises from the smallest where they differ. */
function drawLine(context: CanvasRenderingContext2D, { counter, least, most }: Course, width: number, height: number): void {
  const step = width / most.length;
  const place = (value: number) => height - (value / ceilingOf(counter, counter.most)) * (height - 2);
  context.beginPath();
  for (let i = 0; i < most.length; i++) {
    if (Number.isNaN(most[i])) continue;
    context.lineTo((i + 0.5) * step, place(least[i]));
    context.lineTo((i + 0.5) * step, place(most[i]));
  }
  context.stroke();
}

function drawStrip(canvas: HTMLCanvasElement, shown: Shown, [from, to]: [number, number], chosen: [number, number] | null): void {
  const { width, height, scale } = placeCanvas(canvas);
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d")!;
  const tone = dark.value ? TONES.dark : TONES.light;
  const place = (value: number) => ((value - from) / (to - from)) * width;
  const floor = height - AXIS * scale;
  const within = ({ begin, end }: { begin: number; end: number }, draw: (width: number) => void) => {
    context.save();
    context.translate(place(begin), 0);
    draw(place(end) - place(begin));
    context.restore();
  };
  const { activity: threads, cpu: cpus, memory: bytes } = shown;
  if (threads)
    within(threads, (drawn) => {
      context.fillStyle = tone.running;
      drawArea(context, threads.running, ceiling(threads), drawn, floor);
      context.fillStyle = tone.gil;
      drawArea(context, threads.gil, ceiling(threads), drawn, floor);
    });
  else if (cpus)
    within(cpus, (drawn) => {
      context.fillStyle = tone.running;
      drawArea(context, cpus.most.map((value) => value || 0), ceilingOf(cpus.counter, cpus.counter.most), drawn, floor);
    });
  if (bytes)
    within(bytes, (drawn) => {
      context.strokeStyle = tone.memory;
      context.lineWidth = 1.5 * scale;
      drawLine(context, bytes, drawn, floor);
    });
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
      aria-valuetext={distance(all[0], chosen[end])}
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

/** A counter at a time; "" where nothing is known. */
function courseWords(course: Course | null, at: number): string {
  if (!course) return "";
  const columns = course.most.length;
  const column = Math.min(columns - 1, Math.floor(((at - course.begin) / (course.end - course.begin)) * columns));
  const [least, most] = [course.least[column], course.most[column]];
  return Number.isNaN(most) || most === undefined ? "" : `, ${titleOfCounter(course.counter)} ${counterRange(course.counter, least, most)}`;
}

/** Other programs' files do not tell, and some Pythons have none. */
function knowsGil({ gil }: Activity): boolean {
  return gil.some((share) => share > 0);
}

function activityWords(shown: Activity, at: number): string {
  const columns = shown.running.length;
  const column = Math.floor(((at - shown.begin) / (shown.end - shown.begin)) * columns);
  const running = (shown.running[column] ?? 0).toFixed(1);
  return `, ${running} running${knowsGil(shown) ? `, ${(shown.gil[column] ?? 0).toFixed(1)} with the GIL` : ""}`;
}

/** What the mouse is on, what is selected, or what the tones mean. */
function words(shown: Shown, all: [number, number], chosen: [number, number] | null, ranged: boolean): string {
  const at = hovered.value;
  if (dragged.value || (chosen && at === null)) {
    const part = `${distance(all[0], chosen![0])} to ${distance(all[0], chosen![1])}: ${distance(chosen![0], chosen![1])}`;
    return `${part} · double click or Esc: all${ranged ? "" : " · figures of functions have no times and stay those of the whole run"}`;
  }
  if (at === null) return "drag to select a range";
  const first = shown.activity ? activityWords(shown.activity, at) : courseWords(shown.cpu, at);
  const rest = courseWords(shown.memory, at);
  return `at ${distance(all[0], at)}: ${(first + rest).slice(2)}`;
}

/** What the picture shows, in words and tones. */
function Legend({ shown }: { shown: Shown }): JSX.Element {
  const { activity: threads, cpu: cpus, memory: bytes } = shown;
  return (
    <>
      {threads && (
        <>
          <b>{`${ceiling(threads)} ${ceiling(threads) > 1 ? "threads" : "thread"}`}</b>
          <span class="tone running">running</span>
          {knowsGil(threads) && <span class="tone gil">with the GIL</span>}
        </>
      )}
      {!threads && cpus && (
        <>
          <b>{`${ceilingOf(cpus.counter, cpus.counter.most)} CPU${ceilingOf(cpus.counter, cpus.counter.most) > 1 ? "s" : ""}`}</b>
          <span class="tone cpu">in use, {counterValue(cpus.counter, cpus.counter.mean)} in the mean</span>
        </>
      )}
      {bytes && (
        <span class="tone memory">
          {titleOfCounter(bytes.counter)}, highest {counterValue(bytes.counter, bytes.counter.most)}
        </span>
      )}
    </>
  );
}

interface DrawnProps {
  all: [number, number];
  /** Threads have times. */
  timed: boolean;
  /** The figures of functions follow a range. */
  ranged: boolean;
}

function Drawn({ all, timed, ranged }: DrawnProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLDivElement>(null);
  const shown: Shown = { activity: timed ? activity.value : null, cpu: cpu.value, memory: memory.value };
  const chosen = dragged.value ?? range.value;
  useDrag(strip, all);
  useEffect(() => {
    const element = canvas.current!; // the observer may still speak when the page has let go of it
    const draw = () => drawStrip(element, shown, all, chosen);
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    return () => watch.disconnect();
  }, [shown.activity, shown.cpu, shown.memory, all[0], all[1], chosen?.[0], chosen?.[1], dark.value]);
  return (
    <footer class="strip" aria-label="the run over time">
      <div class="legend">
        <Legend shown={shown} />
        <span>{words(shown, all, chosen, ranged)}</span>
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
  const { timed, sampled, memory: ofMemory } = recording.summary;
  const levels = ["rss", "pss", "uss"];
  useActivity(recording);
  useCourse(recording, cpu, "cpu");
  useCourse(recording, memory, ...(ofMemory ? ["heap", ...levels] : [...levels, "heap"]));
  if (all) return <Drawn all={all} timed={timed && sampled} ranged={timed || ofMemory} />;
  return <footer class="strip none hint">Sums were recorded, not one time after the other, so there is no run over time to show; sonde record and sonde trace --timeline keep the times.</footer>;
}
