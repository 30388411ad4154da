// An axis of time: round steps, labels with units that count from the begin of the recording; what lies outside of the
// selected range is veiled.

import type { Rectangles } from "./rectangles";

/** Its height above a picture, in CSS pixels. */
export const AXIS = 22;

export interface Tick {
  /** Where it is, on the recording's own clock. */
  value: number;
  label: string;
}

/** Steps below a minute are 1, 2 and 5 of a power of ten; above they are those of clocks. */
const LONG_STEPS_S = [60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400];

function roundStep(leastNs: number): number {
  if (leastNs > 50e9) return 1e9 * (LONG_STEPS_S.find((step) => step * 1e9 >= leastNs) ?? Math.ceil(leastNs / 86400e9) * 86400);
  const power = 10 ** Math.floor(Math.log10(Math.max(leastNs, 1)));
  const step = [1, 2, 5].find((factor) => factor * power >= leastNs * 0.999) ?? 10;
  return step * power;
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

function clock(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)} h` : `${minutes}:${two(seconds % 60)} min`;
}

/** A time that is a multiple of `step`, with as many digits as that needs. */
function tickLabel(ns: number, step: number, largest: number): string {
  if (step >= 60e9) return clock(Math.round(ns / 1e9));
  const [unit, name] = UNITS.find(([size]) => largest >= size) ?? UNITS[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(9, digits))} ${name}`;
}

/** Ticks of a window, at least `apart` of its `width` pixels from each other; labels count from `zero`. */
export function ticks(from: number, to: number, width: number, zero: number, apart = 90): Tick[] {
  if (!(to > from) || width < 1) return [];
  const step = roundStep(((to - from) * apart) / width);
  const largest = Math.max(Math.abs(to - zero), step);
  const made: Tick[] = [];
  for (let number = Math.ceil((from - zero) / step - 1e-9); zero + number * step <= to; number++)
    made.push({ value: zero + number * step, label: tickLabel(number * step, step, largest) });
  return made;
}

/** Draws ticks and labels along the top of a canvas' part: `top` and `height` in its own pixels. */
export function drawAxis(
  context: CanvasRenderingContext2D,
  marks: Tick[],
  place: (value: number) => number,
  look: { top: number; height: number; scale: number; line: string; text: string },
): void {
  const { top, height, scale } = look;
  context.font = `${11 * scale}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const { value, label } of marks) {
    const x = Math.round(place(value));
    context.fillStyle = look.line;
    context.fillRect(x, top, Math.max(1, Math.round(scale)), height);
    if (x + 4 * scale + context.measureText(label).width > context.canvas.width) continue;
    context.fillStyle = look.text;
    context.fillText(label, x + 4 * scale, top + height / 2);
  }
}

const TONES = {
  light: { line: "rgb(120 130 140 / .22)", text: "#4d5662", panel: "#ffffff", veil: "rgb(251 252 253 / .6)" },
  dark: { line: "rgb(150 160 170 / .2)", text: "#b3bcc7", panel: "#1e2125", veil: "rgb(23 25 28 / .6)" },
};

export interface TimeScale {
  from: number;
  to: number;
  /** What labels count from. */
  zero: number;
  range: [number, number] | null;
}

export function ticksOf({ from, to, zero }: TimeScale, width: number): Tick[] {
  return ticks(from, to, width, zero, 110);
}

/** Draws the axis over the first AXIS pixels of a picture, its lines through the rest, and the veil. */
export function drawTimeScale({ context, pixelScale: scale, columns }: Rectangles, times: TimeScale, isDark: boolean): void {
  const tone = isDark ? TONES.dark : TONES.light;
  const { height } = context.canvas;
  const place = (value: number) => ((value - times.from) / (times.to - times.from)) * columns;
  if (times.range) {
    const [left, right] = times.range.map(place);
    context.fillStyle = tone.veil;
    context.fillRect(0, 0, Math.max(0, left), height);
    context.fillRect(right, 0, Math.max(0, columns - right), height);
  }
  const marks = ticksOf(times, columns / scale);
  context.fillStyle = tone.line;
  for (const { value } of marks) context.fillRect(Math.round(place(value)), AXIS * scale, Math.max(1, Math.round(scale)), height);
  context.fillStyle = tone.panel;
  context.fillRect(0, 0, columns, AXIS * scale);
  drawAxis(context, marks, place, { ...tone, top: 0, height: AXIS * scale, scale });
}
