// Stacks as rings around a chosen function, with the call stack and what the centre calls as a list beside them.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { useStacks } from "../ask_stacks";
import { viewKeys } from "../keys";
import { share, time } from "../numbers";
import type { Recording } from "../recording";
import type { RingsLook } from "../rings";
import { figuresOf, lookOf, pathTo, type Stacks } from "../stacks";
import { color, dark, matches, percent, recording as shownRecording, selected } from "../state";
import { Sunburst as Drawing, type SunburstOptions } from "../sunburst";
import { showTip, Tip } from "../tip";
import type { ViewProps } from "../views";
import { ColorChoice, cutoff, CutoffChoice, FoldChoice, Legend, Nothing } from "./flame";

const DEPTHS = [5, 8, 10, 15, 20, 30];
const depth = signal(10);
const hovered = signal(-1);

function nameOf(recording: Recording, stacks: Stacks, rectangle: number): string {
  return stacks.code[rectangle] ? recording.codes.name(stacks.code[rectangle]) : "all";
}

function amount(value: number, whole: number): string {
  return percent.value ? share(value, whole) : time(value);
}

function ringsLook(recording: Recording, stacks: Stacks, centre: number): RingsLook {
  const night = dark.value;
  return {
    ...lookOf(recording, stacks, { own: stacks.self, root: "all" }),
    least: cutoff.value * stacks.size[centre],
    rest: night ? 0xff3d3835 : 0xffe2dedb,
    more: night ? 0xff6b625c : 0xffb5aca6,
    centre: night ? 0xff2b2724 : 0xfff3f0ee,
  };
}

/** The children of a rectangle: they lie side by side in the next level. */
function childrenOf(stacks: Stacks, rectangle: number, most: number): number[] {
  const found: number[] = [];
  const { parent } = stacks;
  let [low, high] = [rectangle + 1, parent.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (parent[middle] < rectangle) low = middle + 1;
    else high = middle;
  }
  for (; low < parent.length && parent[low] === rectangle && found.length < most; low++) found.push(low);
  return found;
}

interface PartsProps {
  recording: Recording;
  stacks: Stacks;
  centre: number;
  onCentre(rectangle: number): void;
}

function Row(props: PartsProps & { rectangle: number; current?: boolean; bar?: boolean }): JSX.Element {
  const { recording, stacks, rectangle, onCentre } = props;
  const whole = stacks.size[0];
  return (
    <li>
      <button
        type="button"
        aria-current={props.current ? "true" : undefined}
        title={recording.codes.place(stacks.code[rectangle])}
        onClick={() => onCentre(rectangle)}
      >
        {nameOf(recording, stacks, rectangle)}
      </button>
      <span class="figure">{amount(stacks.size[rectangle], whole)}</span>
    </li>
  );
}

/** The stack from the outermost function to the centre and on to what the mouse is on; below, what the centre calls. */
function CallStack(props: PartsProps): JSX.Element {
  const { stacks, centre } = props;
  const upTo = hovered.value > 0 && hovered.value < stacks.code.length ? hovered.value : centre;
  const path = [0, ...pathTo(stacks, upTo)];
  const shown = path.length > 60 ? [...path.slice(0, 10), ...path.slice(-50)] : path;
  const children = childrenOf(stacks, centre, 15);
  return (
    <section class="callstack" aria-label="call stack">
      <h3>Call stack</h3>
      <ol class="neighbours">
        {shown.map((rectangle) => (
          <Row key={rectangle} {...props} rectangle={rectangle} current={rectangle === centre} />
        ))}
      </ol>
      {shown.length < path.length && <small>{path.length - shown.length} in between are left out</small>}
      <h3>{children.length ? "Calls" : "Calls nothing that was seen"}</h3>
      <ol class="neighbours">
        {children.map((rectangle) => (
          <Row key={rectangle} {...props} rectangle={rectangle} />
        ))}
      </ol>
    </section>
  );
}

function Canvas({ recording, stacks, centre, onCentre }: PartsProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const whole = stacks.size[0];
  const options: SunburstOptions = {
    stacks,
    depth: depth.value,
    look: (at) => ringsLook(recording, stacks, at),
    words: (at) => [nameOf(recording, stacks, at), time(stacks.size[at]), share(stacks.size[at], whole)],
    textColor: () => (dark.peek() ? "#eef0f2" : "#17191b"),
    onHover: (rectangle, event) => {
      hovered.value = rectangle;
      showTip(rectangle < 0 ? null : figuresOf(recording, stacks, rectangle), event);
    },
    onCentre,
  };
  useEffect(() => {
    const made = (drawing.current = new Drawing(canvas.current!, options, centre));
    return () => {
      made.close();
      showTip(null);
    };
  }, []);
  // Read here so that a change of any of them draws again.
  const drawn = [stacks, centre, dark.value, matches.value, selected.value, color.value, depth.value, cutoff.value];
  useEffect(() => drawing.current?.replace(options, centre), drawn);
  useEffect(() => {
    viewKeys.value = (event) => onKey(stacks, centre, onCentre, event);
    return () => {
      viewKeys.value = null;
    };
  }, [stacks, centre]);
  return (
    <div class="picture">
      <canvas ref={canvas} class="stacks" aria-label="stacks as rings; the list beside has the same as text" />
    </div>
  );
}

/** Up: out; down: to the hottest callee; left and right: to the neighbours; Enter: to the selection; Esc: all. */
function onKey(stacks: Stacks, centre: number, onCentre: (rectangle: number) => void, event: KeyboardEvent): boolean {
  const [child] = childrenOf(stacks, centre, 1);
  const beside = (at: number) => (at > 0 && stacks.parent[at] === stacks.parent[centre] ? at : centre);
  const targets: Record<string, () => number | undefined> = {
    ArrowUp: () => stacks.parent[centre],
    Backspace: () => stacks.parent[centre],
    ArrowDown: () => child,
    ArrowLeft: () => beside(centre - 1),
    ArrowRight: () => beside(centre + 1),
    Enter: () => largestOf(stacks, selected.value),
    Escape: () => 0,
  };
  const target = targets[event.key]?.();
  if (target !== undefined && target !== centre) onCentre(target);
  return event.key in targets && event.key !== "Escape";
}

function largestOf(stacks: Stacks, code: number): number | undefined {
  let best: number | undefined;
  for (let i = 1; i < stacks.code.length; i++)
    if (stacks.code[i] === code && (best === undefined || stacks.size[i] > stacks.size[best])) best = i;
  return code ? best : undefined;
}

/** The same call path in other stacks, as far as it is there. */
function follow(path: number[], stacks: Stacks): number {
  let at = 0;
  for (const code of path) {
    const next = childrenOf(stacks, at, Infinity).find((child) => stacks.code[child] === code);
    if (next === undefined) break;
    at = next;
  }
  return at;
}

function Choices(): JSX.Element {
  return (
    <div class="choices" role="toolbar" aria-label="how the sunburst is drawn">
      <label>
        depth{" "}
        <select value={depth.value} onChange={(event) => (depth.value = Number(event.currentTarget.value))}>
          {DEPTHS.map((levels) => (
            <option value={levels}>{levels}</option>
          ))}
        </select>
      </label>
      <CutoffChoice />
      <ColorChoice />
      <FoldChoice />
      <Legend />
    </div>
  );
}

function Walk({ recording, stacks }: { recording: Recording; stacks: Stacks }): JSX.Element {
  const [path, setPath] = useState<number[]>([]);
  const [place, setPlace] = useState<{ of: Stacks; at: number }>({ of: stacks, at: 0 });
  const centre = place.of === stacks ? place.at : follow(path, stacks);
  const onCentre = (rectangle: number) => {
    setPath(pathTo(stacks, rectangle).map((at) => stacks.code[at]));
    setPlace({ of: stacks, at: rectangle });
    if (rectangle) selected.value = stacks.code[rectangle];
  };
  const parts = { recording, stacks, centre, onCentre };
  return (
    <div class="sunburst">
      <CallStack {...parts} />
      <Canvas {...parts} />
      <Tip />
    </div>
  );
}

export function Sunburst({ recording }: ViewProps): JSX.Element {
  const current = shownRecording.value ?? recording;
  const stacks = useStacks(current, "");
  return (
    <div class="flame">
      <Choices />
      {stacks && (stacks.size[0] > 0 ? <Walk recording={current} stacks={stacks} /> : <Nothing recording={current} />)}
      <p class="status">click: make it the centre · click on the centre: back out · arrows: walk · Esc: all</p>
    </div>
  );
}
