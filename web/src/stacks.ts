// Stacks as the C core lays them out, and how they look.

import { pickShares, type Amounts, type Answer, type Shares } from "./answer";
import { css, heatColor, pixel, textOn, threadColor } from "./colors";
import { amount, bySamples, countWord } from "./measure";
import { count, perCent } from "./numbers";
import { threadName, type Recording } from "./recording";
import type { Layout, Look } from "./rectangles";
import { color, dark, matches, selected } from "./state";
import type { TipWords } from "./tip";

export const ROW = 20;
export const MONOSPACED = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

export interface Stacks extends Layout {
  parent: Uint32Array;
  self: Amounts;
  calls: Amounts;
  /** Of all that is selected, and of the caller's total. */
  totalShare: Shares;
  selfShare: Shares;
  callerShare: Shares;
  estimated: boolean;
  /** By rectangle, where asked for: the thread that spent most of its time, and which part of it that is. */
  thread?: Uint32Array;
  part?: Shares;
}

function decodeThreads(answer: Answer): Pick<Stacks, "thread" | "part"> {
  if (!answer.has("node_thread")) return {};
  const node = answer.numbers("node");
  const thread = answer.numbers("node_thread");
  return { thread: node.map((at) => thread[at]), part: pickShares(answer.shares("node_thread_part"), node) };
}

export function decodeStacks(answer: Answer): Stacks {
  return {
    level: answer.numbers("level"),
    start: answer.reals("start"),
    size: answer.amounts("total"),
    code: answer.numbers("code"),
    parent: answer.numbers("parent"),
    self: answer.amounts("self"),
    calls: answer.amounts("calls"),
    totalShare: answer.shares("total_share"),
    selfShare: answer.shares("self_share"),
    callerShare: answer.shares("caller_share"),
    estimated: answer.values.estimated,
    ...decodeThreads(answer),
  };
}

/** The rectangles from the outermost function to this one. */
export function pathTo(stacks: Stacks, rectangle: number): number[] {
  const path = [];
  for (let at = rectangle; at; at = stacks.parent[at]) path.unshift(at);
  return path;
}

/** The children of a rectangle: they lie side by side in the next level. */
export function childrenOf(stacks: Stacks, rectangle: number, most: number): number[] {
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

export function pathText(recording: Recording, stacks: Stacks, rectangle: number): string {
  const { codes } = recording;
  return pathTo(stacks, rectangle)
    .map((at) => [codes.name(stacks.code[at]), codes.place(stacks.code[at])].filter(Boolean).join(" "))
    .join("\n");
}

/** Exact figures of a rectangle. */
export function figuresOf(recording: Recording, stacks: Stacks, rectangle: number): TipWords {
  const { codes, summary } = recording;
  const code = stacks.code[rectangle];
  const figures: [string, string][] = [
    ["total", `${amount(stacks.size[rectangle])} · ${perCent(stacks.totalShare[rectangle])} of all`],
    ["self", `${amount(stacks.self[rectangle])} · ${perCent(stacks.selfShare[rectangle])} of all`],
  ];
  if (rectangle) figures.push(["of its caller", perCent(stacks.callerShare[rectangle])]);
  if (stacks.thread?.[rectangle]) {
    const found = summary.threads.find(({ id }) => id === stacks.thread![rectangle]);
    figures.push(["thread", `${threadName(found)} · ${perCent(stacks.part![rectangle])} of it`]);
  }
  if (stacks.calls[rectangle]) figures.push([countWord(bySamples.value), count(stacks.calls[rectangle])]);
  return { title: code ? codes.name(code) : "all", place: codes.place(code), figures };
}

export function background(): number {
  return dark.value ? 0xff1c1917 : 0xfffdfcfb;
}

const DIM = 0.62;

/** Towards the background: what the search does not name, lines. */
function dimmed(of: number, towards: number): number {
  let result = 0xff000000;
  for (const shift of [0, 8, 16]) {
    const from = (of >>> shift) & 0xff;
    const to = (towards >>> shift) & 0xff;
    result |= Math.round(from + (to - from) * DIM) << shift;
  }
  return result >>> 0;
}

const KIND_COLORS: [number, number, number][][] = [
  [
    [198, 202, 208],
    [143, 190, 236],
    [240, 196, 129],
    [190, 190, 196],
    [214, 214, 214],
  ],
  [
    [80, 84, 90],
    [38, 92, 146],
    [132, 88, 22],
    [92, 92, 98],
    [80, 80, 80],
  ],
];

export function kindColor(kind: number, night: boolean): [number, number, number] {
  return KIND_COLORS[night ? 1 : 0][kind] ?? KIND_COLORS[night ? 1 : 0][0];
}

/** Pixel of a function, by the colours chosen: its module, its kind, its thread, or how much of its time is its own. */
function colorOf(recording: Recording, layout: Layout, { own, threads }: LookOptions, night: boolean) {
  const { codes } = recording;
  if (color.value === "thread" && threads) {
    const place = new Map(recording.summary.busiest_threads.map((id, at) => [id, at]));
    return (at: number) => {
      const [thread, part] = threads(at);
      return pixel(threadColor(place.get(thread) ?? -1, part, night));
    };
  }
  if (color.value === "kind") return (at: number) => pixel(kindColor(codes.kind[layout.code[at]], night));
  if (color.value === "self" && own)
    return (at: number) => pixel(heatColor(layout.size[at] ? own[at] / layout.size[at] : 0, night));
  return (at: number) => codes.pixel(layout.code[at], night);
}

export interface LookOptions {
  rowHeight?: number;
  upwards?: boolean;
  own?: Float64Array;
  /** The thread of a rectangle, and the part of its time that is that thread's. */
  threads?(rectangle: number): [thread: number, part: number];
  /** What is smaller is grey. */
  least?: number;
  /** The label of a rectangle without a function. */
  root?: string;
}

/** Of stacks that know their threads. */
export function threadsOf({ thread, part }: Stacks): LookOptions["threads"] {
  return thread && part && ((rectangle) => [thread[rectangle], part[rectangle]]);
}

/** How a layout of functions is drawn now: colours, search and selection. */
export function lookOf(recording: Recording, layout: Layout, options: LookOptions = {}): Look {
  const night = dark.value;
  const found = matches.value;
  const chosen = selected.value;
  const behind = background();
  const plain = colorOf(recording, layout, options, night);
  const accent = night ? 0xff4fb4ff : 0xff1e8cff;
  const least = options.least ?? 0;
  const rest = night ? 0xff3d3835 : 0xffe2dedb;
  const root = night ? 0xff3a3532 : 0xffe4e0dc;
  const lineOf = (rectangle: number) => layout.line?.[rectangle] ?? 0;
  return {
    rowHeight: options.rowHeight ?? ROW,
    upwards: options.upwards ?? false,
    background: behind,
    color(rectangle) {
      const code = layout.code[rectangle];
      if (!code) return root;
      if (code === chosen) return accent;
      if (layout.size[rectangle] < least) return rest;
      const pale = lineOf(rectangle) || (found && !found.has(code));
      return pale ? dimmed(plain(rectangle), behind) : plain(rectangle);
    },
    label(rectangle) {
      if (lineOf(rectangle)) return `line ${lineOf(rectangle)}`;
      return layout.code[rectangle] ? recording.codes.name(layout.code[rectangle]) : (options.root ?? "");
    },
    textColor: (shown) => css(textOn(shown)),
    font: MONOSPACED,
  };
}
