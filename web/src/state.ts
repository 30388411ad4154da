// What all views share: the recordings, the selection, the search, the range. It lives in the URL, so Back works and a
// link shows what its sender saw.

import { batch, computed, effect, signal, type Signal } from "@preact/signals";

import type { Engine, Request } from "./engine";
import type { Recording } from "./recording";

export const engine = signal<Engine | null>(null);
export const recordings = signal<Recording[]>([]);
export const problem = signal("");
/** The server that the recordings come from is there. */
export const connected = signal(true);
export const busy = signal(0);
/** Recordings are being read; and which, how many of its bytes were taken, and of how many. */
export const opening = signal(true);
export const taken = signal({ name: "", bytes: 0, size: 0 });

export const view = signal("overview");
/** Which of the recordings is shown. */
export const shown = signal(0);
/** The selected function: its id in the shown recording; 0 = none. */
export const selected = signal(0);
export const search = signal("");
export const range = signal<[number, number] | null>(null);
export const thread = signal(0);
export const process = signal(0);
/** Only stacks that pass through one of these are shown; none = all. */
export const modules = signal<readonly string[]>([]);
/** Only what threads did while they were in this region is shown; "" = all. */
export const region = signal("");
/** Only what the processes of these ranks did is shown: "0,7,100-115"; "" = all. */
export const ranks = signal("");
/** Two groups of ranks that are compared: "0" with "1-7"; "" = recordings are. */
export const ranksBefore = signal("");
export const ranksAfter = signal("");
export const idle = signal(false);
/** Frames of libraries are left out, their time is their callers'. */
export const own = signal(false);
export const fold = signal(false);
export const percent = signal(false);
/** How the flame view lays stacks out, and what its colours mean. */
export const arrangement = signal("top-down");
export const color = signal("module");
/** Frames beside each other lie in the order of their names, not of their times. */
export const byName = signal(false);
/** The program is at the bottom, and what it calls above it. */
export const upwards = signal(false);
/** Frames that are smaller than this part of the whole are grey. */
export const cutoff = signal(0);
/** Rows of the flame view at most, and rings of the sunburst; 0 = all. */
export const levels = signal(0);
export const rings = signal(10);
/** The frame that is zoomed to, or is the sunburst's centre: "view:code.code…" from the outermost on; "" = the whole. */
export const zoomed = signal("");
/** The part of the run's time that time order and timeline show; null = all. Nothing else follows it, unlike the range. */
export const sight = signal<[number, number] | null>(null);
/** What the rows of the table are: functions, or groups of them. */
export const grouping = signal("");
/** The file and the line of the source view; 0 = those of the selection. */
export const file = signal(0);
export const line = signal(0);
/** The recording that the shown one is compared with, and which of both came later. */
export const other = signal(1);
/** What the views are about, by its name (measure.ts); "" = what the recording is of. */
export const measure = signal("");
export const shownIsAfter = signal(false);
export const theme = signal<"system" | "light" | "dark">("system");
const systemDark = signal(false);
/** The page is being printed: paper is light. */
export const printing = signal(false);
export const dark = computed(
  () => !printing.value && (theme.value === "system" ? systemDark.value : theme.value === "dark"),
);

export const recording = computed<Recording | undefined>(() => recordings.value[shown.value] ?? recordings.value[0]);

/** Numbers of blocks by the bytes that they have; "time" is neither. */
export const BLOCKS_OF: Record<string, string> = {
  peak: "peak-count",
  total: "count",
  leaked: "leaked-count",
  temporary: "temporary-count",
};

/** What the shown recording is shown by, also when none was chosen, or one that it does not know. */
export const shownMeasure = computed(() => {
  const { measures, measure: usual } = recording.value?.summary ?? { measures: [], measure: "time" };
  const known = measures.flatMap((name) => [name, BLOCKS_OF[name]]);
  return known.includes(measure.value) ? measure.value : usual;
});

/** The fields of a request that say which part of the recording is meant. */
export const selection = computed(() => ({
  thread: thread.value,
  process: process.value,
  idle: idle.value,
  own: own.value,
  modules: modules.value.join("\n"),
  region: region.value,
  ranks: ranks.value,
  begin_ns: range.value?.[0] ?? 0,
  end_ns: range.value?.[1] ?? 0,
  measure: shownMeasure.value,
}));

/** The file's name, with its folders where another has the same. */
export function titleOf({ number, summary }: Recording): string {
  const base = (name: string) => name.slice(name.lastIndexOf("/") + 1);
  const name = base(summary.name);
  const isUnique = recordings.value.every((one) => one.number === number || base(one.summary.name) !== name);
  return isUnique && name ? name : summary.name;
}

/** Shows another of the recordings; what was chosen in the last one has no meaning there. Two that are compared stay
 *  what they are, before and after. */
export function showRecording(number: number): void {
  batch(() => {
    if (number === other.value && number !== shown.value) {
      other.value = shown.value;
      shownIsAfter.value = !shownIsAfter.value;
    }
    shown.value = number;
    selected.value = thread.value = process.value = file.value = line.value = 0;
    range.value = null;
    modules.value = [];
    region.value = ranks.value = ranksBefore.value = ranksAfter.value = "";
    sight.value = null;
    zoomed.value = "";
  });
}

/** Shows where a function is written, or one line of it. */
export function showSource(code: number, at = 0): void {
  batch(() => {
    selected.value = code;
    file.value = 0;
    line.value = at;
    view.value = "source";
  });
}

/** Shows only what passes through a module, or through it as well as others; or no longer. */
export function toggleModule(name: string): void {
  const others = modules.value.filter((one) => one !== name);
  modules.value = others.length < modules.value.length ? others : [...others, name];
}

export function toggleRegion(name: string): void {
  region.value = region.value === name ? "" : name;
}

export const REGION_WORDS = "only what threads did while they were in it";
export const MODULE_WORDS = "only stacks that pass through it: its time and that of what it calls, below its callers";

/** Functions that the search text names; null = nothing is searched for. */
export const matches = computed<Set<number> | null>(() => {
  const found = recording.value;
  if (!search.value || !found) return null;
  const test = matcher(search.value);
  const result = new Set<number>();
  for (let code = 1; code < found.codes.count; code++)
    if (test(found.codes.name(code)) || test(found.codes.file(code)) || test(found.codes.module(code))) result.add(code);
  return result;
});

/** A regular expression, or when it is none the text itself; capitals count only when typed. */
export function matcher(text: string): (name: string) => boolean {
  const flags = text === text.toLowerCase() ? "i" : "";
  try {
    const expression = new RegExp(text, flags);
    return (name) => expression.test(name);
  } catch {
    const plain = text.toLowerCase();
    return (name) => name.toLowerCase().includes(plain);
  }
}

/** Asks, with a sign of work on the page while it takes time. Whoever asks in an effect does not depend on that sign. */
export async function ask(request: Request) {
  busy.value = busy.peek() + 1;
  try {
    return await engine.peek()!.ask(request);
  } finally {
    busy.value = busy.peek() - 1;
  }
}

interface Kept<T> {
  key: string;
  signal: Signal<T>;
  read(text: string): T;
  write(value: T): string;
}

function kept<T>(key: string, signal: Signal<T>, read: (text: string) => T, write: (value: T) => string): Kept<T> {
  return { key, signal, read, write };
}

const number = (text: string) => Math.max(0, Math.trunc(Number(text)) || 0);
const numberText = (value: number) => (value ? String(value) : "");
/** "0,7,100-115", or nothing. */
export const rankList = (text: string) => (/^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$/.test(text) ? text : "");
const flag = (text: string) => text === "1";
const flagText = (value: boolean) => (value ? "1" : "");

function readRange(text: string): [number, number] | null {
  const parts = text.split("-").map(Number);
  return parts.length === 2 && parts[0] >= 0 && parts[1] > parts[0] ? [parts[0], parts[1]] : null;
}

function rangeText(value: [number, number] | null): string {
  return value ? `${Math.round(value[0])}-${Math.round(value[1])}` : "";
}

/** A view's own choice that is to be in the URL, said when its file is loaded; what is none of `all` is as it usually is. */
export function keepChoice<T extends string | number | boolean>(key: string, signal: Signal<T>, all: readonly T[]): void {
  const usual = signal.peek();
  const read = (text: string) => all.find((value) => String(value) === text) ?? usual;
  KEPT.push(kept(key, signal, read, (value) => (value === usual ? "" : String(value))));
}

const MEASURES = ["time", "sampled", ...Object.keys(BLOCKS_OF), ...Object.values(BLOCKS_OF)];

const KEPT: Kept<any>[] = [
  kept("view", view, (text) => text || "overview", (value) => (value === "overview" ? "" : value)),
  kept("r", shown, number, numberText),
  kept("m", measure, (text) => (MEASURES.includes(text) ? text : ""), (value) => value),
  kept("f", selected, number, numberText),
  kept("q", search, (text) => text, (value) => value),
  kept("t", range, readRange, rangeText),
  kept("thread", thread, number, numberText),
  kept("process", process, number, numberText),
  kept("module", modules, (text) => text.split("\n").filter(Boolean).slice(0, 64), (value) => value.join("\n")),
  kept("region", region, (text) => text, (value) => value),
  kept("ranks", ranks, rankList, (value) => value),
  kept("before", ranksBefore, rankList, (value) => value),
  kept("later", ranksAfter, rankList, (value) => value),
  kept("idle", idle, flag, flagText),
  kept("own", own, flag, flagText),
  kept("fold", fold, flag, flagText),
  kept("percent", percent, flag, flagText),
  kept("as", arrangement, (text) => text || "top-down", (value) => (value === "top-down" ? "" : value)),
  kept("color", color, (text) => text || "module", (value) => (value === "module" ? "" : value)),
  kept("name", byName, flag, flagText),
  kept("up", upwards, flag, flagText),
  kept("cut", cutoff, (text) => Math.min(1, Math.max(0, Number(text) || 0)), (value) => (value ? String(value) : "")),
  kept("levels", levels, number, numberText),
  kept("rings", rings, (text) => Math.min(50, number(text)) || 10, (value) => (value === 10 ? "" : String(value))),
  kept("w", sight, readRange, rangeText),
  kept("z", zoomed, (text) => text, (value) => value),
  kept("by", grouping, (text) => text, (value) => value),
  kept("file", file, number, numberText),
  kept("line", line, number, numberText),
  kept("with", other, (text) => (text ? number(text) : 1), (value) => (value === 1 ? "" : String(value))),
  kept("after", shownIsAfter, flag, flagText),
];

/** All at once: what is half of one state and half of another must not get into the history. */
function readUrl(): void {
  const fields = new URLSearchParams(location.hash.slice(1));
  batch(() => {
    for (const { key, signal, read } of KEPT) {
      const value = read(fields.get(key) ?? "");
      if (JSON.stringify(value) !== JSON.stringify(signal.peek())) signal.value = value;
    }
  });
}

function urlText(): string {
  const fields = new URLSearchParams();
  for (const { key, signal, write } of KEPT) {
    const text = write(signal.value);
    if (text) fields.set(key, text);
  }
  return fields.size ? `#${fields}` : "#";
}

/** Typing in the search box, and moving along the time, replace the entry of the history; all else makes a new one. */
export function keepInUrl(): void {
  readUrl();
  addEventListener("popstate", readUrl);
  let before = urlText();
  let [lastSearch, lastSight] = [search.value, sight.value];
  effect(() => {
    const text = urlText();
    if (text === before) return;
    before = text;
    const replaces = lastSearch !== search.value || lastSight !== sight.value;
    [lastSearch, lastSight] = [search.value, sight.value];
    if (text === (location.hash || "#")) return;
    history[replaces ? "replaceState" : "pushState"](null, "", text);
  });
}

/** Calls when paper begins and when it ends. */
export function onPrinting(act: () => void): () => void {
  let before = printing.peek();
  return printing.subscribe((now) => {
    if (now !== before) act();
    before = now;
  });
}

/** Of A4 between its margins, in CSS pixels. */
const PAPER_WIDTH = 700;

/** What depends on `printing` must be there when the event is over: nothing is drawn later. */
export function followPrinting(): void {
  addEventListener("beforeprint", () => {
    const { style } = document.documentElement;
    const width = document.querySelector("main")?.clientWidth || PAPER_WIDTH;
    style.setProperty("--shrink", String(Math.min(1, PAPER_WIDTH / width)));
    style.setProperty("--picture", `${document.querySelector("main canvas")?.clientWidth ?? width}px`);
    printing.value = true;
  });
  addEventListener("afterprint", () => (printing.value = false));
}

/** Light or dark as the system says, unless chosen; the choice is kept where the browser keeps things. */
export function followTheme(): void {
  const query = matchMedia("(prefers-color-scheme: dark)");
  systemDark.value = query.matches;
  query.addEventListener("change", () => (systemDark.value = query.matches));
  try {
    const stored = localStorage.getItem("sonde-theme");
    if (stored === "light" || stored === "dark") theme.value = stored;
  } catch {
    // A sandboxed frame has no storage.
  }
  effect(() => {
    document.documentElement.dataset.theme = dark.value ? "dark" : "light";
    try {
      if (theme.value !== "system") localStorage.setItem("sonde-theme", theme.value);
    } catch {
      // As above.
    }
  });
}
