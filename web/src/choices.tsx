// The choices that pictures of stacks share: what colours mean, how frames lie, what is left out.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { hasThreads } from "./ask_stacks";
import { css, heatColor, threadColor } from "./colors";
import { inBlocks, MEMORY, memoryMeasure } from "./measure";
import { shortName } from "./names";
import { CODE_KINDS, threadName, type Recording } from "./recording";
import { kindColor } from "./stacks";
import { BLOCKS_OF, byName, color, cutoff, dark, fold, levels, measure, shownMeasure, upwards } from "./state";

const CUTOFFS = [0, 0.0001, 0.001, 0.01, 0.05];
const LEVELS = [0, 5, 10, 20, 40];
const COLORS = [
  { name: "module", title: "module" },
  { name: "self", title: "own share" },
  { name: "kind", title: "kind" },
  { name: "thread", title: "thread" },
];

/** How many of the choices below are not as they usually are. */
function changed(): number {
  return [byName.value, levels.value, cutoff.value, fold.value, upwards.value].filter(Boolean).length;
}

/** Choices that are made seldom: beside the others where there is room for them, else behind a button. */
export function LayoutChoices({ children }: { children: ComponentChildren }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const leave = (event: Event) => place.current?.contains(event.target as Node) || setOpen(false);
    addEventListener("pointerdown", leave);
    return () => removeEventListener("pointerdown", leave);
  }, [isOpen]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    setOpen(false);
  };
  return (
    <span class={`layout${isOpen ? " open" : ""}`} ref={place} onKeyDown={onKey}>
      <button type="button" class="opener" aria-expanded={isOpen} title="order, depth, cutoff, recursion, direction" onClick={() => setOpen(!isOpen)}>
        Layout{changed() ? ` (${changed()})` : ""} ▾
      </button>
      <span class="held">{children}</span>
    </span>
  );
}

export function ColorChoice({ recording }: { recording: Recording }): JSX.Element {
  const offered = COLORS.filter(({ name }) => name !== "thread" || hasThreads(recording));
  const shown = offered.some(({ name }) => name === color.value) ? color.value : "module";
  return (
    <label>
      colour{" "}
      <select value={shown} onChange={(event) => (color.value = event.currentTarget.value)}>
        {offered.map(({ name, title }) => (
          <option value={name}>{title}</option>
        ))}
      </select>
    </label>
  );
}

export function FoldChoice(): JSX.Element {
  return (
    <label title="key r: calls of a function that is on the stack already count in its outermost call">
      <input type="checkbox" checked={fold.value} onChange={(event) => (fold.value = event.currentTarget.checked)} /> merge
      recursion
    </label>
  );
}

export function OrderChoice(): JSX.Element {
  return (
    <label title="how frames beside each other lie: by time the largest is left, by name each keeps its place from run to run">
      order{" "}
      <select value={byName.value ? "name" : "time"} onChange={(event) => (byName.value = event.currentTarget.value === "name")}>
        <option value="time">time</option>
        <option value="name">name</option>
      </select>
    </label>
  );
}

export function DirectionChoice(): JSX.Element {
  return (
    <button type="button" aria-pressed={upwards.value} title="the program at the bottom, what it calls above it" onClick={() => (upwards.value = !upwards.value)}>
      Upwards
    </button>
  );
}

export function LevelsChoice(): JSX.Element {
  return (
    <label title="rows that are drawn at most">
      depth{" "}
      <select value={levels.value} onChange={(event) => (levels.value = Number(event.currentTarget.value))}>
        {LEVELS.map((count) => (
          <option value={count}>{count || "all"}</option>
        ))}
      </select>
    </label>
  );
}

export function CutoffChoice(): JSX.Element {
  return (
    <label title="what is smaller than this part is drawn in grey">
      cutoff{" "}
      <select value={cutoff.value} onChange={(event) => (cutoff.value = Number(event.currentTarget.value))}>
        {CUTOFFS.map((part) => (
          <option value={part}>{part ? `${100 * part} %` : "none"}</option>
        ))}
      </select>
    </label>
  );
}

/** What all views are about, where there is a choice. */
export function MeasureChoice({ recording }: { recording: Recording }): JSX.Element | null {
  const { measures } = recording.summary;
  const timeTitle = measures.includes("sampled") ? "time, by calls" : "time";
  const titles: Record<string, string> = { time: timeTitle, sampled: "time, by samples" };
  for (const { name, title } of MEMORY) titles[name] = title;
  if (measures.length < 2) return null;
  const shown = memoryMeasure.value?.name ?? shownMeasure.value;
  const choose = (name: string, blocks: boolean) => (measure.value = blocks ? (BLOCKS_OF[name] ?? name) : name);
  return (
    <span class="measure" role="group" aria-label="measure">
      <select aria-label="what is shown" value={shown} onChange={(event) => choose(event.currentTarget.value, inBlocks.value)}>
        {measures.map((name) => (
          <option value={name}>{titles[name]}</option>
        ))}
      </select>
      {memoryMeasure.value && (
        <select aria-label="unit" value={inBlocks.value ? "blocks" : "bytes"} onChange={(event) => choose(shown, event.currentTarget.value === "blocks")}>
          <option value="bytes">bytes</option>
          <option value="blocks">blocks</option>
        </select>
      )}
    </span>
  );
}

/** Colours and words of the chosen meaning; none where the names on the frames say it. */
function swatches(recording: Recording, night: boolean): [string, string][] {
  const { threads, busiest_threads } = recording.summary;
  switch (color.value) {
    case "kind":
      return [1, 2, 3].map((kind) => [css(kindColor(kind, night)), CODE_KINDS[kind]]);
    case "self":
      return [0, 0.25, 1].map((part) => [css(heatColor(part, night)), `${100 * part} %`]);
    case "thread": {
      if (!hasThreads(recording)) return [];
      const named = busiest_threads.map((id, place): [string, string] => [
        css(threadColor(place, 1, night)),
        shortName(threadName(threads.find((thread) => thread.id === id)), 24),
      ]);
      return [...named, [css(threadColor(-1, 0, night)), "others, or shared"]];
    }
    default:
      return [];
  }
}

export function Legend({ recording }: { recording: Recording }): JSX.Element | null {
  const shown = swatches(recording, dark.value);
  if (!shown.length) return null;
  return (
    <span class="legend">
      {shown.map(([tone, words]) => (
        <span>
          <i style={{ background: tone }} /> <bdi>{words}</bdi>
        </span>
      ))}
    </span>
  );
}
