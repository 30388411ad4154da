// Stacks as rectangles: from the top down, from the leaves up, around one function, or as time went by.

import { batch, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Amount, Share, Shares } from "../answer";
import { useStacks } from "../ask_stacks";
import { ColorChoice, CutoffChoice, DirectionChoice, FoldChoice, LayoutChoices, Legend, LevelsChoice, OrderChoice } from "../choices";
import { copyText, stem } from "../files";
import { foundIn, foundWords } from "../found";
import { takeKeys } from "../keys";
import { amount, countWord } from "../measure";
import { count, distance, perCent, time } from "../numbers";
import { Picture, type PictureOptions } from "../picture";
import { savePng, saveSvg } from "../picture_file";
import { threadName, type Recording } from "../recording";
import type { Layout, Window } from "../rectangles";
import { figuresOf, lookOf, pathText, threadsOf, type Stacks } from "../stacks";
import { arrangement, ask, color, cutoff, dark, fold, levels, matches, modules, onPrinting, problem, process, range } from "../state";
import { recording as shownRecording, selected, selection, thread, upwards, zoomed } from "../state";
import { toSight, useSight } from "../sight";
import { showTip, Tip, type TipWords } from "../tip";
import { crowd, decodeTimed, type TimedLayout } from "../tracks";
import type { ViewProps } from "../views";
import { useZoom, zoomedIn, zoomText } from "../zoom";

const ARRANGEMENTS = [
  { name: "top-down", title: "Top-down" },
  { name: "time", title: "Time order" },
  { name: "bottom-up", title: "Bottom-up" },
  { name: "sandwich", title: "Sandwich" },
];

/** What the mouse is on: figures for the line below the picture. */
interface Pointed {
  code: number;
  total: Amount;
  share: Share;
  self?: Amount;
  calls?: Amount;
}
const pointed = signal<Pointed | null>(null);
/** Which of the places that the search found was gone to, of how many. */
const place = signal<[number, number] | null>(null);
/** What was done, until the mouse is on something else. */
const done = signal("");
effect(() => {
  if (matches.value !== undefined) place.value = null;
});

function fail(error: Error): void {
  problem.value = error.message;
}

interface CanvasProps {
  recording: Recording;
  options: PictureOptions;
  label: string;
  /** From left to right is time. */
  isTime?: boolean;
  /** What the layout was made of, where the URL keeps the frame that is zoomed to; the picture's name there. */
  stacks?: Stacks;
  name?: string;
  onKey?(picture: Picture, event: KeyboardEvent): boolean;
}

/** Pictures in sight, for those who save them. */
const pictures = new Set<Picture>();

/** One picture. Another layout of the same whole keeps its place. */
function Canvas({ recording, options: given, label, isTime = false, stacks, name = "", onKey }: CanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const moved = useSight(() => picture.current?.camera, given.whole, isTime);
  const onMove = (window: Window) => {
    given.onMove?.(window);
    moved();
  };
  const options = { ...given, onMove };
  const latest = useRef({ onKey, options });
  latest.current = { onKey, options };
  // Before the canvas is painted for the first time: no empty frame, and no click or key that nobody takes.
  useLayoutEffect(() => {
    const made = (picture.current = new Picture(canvas.current!, options));
    if (isTime) toSight(made.camera);
    const next = new Walk(made, (rectangle) => latest.current.options.onChoose(rectangle));
    pictures.add(made);
    const off = onPrinting(() => made.draw());
    const release = takeKeys((event) => made.onKey(event) || next.onKey(event) || (latest.current.onKey?.(made, event) ?? false));
    return () => {
      off();
      pictures.delete(made);
      made.close();
      pointed.value = null;
      showTip(null);
      release();
    };
  }, [recording.number, selection.value, fold.value]);
  // Read here so that a change of any of them draws again.
  const drawn = [options.layout, dark.value, matches.value, selected.value, color.value, cutoff.value, upwards.value];
  useEffect(() => picture.current?.replace(options), drawn);
  useZoom(picture, name, stacks);
  return (
    <div class="picture">
      <canvas ref={canvas} class="stacks" aria-label={`${label}; the table has the same figures as text`} />
    </div>
  );
}

/** Goes through what the search has found, largest first. */
class Walk {
  private places: number[] = [];
  private of: [Layout, Set<number> | null] | null = null;
  private at = -1;

  constructor(
    private readonly picture: Picture,
    private readonly choose: (rectangle: number) => void,
  ) {}

  onKey({ key }: KeyboardEvent): boolean {
    if (key !== "n" && key !== "N") return false;
    const { layout } = this.picture.band();
    if (this.of?.[0] !== layout || this.of[1] !== matches.value) {
      this.of = [layout, matches.value];
      this.places = matches.value ? foundIn(layout, matches.value) : [];
      this.at = -1;
    }
    const count = this.places.length;
    if (!count) return true;
    this.at = this.at < 0 ? (key === "n" ? 0 : count - 1) : (this.at + (key === "n" ? 1 : count - 1)) % count;
    this.picture.zoomTo(this.places[this.at]);
    this.choose(this.places[this.at]);
    place.value = [this.at + 1, count];
    return true;
  }
}

function point(layout: Layout, rectangle: number, shares: Shares, stacks?: Stacks): void {
  if (rectangle < 0) pointed.value = null;
  else
    pointed.value = {
      code: layout.code[rectangle],
      total: layout.size[rectangle],
      share: shares[rectangle],
      self: stacks?.self[rectangle],
      calls: stacks?.calls[rectangle],
    };
}

interface Kind {
  upwards: boolean;
  root?: string;
  /** In the URL; "" = it is not there. */
  name: string;
}

function optionsOf(recording: Recording, stacks: Stacks, layout: Layout, { name, ...more }: Kind): PictureOptions {
  const whole = stacks.size[0] || 1;
  const choose = (rectangle: number) =>
    batch(() => {
      selected.value = stacks.code[rectangle];
      if (name) zoomed.value = zoomText(name, stacks, rectangle);
    });
  return {
    layout,
    whole: [0, whole] as [number, number],
    look: () =>
      lookOf(recording, layout, { ...more, own: stacks.self, threads: threadsOf(stacks), least: cutoff.value * whole }),
    onHover: (rectangle: number, event?: MouseEvent) => {
      point(layout, rectangle, stacks.totalShare, stacks);
      showTip(rectangle < 0 ? null : figuresOf(recording, stacks, rectangle), event);
    },
    onChoose: (rectangle: number) => {
      if (rectangle >= 0) choose(rectangle);
    },
    onReset: () => (zoomed.value = ""),
  };
}

/** Its first rows alone, where that is chosen. */
function shallow(stacks: Stacks): Layout {
  if (!levels.value || stacks.level.length <= levels.value + 2) return stacks;
  return { ...stacks, level: stacks.level.subarray(0, levels.value + 2) };
}

/** The words that say what became of it. */
export async function copyStack(recording: Recording, stacks: Stacks, rectangle: number): Promise<string> {
  const name = recording.codes.name(stacks.code[rectangle]);
  const copied = await copyText(pathText(recording, stacks, rectangle));
  return copied ? `the stack of ${name} is in the clipboard` : "this browser lets no page copy";
}

function onStackKey(recording: Recording, stacks: Stacks, name = "") {
  return (picture: Picture, event: KeyboardEvent): boolean => {
    const largest = picture.largestOf(selected.value);
    const at = zoomedIn(name, stacks);
    // The frame that was clicked, while it is the selection's; else the largest of the selection.
    const copied = at && stacks.code[at] === selected.value ? at : largest;
    if (event.key === "Escape") return picture.leave();
    if (event.key === "Enter" && largest > 0) picture.choose(largest);
    else if (event.key === "c" && copied > 0)
      void copyStack(recording, stacks, copied).then((words) => (done.value = words));
    else return false;
    return true;
  };
}

export function Nothing({ recording }: { recording: Recording }): JSX.Element {
  const narrowed = range.value || thread.value || process.value || modules.value.length;
  return (
    <p class="hint empty">
      {narrowed
        ? `${modules.value.length ? "No stack passes through the chosen modules" : "Nothing was recorded in this selection"}. Esc shows the whole.`
        : `${recording.summary.name} holds no stacks. Record some: sonde record SCRIPT`}
    </p>
  );
}

function Tree({ recording, name }: { recording: Recording; name: string }): JSX.Element | null {
  const stacks = useStacks(recording, name);
  const layout = useMemo(() => stacks && shallow(stacks), [stacks, levels.value]);
  if (!stacks || !layout) return null;
  if (!(stacks.size[0] > 0)) return <Nothing recording={recording} />;
  const kind = { root: "all", upwards: upwards.value, name: name || "top-down" };
  return (
    <>
      {stacks.estimated && (
        <p class="hint note">Call paths are estimated: the file knows only who called whom, not from where.</p>
      )}
      <Canvas
        recording={recording}
        label="stacks"
        stacks={stacks}
        name={kind.name}
        options={optionsOf(recording, stacks, layout, kind)}
        onKey={onStackKey(recording, stacks, kind.name)}
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
    const layout = { ...stacks, level: shallow(stacks).level.subarray(1) };
    return (
      <Canvas
        recording={recording}
        label={upwards ? "callers" : "callees"}
        options={optionsOf(recording, stacks, layout, { upwards, name: "" })}
        onKey={onStackKey(recording, stacks)}
      />
    );
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
  const { busiest_threads, threads } = recording.summary;
  return thread.value || busiest_threads[0] || threads[0]?.id || 0;
}

interface TimeLayout extends TimedLayout {
  /** What was asked for: frames go on beyond it. */
  known: [number, number];
}

/** The layout of what is in sight; asked for again when that has moved enough to need more detail. */
function useTimeLayout(recording: Recording, window: Window | null): TimeLayout | null {
  const [layout, setLayout] = useState<TimeLayout | null>(null);
  const chosen = selection.value;
  const shown = shownThread(recording);
  useEffect(() => {
    let current = true;
    const wait = setTimeout(
      () => {
        // Not the range: what began before it is still there at its begin.
        const seen = window ? [window.from, window.to] : range.value;
        const margin = seen ? (seen[1] - seen[0]) / 2 : 0;
        const from_ns = seen ? Math.max(1, Math.floor(seen[0] - margin)) : 0;
        const to_ns = seen ? Math.ceil(seen[1] + margin) : 0;
        const columns = 2 * Math.round(innerWidth * (devicePixelRatio || 1));
        const all = { ...chosen, begin_ns: 0, end_ns: 0 };
        ask({ ask: "time", recording: recording.number, ...all, thread: shown, from_ns, to_ns, columns }).then(
          (answer) =>
            current &&
            setLayout({ ...decodeTimed(answer), known: [from_ns, to_ns || Infinity] }),
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

function timeFigures(recording: Recording, layout: TimeLayout, rectangle: number): TipWords {
  const { codes, summary } = recording;
  const [code, start, size] = [layout.code[rectangle], layout.start[rectangle], layout.size[rectangle]];
  const isCut =
    summary.sampled &&
    (start <= Math.max(layout.known[0], summary.begin_ns + 1) || start + size >= Math.min(layout.known[1], summary.end_ns));
  const figures: [string, string][] = [
    ...crowd(layout.calls[rectangle], layout.line[rectangle]),
    ["lasts", isCut ? `at least ${time(size)}` : `${time(size)} · ${perCent(layout.share[rectangle])} of the run`],
    ["from", distance(summary.begin_ns, start)],
  ];
  return { title: codes.name(code), place: codes.place(code, layout.line[rectangle]), figures };
}

function onTimeKey(picture: Picture, event: KeyboardEvent): boolean {
  return event.key === "Escape" && picture.leave();
}

function TimeOrder({ recording }: { recording: Recording }): JSX.Element | null {
  const { begin_ns, end_ns, timed } = recording.summary;
  const [window, setWindow] = useState<Window | null>(null);
  useEffect(() => setWindow(null), [range.value]);
  const layout = useTimeLayout(recording, window);
  if (!timed || !(end_ns > begin_ns)) return <p class="hint empty">Sums were recorded, not one time after the other: there is no order in time to show.</p>;
  if (!layout) return null;
  const options: PictureOptions = {
    layout,
    whole: range.value ?? [begin_ns, end_ns],
    look: () => lookOf(recording, layout, { threads: () => [shownThread(recording), 1], upwards: upwards.value }),
    onHover: (rectangle, event) => {
      point(layout, rectangle, layout.share);
      showTip(rectangle < 0 ? null : timeFigures(recording, layout, rectangle), event);
    },
    onChoose: (rectangle) => {
      if (rectangle >= 0) selected.value = layout.code[rectangle];
    },
    onMove: setWindow,
    time: { zero: begin_ns, onRange: (chosen) => (range.value = chosen) },
  };
  return <Canvas recording={recording} isTime label="stacks in the order of time" options={options} onKey={onTimeKey} />;
}

function ThreadChoice({ recording }: { recording: Recording }): JSX.Element | null {
  const { threads } = recording.summary;
  if (threads.length < 2) return null;
  const all = arrangement.value !== "time";
  return (
    <label>
      <select aria-label="thread" value={all ? thread.value : shownThread(recording)} onChange={(event) => (thread.value = Number(event.currentTarget.value))}>
        {all && <option value={0}>all threads</option>}
        {threads.map((one) => (
          <option value={one.id}>{threadName(one)}</option>
        ))}
      </select>
    </label>
  );
}

function SaveButtons({ recording }: { recording: Recording }): JSX.Element {
  const name = `${stem(recording.summary.name)}-${arrangement.value}`;
  const save = (act: (picture: Picture, name: string) => void) => () =>
    [...pictures].forEach((picture, index) => act(picture, index ? `${name}-${index + 1}` : name));
  return (
    <span class="save">
      <button type="button" title="save what is in sight as SVG, with all its rows" onClick={save((picture, to) => saveSvg(picture.band(), picture.width, to, picture.ticks()))}>
        SVG
      </button>
      <button type="button" title="save the picture as PNG" onClick={save((picture, to) => savePng(picture.canvas, to))}>
        PNG
      </button>
    </span>
  );
}

function Choices({ recording }: { recording: Recording }): JSX.Element {
  const inTime = arrangement.value === "time";
  return (
    <div class="choices" role="toolbar" aria-label="how stacks are shown">
      {ARRANGEMENTS.map(({ name, title }) => (
        <button type="button" aria-pressed={arrangement.value === name} onClick={() => (arrangement.value = name)}>
          {title}
        </button>
      ))}
      <ThreadChoice recording={recording} />
      <ColorChoice recording={recording} />
      <LayoutChoices>
        {!inTime && <OrderChoice />}
        {!inTime && <LevelsChoice />}
        {!inTime && <CutoffChoice />}
        {!inTime && <FoldChoice />}
        {arrangement.value !== "sandwich" && <DirectionChoice />}
      </LayoutChoices>
      <SaveButtons recording={recording} />
      <Legend recording={recording} />
    </div>
  );
}

function Status({ recording }: { recording: Recording }): JSX.Element {
  const at = pointed.value;
  if (at) done.value = "";
  if (!at) return <p class="status">{done.value || [searchWords(), arrangement.value === "time" ? TIME_HINTS : HINTS].filter(Boolean).join(" · ")}</p>;
  const { codes } = recording;
  const parts = [`total ${amount(at.total)} (${perCent(at.share)} of ${arrangement.value === "time" ? "the run" : "all"})`];
  if (at.self !== undefined) parts.push(`self ${amount(at.self)}`);
  if (at.calls) parts.push(`${count(at.calls)} ${countWord(recording.summary.sampled)}`);
  return (
    <p class="status">
      <b>{at.code ? codes.name(at.code) : "all"}</b> {codes.place(at.code)} · {parts.join(" · ")}
    </p>
  );
}

const HINTS = "click: zoom · wheel: zoom · drag: move · c: copy the stack · Esc: the whole";
const TIME_HINTS = "click: zoom · wheel: zoom · drag: move · drag on the axis, or with shift: select a range · i: idle time, too · Esc: the whole";

function searchWords(): string {
  if (!foundWords.value) return "";
  const at = place.value;
  return `${foundWords.value}${at ? ` · ${at[0]} of ${count(at[1])}` : ""} · n N: next, previous`;
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
      <Tip />
    </div>
  );
}
