// Stacks as rings around a chosen function, with the call stack and what the centre calls as a list beside them.

import { batch, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { useStacks } from "../ask_stacks";
import { ColorChoice, CutoffChoice, FoldChoice, Legend, OrderChoice } from "../choices";
import { stem } from "../files";
import { useViewKeys } from "../keys";
import { amount, figure } from "../measure";
import { perCent } from "../numbers";
import type { Recording } from "../recording";
import { savePng } from "../picture_file";
import type { RingsLook } from "../rings";
import { saveRings } from "../rings_file";
import { childrenOf, figuresOf, lookOf, pathTo, threadsOf, type Stacks } from "../stacks";
import { color, cutoff, dark, matches, onPrinting, recording as shownRecording, rings, selected, zoomed } from "../state";
import { Sunburst as Drawing, type SunburstOptions } from "../sunburst";
import { showTip, Tip } from "../tip";
import type { ViewProps } from "../views";
import { zoomedIn, zoomText } from "../zoom";
import { copyStack, Nothing } from "./flame";

const DEPTHS = [5, 8, 10, 15, 20, 30];
const NAME = "sunburst";
const hovered = signal(-1);
/** What was done, until the mouse moves. */
const done = signal("");
/** The picture in sight, for those who save it. */
let shown: Drawing | null = null;

function nameOf(recording: Recording, stacks: Stacks, rectangle: number): string {
  return stacks.code[rectangle] ? recording.codes.name(stacks.code[rectangle]) : "all";
}

function ringsLook(recording: Recording, stacks: Stacks, centre: number): RingsLook {
  const night = dark.value;
  return {
    ...lookOf(recording, stacks, { own: stacks.self, threads: threadsOf(stacks), root: "all" }),
    least: cutoff.value * stacks.size[centre],
    rest: night ? 0xff3d3835 : 0xffe2dedb,
    more: night ? 0xff6b625c : 0xffb5aca6,
    centre: night ? 0xff2b2724 : 0xfff3f0ee,
  };
}

/** What a frame calls, the hottest first, however the frames lie. */
function hottestIn(stacks: Stacks, rectangle: number, most: number): number[] {
  const found = childrenOf(stacks, rectangle, Infinity);
  return found.sort((a, b) => stacks.size[b] - stacks.size[a] || a - b).slice(0, most);
}

interface PartsProps {
  recording: Recording;
  stacks: Stacks;
  centre: number;
  onCentre(rectangle: number): void;
}

function Row(props: PartsProps & { rectangle: number; current?: boolean; bar?: boolean }): JSX.Element {
  const { recording, stacks, rectangle, onCentre } = props;
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
      <span class="figure">{figure(stacks.size[rectangle], stacks.totalShare[rectangle])}</span>
    </li>
  );
}

/** The stack from the outermost function to the centre and on to what the mouse is on; below, what the centre calls. */
function CallStack(props: PartsProps): JSX.Element {
  const { stacks, centre } = props;
  const upTo = hovered.value > 0 && hovered.value < stacks.code.length ? hovered.value : centre;
  const path = [0, ...pathTo(stacks, upTo)];
  const shown = path.length > 60 ? [...path.slice(0, 10), ...path.slice(-50)] : path;
  const children = hottestIn(stacks, centre, 15);
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
  const options: SunburstOptions = {
    stacks,
    depth: rings.value,
    look: (at) => ringsLook(recording, stacks, at),
    words: (at) => [nameOf(recording, stacks, at), amount(stacks.size[at]), perCent(stacks.totalShare[at])],
    textColor: () => (dark.peek() ? "#eef0f2" : "#17191b"),
    onHover: (rectangle, event) => {
      hovered.value = rectangle;
      done.value = "";
      showTip(rectangle < 0 ? null : figuresOf(recording, stacks, rectangle), event);
    },
    onCentre,
  };
  useEffect(() => {
    const made = (shown = drawing.current = new Drawing(canvas.current!, options, centre));
    const off = onPrinting(() => made.draw());
    return () => {
      off();
      made.close();
      shown = null;
      showTip(null);
    };
  }, []);
  // Read here so that a change of any of them draws again.
  const drawn = [stacks, centre, dark.value, matches.value, selected.value, color.value, rings.value, cutoff.value];
  useEffect(() => drawing.current?.replace(options, centre), drawn);
  const take = (event: KeyboardEvent) => {
    if (event.key !== "c" || !centre) return onKey(stacks, centre, onCentre, event);
    void copyStack(recording, stacks, centre).then((words) => (done.value = words));
    return true;
  };
  useViewKeys(take, [stacks, centre]);
  return (
    <div class="picture">
      <canvas ref={canvas} class="stacks" aria-label="stacks as rings; the list beside has the same as text" />
    </div>
  );
}

/** Up: out; down: to the hottest callee; left and right: to the neighbours; Enter: to the selection; Esc: all. */
function onKey(stacks: Stacks, centre: number, onCentre: (rectangle: number) => void, event: KeyboardEvent): boolean {
  const [child] = hottestIn(stacks, centre, 1);
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
  else if (event.key === "Escape") return false;
  return event.key in targets;
}

function largestOf(stacks: Stacks, code: number): number | undefined {
  let best: number | undefined;
  for (let i = 1; i < stacks.code.length; i++)
    if (stacks.code[i] === code && (best === undefined || stacks.size[i] > stacks.size[best])) best = i;
  return code ? best : undefined;
}

function Choices({ recording }: { recording: Recording }): JSX.Element {
  const name = `${stem(recording.summary.name)}-sunburst`;
  return (
    <div class="choices" role="toolbar" aria-label="how the sunburst is drawn">
      <label>
        depth{" "}
        <select value={rings.value} onChange={(event) => (rings.value = Number(event.currentTarget.value))}>
          {DEPTHS.map((levels) => (
            <option value={levels}>{levels}</option>
          ))}
        </select>
      </label>
      <OrderChoice />
      <CutoffChoice />
      <ColorChoice recording={recording} />
      <FoldChoice />
      <span class="save">
        <button type="button" title="save the picture as SVG" onClick={() => shown && saveRings(shown.picture(), name)}>
          SVG
        </button>
        <button type="button" title="save the picture as PNG" onClick={() => shown && savePng(shown.canvas, name)}>
          PNG
        </button>
      </span>
      <Legend recording={recording} />
    </div>
  );
}

function Walk({ recording, stacks }: { recording: Recording; stacks: Stacks }): JSX.Element {
  const centre = useMemo(() => zoomedIn(NAME, stacks), [stacks, zoomed.value]);
  const onCentre = (rectangle: number) =>
    batch(() => {
      zoomed.value = zoomText(NAME, stacks, rectangle);
      if (rectangle) selected.value = stacks.code[rectangle];
    });
  const parts = { recording, stacks, centre, onCentre };
  return (
    <div class="sunburst">
      <CallStack {...parts} />
      <Canvas {...parts} />
      <Tip />
    </div>
  );
}

const HINTS = "click: make it the centre · click on the centre: back out · arrows: walk · c: copy the stack · Esc: all";

export function Sunburst({ recording }: ViewProps): JSX.Element {
  const current = shownRecording.value ?? recording;
  const stacks = useStacks(current, "");
  return (
    <div class="flame">
      <Choices recording={current} />
      {stacks && (stacks.size[0] > 0 ? <Walk recording={current} stacks={stacks} /> : <Nothing recording={current} />)}
      <p class="status">{done.value || HINTS}</p>
    </div>
  );
}
