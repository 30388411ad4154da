// The keyboard. A view may listen for more through `takeKeys`.

import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import { selectMatch } from "./functions";
import { fold, idle, modules, own, percent, range, ranks, recording, region, search, selected, toggleModule, view } from "./state";
import { offered } from "./views";

export interface Key {
  keys: string;
  words: string;
}

export const KEYS: Key[] = [
  { keys: "/", words: "search functions and files" },
  { keys: "n N", words: "next, previous match" },
  { keys: "← → ↑ ↓, W A S D, + −", words: "move and zoom" },
  { keys: "Page Home End", words: "through rows and lines" },
  { keys: "Enter", words: "zoom to the selection; in the table, its source" },
  { keys: "Esc", words: "the whole; then forget search, range, modules, region, ranks and selection" },
  { keys: "t", words: "amounts or per cent" },
  { keys: "h", words: "hide library frames" },
  { keys: "m", words: "only stacks through the selection's module" },
  { keys: "i", words: "show idle threads" },
  { keys: "r", words: "merge recursion" },
  { keys: "c", words: "copy the stack" },
  { keys: "f", words: "all of the graph" },
  { keys: "?", words: "this list" },
];

export const helpShown = signal(false);

/** What a view does with a key; true = it was for it. */
type Taker = (event: KeyboardEvent) => boolean;

let taker: Taker | null = null;

/** A view gets the keys, until it calls what this gives. The next one may have them by then: views end when they like. */
export function takeKeys(take: Taker): () => void {
  taker = take;
  return () => {
    if (taker === take) taker = null;
  };
}

/** While a view is there, it gets the keys: from the moment it can be seen. */
export function useViewKeys(take: Taker, inputs: readonly unknown[]): void {
  useLayoutEffect(() => takeKeys(take), inputs);
}

/** By how many rows a key goes on; 0 = it is none that does. */
export function rowStep(key: string, page: number): number {
  return { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 }[key] ?? 0;
}

const SCROLLED_BY = 20;

/** While a view is there whose rows are only looked at, keys scroll them. */
export function useScrollKeys(selector: string): void {
  const take = ({ key }: KeyboardEvent) => {
    const area = document.querySelector(selector);
    const step = rowStep(key, Math.floor((area?.clientHeight ?? 0) / SCROLLED_BY) - 1);
    area?.scrollBy(0, step * SCROLLED_BY);
    return step !== 0;
  };
  useViewKeys(take, [selector]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function escape(): void {
  if (helpShown.value) helpShown.value = false;
  else if (search.value) search.value = "";
  else if (range.value) range.value = null;
  else if (modules.value.length) modules.value = [];
  else if (region.value) region.value = "";
  else if (ranks.value) ranks.value = "";
  else selected.value = 0;
}

function moduleOfSelection(): void {
  const name = selected.value ? recording.value?.codes.module(selected.value) : "";
  if (name) toggleModule(name);
}

const ACTIONS: Record<string, () => void> = {
  "?": () => (helpShown.value = !helpShown.value),
  "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
  n: () => selectMatch(1),
  N: () => selectMatch(-1),
  t: () => (percent.value = !percent.value),
  h: () => (own.value = !own.value),
  i: () => (idle.value = !idle.value),
  r: () => (fold.value = !fold.value),
  m: moduleOfSelection,
  Escape: escape,
};

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape" || event.key === "Enter") (event.target as HTMLElement).blur();
    return;
  }
  const chosen = offered(recording.value)["1234567890".indexOf(event.key)];
  if (chosen) view.value = chosen.name;
  else if (!(helpShown.value && event.key === "Escape") && taker?.(event)) event.preventDefault();
  else if (ACTIONS[event.key]) {
    ACTIONS[event.key]();
    event.preventDefault();
  }
}

export function listenForKeys(): void {
  addEventListener("keydown", onKey);
}
