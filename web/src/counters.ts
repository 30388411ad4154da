// Counters as people read them: what each is called, and its values with their units.

import type { Amount } from "./answer";
import { bytes, count, time } from "./numbers";
import type { Counter, Figures, Recording } from "./recording";

const SUM = 2;

const TITLES: Record<string, string> = {
  cpu: "CPU",
  rss: "RSS",
  pss: "PSS",
  uss: "USS",
};

const MEANINGS: Record<string, string> = {
  cpu: "CPUs in use: the time that its threads ran, in each stretch of time",
  rss: "memory of the process that is resident, as the system counts it",
  pss: "memory that is resident; pages of several processes are divided among them",
  uss: "memory that is resident and of this process alone",
  heap: "bytes that the program had allocated and not freed",
};

export const titleOfCounter = ({ name }: Pick<Counter, "name">): string => TITLES[name] ?? name;
export const meaningOfCounter = ({ name }: Pick<Counter, "name">): string => MEANINGS[name] ?? name;

/** A value of it; of a sum how fast it grew. */
export function counterValue({ unit, kind }: Pick<Counter, "unit" | "kind">, value: Amount): string {
  if (unit === "ns" && kind === SUM) return `${value.toFixed(value < 9.995 ? 2 : 1)} CPUs`;
  const perSecond = kind === SUM ? "/s" : "";
  if (unit === "bytes") return bytes(value) + perSecond;
  if (unit === "ns") return time(value) + perSecond;
  const text = Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
  return `${text}${unit ? ` ${unit}` : ""}${perSecond}`;
}

/** From the smallest to the largest, or where they are shown alike the one. */
export function counterRange(counter: Pick<Counter, "unit" | "kind">, least: Amount, most: Amount): string {
  const [low, high] = [counterValue(counter, least), counterValue(counter, most)];
  return low === high ? high : `${low} to ${high}`;
}

/** What the height of a picture stands for: whole CPUs, a little more than the most of anything else. */
export function ceilingOf({ unit, kind }: Pick<Counter, "unit" | "kind">, most: number): number {
  if (unit === "ns" && kind === SUM) return Math.max(1, Math.ceil(most - 0.05));
  return most > 0 ? most * 1.05 : 1;
}

/** All of a name in a recording, added up; undefined when it has none. */
export function totalOf(recording: Recording, ...names: string[]): (Counter & Figures) | undefined {
  return names.map((name) => recording.summary.counter_totals.find((one) => one.name === name)).find(Boolean);
}
