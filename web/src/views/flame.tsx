// Stacks as rectangles: from the top down, from the leaves up, around one function, or as time went by.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { useStacks } from "../ask_stacks";
import { viewKeys } from "../keys";
import { count, share, time } from "../numbers";
import { Picture, type PictureOptions } from "../picture";
import type { Recording } from "../recording";
import type { Layout, Window } from "../rectangles";
import { lookOf, pathText, type Stacks } from "../stacks";
import { arrangement, ask, color, dark, fold, matches, problem, range, recording as shownRecording } from "../state";
import { selected, selection, thread } from "../state";
import type { ViewProps } from "../views";

const ARRANGEMENTS = [
  { name: "top-down", title: "Top-down" },
  { name: "time", title: "Time order" },
  { name: "bottom-up", title: "Bottom-up" },
  { name: "sandwich", title: "Sandwich" },
];
const COLORS = [
  { name: "module", title: "module" },
  { name: "self", title: "own share" },
  { name: "kind", title: "Python, C, native" },
];

/** What the mouse is on: figures for the line below the picture. */
interface Pointed {
  code: number;
  total: number;
  whole: number;
  self?: number;
  calls?: number;
}
const pointed = signal<Pointed | null>(null);

function fail(error: Error): void {
  problem.value = error.message;
}

interface CanvasProps {
  options: PictureOptions;
  label: string;
  onKey?(picture: Picture, event: KeyboardEvent): boolean;
}

/** One picture. Another layout of the same whole keeps its place. */
function Canvas({ options, label, onKey }: CanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const made = (picture.current = new Picture(canvas.current!, options));
    viewKeys.value = (event) => made.onKey(event) || (latest.current?.(made, event) ?? false);
    return () => {
      made.close();
      pointed.value = null;
      viewKeys.value = null;
    };
  }, [options.whole[0], options.whole[1]]);
  // Read here so that a change of any of them draws again.
  const drawn = [options.layout, dark.value, matches.value, selected.value, color.value];
  useEffect(() => picture.current?.replace(options), drawn);
  return (
    <div class="picture">
      <canvas ref={canvas} class="stacks" aria-label={`${label}; the table has the same figures as text`} />
    </div>
  );
}

function point(layout: Layout, rectangle: number, whole: number, stacks?: Stacks): void {
  if (rectangle < 0) pointed.value = null;
  else
    pointed.value = {
      code: layout.code[rectangle],
      total: layout.size[rectangle],
      whole,
      self: stacks?.self[rectangle],
      calls: stacks?.calls[rectangle],
    };
}

function optionsOf(recording: Recording, stacks: Stacks, layout: Layout, more: { upwards?: boolean; root?: string }) {
  const whole = stacks.size[0] || 1;
  return {
    layout,
    whole: [0, whole] as [number, number],
    look: () => lookOf(recording, layout, { ...more, own: stacks.self }),
    onHover: (rectangle: number) => point(layout, rectangle, whole, stacks),
    onChoose: (rectangle: number) => {
      if (rectangle >= 0) selected.value = stacks.code[rectangle];
    },
  };
}

function copyStack(recording: Recording, stacks: Stacks, picture: Picture): void {
  const rectangle = picture.largestOf(selected.value);
  if (rectangle > 0) navigator.clipboard?.writeText(pathText(recording, stacks, rectangle)).catch(() => {});
}

function onStackKey(recording: Recording, stacks: Stacks) {
  return (picture: Picture, event: KeyboardEvent): boolean => {
    const rectangle = picture.largestOf(selected.value);
    if (event.key === "Enter" && rectangle > 0) picture.zoomTo(rectangle);
    else if (event.key === "c") copyStack(recording, stacks, picture);
    else {
      if (event.key === "Escape") picture.reset();
      return false;
    }
    return true;
  };
}

export function Nothing({ recording }: { recording: Recording }): JSX.Element {
  const narrowed = range.value || thread.value;
  return (
    <p class="hint empty">
      {narrowed
        ? "Nothing was recorded in this selection. Esc shows the whole."
        : `${recording.summary.name} holds no stacks. Record some: sonde record SCRIPT`}
    </p>
  );
}

function Tree({ recording, name }: { recording: Recording; name: string }): JSX.Element | null {
  const stacks = useStacks(recording, name);
  if (!stacks) return null;
  if (!(stacks.size[0] > 0)) return <Nothing recording={recording} />;
  return (
    <>
      {stacks.estimated && (
        <p class="hint">Call paths are estimated: the file knows only who called whom, not from where.</p>
      )}
      <Canvas
        label="stacks"
        options={optionsOf(recording, stacks, stacks, { root: "all" })}
        onKey={onStackKey(recording, stacks)}
      />
    </>
  );
}

/** Callers above, callees below; the function itself is the first row of both. */
function Sandwich({ recording }: { recording: Recording }): JSX.Element | null {
  const code = selected.value;
  const callers = useStacks(recording, "callers", code);
  const callees = useStacks(recording, "callees", code);
  if (!code) return <p class="hint empty">Select a function, here or in the table, to see who calls it and what it calls.</p>;
  if (!callers || !callees) return null;
  if (!(callees.size[0] > 0)) return <Nothing recording={recording} />;
  const half = (stacks: Stacks, upwards: boolean) => {
    const layout = { ...stacks, level: stacks.level.subarray(1) };
    return <Canvas label={upwards ? "callers" : "callees"} options={optionsOf(recording, stacks, layout, { upwards })} />;
  };
  return (
    <div class="sandwich">
      {half(callers, true)}
      {half(callees, false)}
    </div>
  );
}

/** The thread with the most to see, unless one is chosen. */
function shownThread(recording: Recording): number {
  return thread.value || recording.summary.threads[0]?.id || 0;
}

/** The layout of what is in sight; asked for again when that has moved enough to need more detail. */
function useTimeLayout(recording: Recording, window: Window | null): Layout | null {
  const [layout, setLayout] = useState<Layout | null>(null);
  const chosen = selection.value;
  const shown = shownThread(recording);
  useEffect(() => {
    let current = true;
    const wait = setTimeout(
      () => {
        const margin = window ? (window.to - window.from) / 2 : 0;
        const from_ns = window ? Math.max(1, Math.floor(window.from - margin)) : 0;
        const to_ns = window ? Math.ceil(window.to + margin) : 0;
        const columns = 2 * Math.round(innerWidth * (devicePixelRatio || 1));
        ask({ ask: "time", recording: recording.number, ...chosen, thread: shown, from_ns, to_ns, columns }).then(
          (answer) =>
            current &&
            setLayout({
              level: answer.numbers("level"),
              start: answer.reals("start"),
              size: answer.reals("total"),
              code: answer.numbers("code"),
            }),
          fail,
        );
      },
      window ? 80 : 0,
    );
    return () => {
      current = false;
      clearTimeout(wait);
    };
  }, [recording, shown, chosen, window?.from, window?.to]);
  return layout;
}

function TimeOrder({ recording }: { recording: Recording }): JSX.Element | null {
  const { begin_ns, end_ns } = recording.summary;
  const [window, setWindow] = useState<Window | null>(null);
  const layout = useTimeLayout(recording, window);
  if (!(end_ns > begin_ns)) return <p class="hint empty">Calls were counted, not timed one by one: there is no order in time to show.</p>;
  if (!layout) return null;
  const options: PictureOptions = {
    layout,
    whole: range.value ?? [begin_ns, end_ns],
    look: () => lookOf(recording, layout),
    onHover: (rectangle) => point(layout, rectangle, end_ns - begin_ns),
    onChoose: (rectangle) => {
      if (rectangle >= 0) selected.value = layout.code[rectangle];
    },
    onMove: setWindow,
  };
  return <Canvas label="stacks in the order of time" options={options} />;
}

function ThreadChoice({ recording }: { recording: Recording }): JSX.Element | null {
  const { threads } = recording.summary;
  if (threads.length < 2) return null;
  const all = arrangement.value !== "time";
  return (
    <label>
      thread{" "}
      <select value={all ? thread.value : shownThread(recording)} onChange={(event) => (thread.value = Number(event.currentTarget.value))}>
        {all && <option value={0}>all</option>}
        {threads.map(({ id, name, tid }) => (
          <option value={id}>
            {name || "thread"} {tid}
          </option>
        ))}
      </select>
    </label>
  );
}

export function ColorChoice(): JSX.Element {
  return (
    <label>
      colour{" "}
      <select value={color.value} onChange={(event) => (color.value = event.currentTarget.value)}>
        {COLORS.map(({ name, title }) => (
          <option value={name}>{title}</option>
        ))}
      </select>
    </label>
  );
}

export function FoldChoice(): JSX.Element {
  return (
    <label>
      <input type="checkbox" checked={fold.value} onChange={(event) => (fold.value = event.currentTarget.checked)} /> merge
      recursion
    </label>
  );
}

function Choices({ recording }: { recording: Recording }): JSX.Element {
  return (
    <div class="choices" role="toolbar" aria-label="how stacks are shown">
      {ARRANGEMENTS.map(({ name, title }) => (
        <button type="button" aria-pressed={arrangement.value === name} onClick={() => (arrangement.value = name)}>
          {title}
        </button>
      ))}
      <ThreadChoice recording={recording} />
      <ColorChoice />
      <FoldChoice />
    </div>
  );
}

function Status({ recording }: { recording: Recording }): JSX.Element {
  const at = pointed.value;
  if (!at) return <p class="status">click: zoom · wheel: zoom · drag: move · Esc: the whole</p>;
  const { codes } = recording;
  const parts = [`total ${time(at.total)} (${share(at.total, at.whole)} of what is shown)`];
  if (at.self !== undefined) parts.push(`self ${time(at.self)}`);
  if (at.calls) parts.push(`${count(at.calls)} ${recording.summary.sampled ? "samples" : "calls"}`);
  return (
    <p class="status">
      <b>{at.code ? codes.name(at.code) : "all"}</b> {codes.place(at.code)} · {parts.join(" · ")}
    </p>
  );
}

function Shown({ recording }: { recording: Recording }): JSX.Element | null {
  switch (arrangement.value) {
    case "time":
      return <TimeOrder key={shownThread(recording)} recording={recording} />;
    case "sandwich":
      return <Sandwich recording={recording} />;
    case "bottom-up":
      return <Tree key="bottom-up" recording={recording} name="bottom-up" />;
    default:
      return <Tree key="top-down" recording={recording} name="" />;
  }
}

export function Flame({ recording }: ViewProps): JSX.Element {
  const current = shownRecording.value ?? recording;
  return (
    <div class="flame">
      <Choices recording={current} />
      <Shown recording={current} />
      <Status recording={current} />
    </div>
  );
}
