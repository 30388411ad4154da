// Numbers as people read them: three significant digits, units always. What was measured comes from the core and is only
// written here (answer.ts says why nothing else is taken).

import type { Amount, Share } from "./answer";

const TIME_UNITS: [number, string][] = [
  [3_600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function nanoseconds(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 0.9995e12 && size < 3_600e9) return `${digits(ns / 60e9)} min`;
  for (const [unit, name] of TIME_UNITS) {
    if (name === "min") continue;
    if (size >= unit * 0.9995) return `${digits(ns / unit)} ${name}`;
  }
  return `${Math.round(ns)} ns`;
}

export function time(ns: Amount): string {
  return nanoseconds(ns);
}

export function microseconds(us: Amount): string {
  return nanoseconds(us * 1e3);
}

/** How far one place on the axis of time is from another. */
export function distance(from: number, to: number): string {
  return nanoseconds(to - from);
}

const SIZE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(value: Amount): string {
  let [size, unit] = [Math.abs(value), 0];
  for (; unit < SIZE_UNITS.length - 1 && size >= 999.5; unit++) size /= 1024;
  return `${value < 0 ? "-" : ""}${unit ? digits(size) : size.toFixed(0)} ${SIZE_UNITS[unit]}`;
}

export function perCent(share: Share): string {
  if (Number.isNaN(share)) return "–";
  const percent = 100 * share;
  if (percent === 0) return "0 %";
  if (Math.abs(percent) < 0.005) return "< 0.01 %";
  return `${digits(percent)} %`;
}

/** With a comma between thousands. Intl does that, too, but takes longer to be there than all else of the page. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}
