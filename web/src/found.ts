// What the search found: how much of the time its functions take, and its places in a picture, largest first.

import { computed, effect, signal } from "@preact/signals";

import type { Share } from "./answer";
import { count, perCent } from "./numbers";
import { memoryMeasure } from "./measure";
import type { Layout } from "./rectangles";
import { ask, matches, recording, selection } from "./state";

/** Which part of the whole its functions take. */
const taken = signal<Share | null>(null);

/** A set of functions as the share query reads it: a bit for each, two hexadecimal digits for eight. */
function marksOf(codes: Set<number>, count: number): string {
  const bytes = new Uint8Array((count >>> 3) + 1);
  for (const code of codes) bytes[code >>> 3] |= 1 << (code & 7);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

let asked = 0;
effect(() => {
  const [found, shown, chosen] = [matches.value, recording.value, selection.value];
  const number = ++asked;
  taken.value = null;
  if (!found?.size || !shown) return;
  // While somebody types, only the last text is asked about.
  setTimeout(() => {
    if (number !== asked) return;
    ask({ ask: "share", recording: shown.number, marks: marksOf(found, shown.codes.count), ...chosen }).then(
      (answer) => number === asked && (taken.value = answer.share("share")),
      () => {},
    );
  }, 120);
});

/** What was found, in words; "" when nothing is searched for. */
export const foundWords = computed(() => {
  const found = matches.value;
  if (!found) return "";
  if (!found.size) return "nothing found";
  const part = taken.value;
  return `${count(found.size)} found${part === null || Number.isNaN(part) ? "" : `, ${perCent(part)} of the ${memoryMeasure.value ? "memory" : "time"}`}`;
});

const MOST = 1000;

/** The rectangles of the functions that were found, largest first. */
export function foundIn(layout: Layout, found: Set<number>): number[] {
  const places: number[] = [];
  for (let i = 0; i < layout.code.length; i++) if (found.has(layout.code[i])) places.push(i);
  places.sort((a, b) => layout.size[b] - layout.size[a] || a - b);
  return places.slice(0, MOST);
}
