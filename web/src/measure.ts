// What the views are about: time, or one of the amounts of memory that a recording of the heap knows. The core computes
// them; here are their names and how their amounts are written.

import { computed } from "@preact/signals";

import type { Amount, Share } from "./answer";
import { bytes, count, perCent, time } from "./numbers";
import { BLOCKS_OF, modules, percent, process, range, recording, shownMeasure, thread } from "./state";

interface Measure {
  name: string;
  title: string;
}

/** Of memory; a title follows an amount, too: "812 MiB alive at the peak". */
export const MEMORY: Measure[] = [
  { name: "peak", title: "alive at the peak" },
  { name: "total", title: "allocated in all" },
  { name: "leaked", title: "never freed" },
  { name: "temporary", title: "freed at once" },
];

/** The shown one; undefined = time. */
export const memoryMeasure = computed(() =>
  MEMORY.find(({ name }) => name === shownMeasure.value || BLOCKS_OF[name] === shownMeasure.value),
);

export const inBlocks = computed(() => memoryMeasure.value !== undefined && memoryMeasure.value.name !== shownMeasure.value);

/** An amount of the shown measure, with its unit. */
export function amount(value: Amount): string {
  if (!memoryMeasure.value) return time(value);
  return inBlocks.value ? count(value) : bytes(value);
}

/** An amount, or where per cent are shown its share. */
export function figure(value: Amount, share: Share): string {
  return percent.value ? perCent(share) : amount(value);
}

/** Time comes from samples, not from calls. */
export const bySamples = computed(() => {
  const { sampled, measures } = recording.value?.summary ?? { sampled: false, measures: [] as string[] };
  return shownMeasure.value === "sampled" || (shownMeasure.value === "time" && sampled && !measures.includes("sampled"));
});

/** What the small numbers beside the amounts count. */
export function countWord(sampled: boolean): string {
  if (memoryMeasure.value) return "blocks";
  return sampled ? "samples" : "calls";
}

/** What became of a thing that takes less, or more, than before. */
export const lessWord = (): string => (memoryMeasure.value ? "less" : "faster");
export const moreWord = (): string => (memoryMeasure.value ? "more" : "slower");

/** Allocated in the chosen range of time: what was freed in it does not count. */
function rangeWords(name: string): string {
  if (name === "total") return "allocated in this time";
  return name === "temporary" ? "freed at once in this time" : "allocated in this time and not freed";
}

function measureWords(): string {
  const shown = memoryMeasure.value;
  if (!shown) return "";
  const words = range.value ? rangeWords(shown.name) : shown.title;
  return inBlocks.value ? `blocks ${words}` : words;
}

/** What shares are of: "12.4 s", and when not all is shown, that. */
export function wholeWords(whole: Amount): string {
  const part = (range.value && !memoryMeasure.value) || thread.value || process.value || modules.value.length ? "in the selection" : "";
  return [amount(whole), measureWords(), part].filter(Boolean).join(" ");
}
