// Icicle and bottom-up: stacks as rectangles, zoomed by click, wheel and keys.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Answer } from "../answer";
import { viewKeys } from "../keys";
import { count, share, time } from "../numbers";
import type { Recording } from "../recording";
import { Rectangles, type Layout, type Look, type Window } from "../rectangles";
import { ask, dark, fold, matches, problem, selected, selection } from "../state";
import type { ViewProps } from "../views";

const ROW = 20;
const DIM = 0x60;

export interface Stacks extends Layout {
  parent: Uint32Array;
  line: Uint32Array;
  self: Float64Array;
  calls: Float64Array;
  estimated: boolean;
}

export function decodeStacks(answer: Answer): Stacks {
  return {
    level: answer.numbers("level"),
    start: answer.reals("start"),
    size: answer.reals("total"),
    code: answer.numbers("code"),
    parent: answer.numbers("parent"),
    line: answer.numbers("line"),
    self: answer.reals("self"),
    calls: answer.reals("calls"),
    estimated: answer.values.estimated,
  };
}

const MODES = [
  { name: "top-down", title: "Top-down" },
  { name: "bottom-up", title: "Bottom-up" },
];
const mode = signal("top-down");
const stacks = signal<Stacks | null>(null);
const hovered = signal(-1);

/** Towards the background, for what the search does not name. */
function dimmed(color: number, background: number): number {
  let result = 0xff000000;
  for (const shift of [0, 8, 16]) {
    const from = (color >>> shift) & 0xff;
    const to = (background >>> shift) & 0xff;
    result |= Math.round(from + ((to - from) * (255 - DIM)) / 255) << shift;
  }
  return result >>> 0;
}

function lookOf(recording: Recording, shown: Stacks): Look {
  const night = dark.value;
  const background = night ? 0xff1c1917 : 0xfffdfcfb;
  const found = matches.value;
  const chosen = selected.value;
  const accent = night ? 0xff4fb4ff : 0xff0b6fe0;
  return {
    rowHeight: ROW,
    upwards: false,
    background,
    color(rectangle) {
      const code = shown.code[rectangle];
      if (!rectangle) return night ? 0xff3a3532 : 0xffe4e0dc;
      if (code === chosen) return accent;
      const color = recording.codes.pixel(code, night);
      return found && !found.has(code) ? dimmed(color, background) : color;
    },
    label: (rectangle) => (rectangle ? recording.codes.name(shown.code[rectangle]) : "all"),
    textColor: night ? "#f4f1ee" : "#1b1917",
    font: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  };
}

/** The stack of a rectangle, outermost first. */
function stackOf(shown: Stacks, rectangle: number): number[] {
  const path = [];
  for (let at = rectangle; at; at = shown.parent[at]) path.unshift(at);
  return path;
}

class Picture {
  private readonly rectangles: Rectangles;
  private window: Window = { from: 0, to: 1, top: 0 };
  private animation = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly recording: Recording,
    private readonly shown: Stacks,
  ) {
    this.rectangles = new Rectangles(canvas);
    this.window.to = shown.size[0] || 1;
  }

  draw(): void {
    this.rectangles.draw(this.shown, this.window, lookOf(this.recording, this.shown));
  }

  at(event: MouseEvent): number {
    return this.rectangles.at(this.shown, this.window, lookOf(this.recording, this.shown), event.offsetX, event.offsetY);
  }

  private limit(window: Window): Window {
    const whole = this.shown.size[0] || 1;
    const size = Math.min(whole, Math.max(window.to - window.from, whole * 1e-9));
    const from = Math.min(Math.max(0, window.from), whole - size);
    const height = (this.shown.level.length - 1) * ROW - this.canvas.clientHeight;
    return { from, to: from + size, top: Math.min(Math.max(0, window.top), Math.max(0, height)) };
  }

  move(window: Window, smoothly = false): void {
    cancelAnimationFrame(this.animation);
    const target = this.limit(window);
    if (!smoothly || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.window = target;
      this.draw();
      return;
    }
    const before = { ...this.window };
    const began = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, (now - began) / 150);
      const eased = 1 - (1 - part) ** 3;
      const between = (a: number, b: number) => a + (b - a) * eased;
      this.window = {
        from: between(before.from, target.from),
        to: between(before.to, target.to),
        top: between(before.top, target.top),
      };
      this.draw();
      if (part < 1) this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  zoomTo(rectangle: number): void {
    const from = this.shown.start[rectangle];
    this.move({ from, to: from + this.shown.size[rectangle], top: this.window.top }, true);
  }

  zoom(factor: number, x = this.canvas.clientWidth / 2): void {
    const { from, to, top } = this.window;
    const value = from + ((to - from) * x) / this.canvas.clientWidth;
    this.move({ from: value - (value - from) * factor, to: value + (to - value) * factor, top });
  }

  pan(columns: number, rows: number): void {
    const { from, to, top } = this.window;
    const by = ((to - from) * columns) / this.canvas.clientWidth;
    this.move({ from: from + by, to: to + by, top: top + rows });
  }

  reset(): void {
    this.move({ from: 0, to: this.shown.size[0] || 1, top: 0 }, true);
  }

  /** The largest rectangle of the selected function. */
  largestOf(code: number): number {
    let best = -1;
    for (let i = 1; i < this.shown.code.length; i++)
      if (this.shown.code[i] === code && (best < 0 || this.shown.size[i] > this.shown.size[best])) best = i;
    return best;
  }

  onKey(event: KeyboardEvent): boolean {
    const step = this.canvas.clientWidth / 8;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-step, 0),
      a: () => this.pan(-step, 0),
      ArrowRight: () => this.pan(step, 0),
      d: () => this.pan(step, 0),
      ArrowUp: () => this.pan(0, -3 * ROW),
      ArrowDown: () => this.pan(0, 3 * ROW),
      w: () => this.zoom(0.8),
      s: () => this.zoom(1.25),
      Enter: () => this.largestOf(selected.value) > 0 && this.zoomTo(this.largestOf(selected.value)),
      c: () => hovered.value > 0 && navigator.clipboard?.writeText(this.stackText(hovered.value)),
    };
    actions[event.key]?.();
    if (event.key === "Escape") this.reset();
    return event.key in actions;
  }

  stackText(rectangle: number): string {
    const { codes } = this.recording;
    return stackOf(this.shown, rectangle)
      .map((at) => `${codes.name(this.shown.code[at])} (${codes.place(this.shown.code[at])})`)
      .join("\n");
  }
}

function Hover({ recording, shown }: { recording: Recording; shown: Stacks }): JSX.Element {
  const at = hovered.value;
  if (at < 0) return <p class="status">click: zoom · wheel: zoom · drag: move · Esc: all</p>;
  const { codes } = recording;
  const code = shown.code[at];
  const calls = shown.calls[at];
  return (
    <p class="status">
      <b>{at ? codes.name(code) : "all"}</b> {codes.place(code)} · total {time(shown.size[at])} (
      {share(shown.size[at], shown.size[0])} of the selection) · self {time(shown.self[at])}
      {calls ? ` · ${count(calls)} ${recording.summary.sampled ? "samples" : "calls"}` : ""}
    </p>
  );
}

function listen(canvas: HTMLCanvasElement, picture: Picture, shown: Stacks): () => void {
  const off = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void) =>
    canvas.addEventListener(name, act, { signal: off.signal, passive: false });
  let dragged: { x: number; y: number; moved: boolean } | null = null;
  on("pointerdown", (event) => {
    dragged = { x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    if (!dragged) {
      hovered.value = picture.at(event);
      return;
    }
    const [x, y] = [event.clientX - dragged.x, event.clientY - dragged.y];
    if (!dragged.moved && Math.hypot(x, y) < 4) return;
    dragged = { x: event.clientX, y: event.clientY, moved: true };
    picture.pan(-x, -y);
  });
  on("pointerup", (event) => {
    const rectangle = dragged?.moved ? -1 : picture.at(event);
    dragged = null;
    if (rectangle < 0) return;
    selected.value = rectangle ? shown.code[rectangle] : 0;
    picture.zoomTo(rectangle);
  });
  on("pointerleave", () => (hovered.value = -1));
  on("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) picture.pan(event.deltaX || event.deltaY, 0);
    else picture.zoom(Math.exp(event.deltaY / 300), event.offsetX);
  });
  return () => off.abort();
}

function Canvas({ recording, shown }: { recording: Recording; shown: Stacks }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  useEffect(() => {
    const made = (picture.current = new Picture(canvas.current!, recording, shown));
    hovered.value = -1;
    const stop = listen(canvas.current!, made, shown);
    const watch = new ResizeObserver(() => made.draw());
    watch.observe(canvas.current!);
    viewKeys.value = (event) => made.onKey(event);
    return () => {
      stop();
      watch.disconnect();
      viewKeys.value = null;
    };
  }, [shown]);
  // Read here so that a change of any of them draws again.
  const drawn = [dark.value, matches.value, selected.value];
  useEffect(() => picture.current?.draw(), drawn);
  return <canvas ref={canvas} class="stacks" aria-label="stacks; the table has the same figures as text" />;
}

export function Flame({ recording }: ViewProps): JSX.Element {
  const chosen = selection.value;
  useEffect(() => {
    let current = true;
    ask({ ask: "stacks", view: mode.value, recording: recording.number, fold: fold.value, ...chosen }).then(
      (answer) => current && (stacks.value = decodeStacks(answer)),
      (error: Error) => (problem.value = error.message),
    );
    return () => {
      current = false;
    };
  }, [recording, mode.value, fold.value, chosen]);
  const shown = stacks.value;
  return (
    <div class="flame">
      <div class="choices" role="toolbar">
        {MODES.map(({ name, title }) => (
          <button type="button" aria-pressed={mode.value === name} onClick={() => (mode.value = name)}>
            {title}
          </button>
        ))}
        <label>
          <input
            type="checkbox"
            checked={fold.value}
            onChange={(event) => (fold.value = event.currentTarget.checked)}
          />
          merge recursion
        </label>
        {shown?.estimated && <span class="hint">call paths are estimated: the file knows only who called whom</span>}
      </div>
      {shown && shown.size[0] > 0 && <Canvas recording={recording} shown={shown} />}
      {shown && !(shown.size[0] > 0) && <p class="hint">Nothing was recorded in this selection.</p>}
      {shown && <Hover recording={recording} shown={shown} />}
    </div>
  );
}
