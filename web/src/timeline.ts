// Draws the tracks that are in sight on one axis, and asks for what is not known of them yet: one question at a time, for
// the window as it is then, so that moving quickly leaves no queue behind.

import { AXIS, drawTimeScale } from "./axis";
import { Camera, ScrollBar, type Scene } from "./camera";
import { type Message, MessageLines } from "./message_lines";
import type { Amount, Answer, Share } from "./answer";
import type { Request } from "./engine";
import type { Recording } from "./recording";
import { Rectangles } from "./rectangles";
import { background, MONOSPACED } from "./stacks";
import { dark } from "./state";
import { fitCharts, KINDS, readingAt, toggle, tracksOf, type Place, type Reading, type Track } from "./tracks";

/** How much more than the window is asked for, on both sides. */
const MARGIN = 0.5;

/** More than these are drawn paler: what lies below them is to be seen. */
const FEW_MESSAGES = 60;

export interface TimelineOptions {
  recording: Recording;
  whole: [number, number];
  /** Messages are drawn between the tracks. */
  messages: boolean;
  ask(request: Request): Promise<Answer>;
  onHover(found: Found | Reading | Message | null, event: MouseEvent): void;
  onChoose(found: Found | null): void;
  onRange(range: [number, number]): void;
  /** Tracks have moved or changed their height. */
  onLayout(placed: Placed[]): void;
  /** So many messages of the window are not drawn. */
  onMessages(hidden: number): void;
  onFail(error: Error): void;
  range(): [number, number] | null;
}

/** A rectangle of a track. */
export interface Found {
  track: Track;
  /** The rectangle of its layout. */
  index: number;
  code: number;
  start: number;
  size: Amount;
  /** Of the run. */
  share: Share;
  /** That are drawn as one; 0 = it is no call. */
  calls: number;
  /** Of the function; 0 = it is the function itself. */
  line: number;
  /** It goes on beyond what was asked for. */
  isCut: boolean;
}

export interface Placed {
  track: Track;
  top: number;
  height: number;
}

const TONES = [
  { running: 0xfff2c39c, gil: 0xffc46f2f, cpu: 0xfff2c39c, cpuEdge: 0xffc46f2f, level: 0xffc2ddb4, levelEdge: 0xff4a8a2e },
  { running: 0xff8f613c, gil: 0xfff2b684, cpu: 0xff8f613c, cpuEdge: 0xfff2b684, level: 0xff3d5c35, levelEdge: 0xff8fd07a },
];

export class Timeline {
  readonly camera: Camera;
  private readonly rectangles: Rectangles;
  private readonly bar: ScrollBar;
  private readonly watch: ResizeObserver;
  private readonly off = new AbortController();
  private tracks: Track[];
  private asking = false;
  private isClosed = false;
  private drawAsked = 0;
  /** A range that is being dragged. */
  private preview: [number, number] | null = null;
  /** Messages between threads; null = none are shown. */
  private readonly messages: MessageLines | null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly options: TimelineOptions,
  ) {
    this.rectangles = new Rectangles(canvas);
    this.messages = options.messages ? new MessageLines() : null;
    this.tracks = tracksOf(options.recording);
    const scene: Scene = {
      whole: () => options.whole,
      width: () => canvas.clientWidth,
      height: () => canvas.clientHeight,
      depth: () => AXIS + this.tracks.reduce((sum, track) => sum + KINDS[track.kind].height(track), 0),
      show: () => this.update(),
    };
    this.camera = new Camera(scene);
    this.bar = new ScrollBar(canvas, scene, this.camera, () => false);
    this.watch = new ResizeObserver(() => this.update());
    this.watch.observe(canvas);
    this.listen();
  }

  close(): void {
    this.isClosed = true;
    this.camera.close();
    this.bar.remove();
    this.watch.disconnect();
    this.off.abort();
    cancelAnimationFrame(this.drawAsked);
  }

  /** What was known is out of date; the places and what is open are kept. */
  forget(recording: Recording, whole: [number, number]): void {
    const wasWhole = this.camera.seesWhole();
    const before = new Map(this.tracks.map((track) => [track.key, track]));
    this.options.recording = recording;
    this.options.whole = whole;
    this.messages?.forget();
    if (wasWhole) this.camera.window = { ...this.camera.window, from: whole[0], to: whole[1] };
    this.tracks = tracksOf(recording).map((track) => ({ ...track, ...before.get(track.key), known: null }));
    this.camera.settle();
    this.update();
  }

  toggle(track: Track): void {
    toggle(track);
    this.camera.move(this.camera.window);
  }

  update(): void {
    fitCharts(this.tracks, this.canvas.clientHeight - AXIS);
    this.options.onLayout(this.placed());
    cancelAnimationFrame(this.drawAsked);
    this.drawAsked = requestAnimationFrame(() => this.draw());
    void this.askAll();
  }

  /** The tracks in sight. */
  private placed(): Placed[] {
    const found: Placed[] = [];
    let top = AXIS - this.camera.window.top;
    for (const track of this.tracks) {
      const height = KINDS[track.kind].height(track);
      if (top + height > AXIS && top < this.canvas.clientHeight) found.push({ track, top, height });
      top += height;
    }
    return found;
  }

  private placeOf(top: number): Place {
    const { recording } = this.options;
    const tones = TONES[dark.peek() ? 1 : 0];
    return { rectangles: this.rectangles, recording, window: this.camera.window, top, tones };
  }

  draw(): void {
    const placed = this.placed();
    const last = placed[placed.length - 1];
    this.rectangles.begin(background(), last ? last.top + last.height : AXIS);
    for (const { track, top } of placed) KINDS[track.kind].draw(track, this.placeOf(top));
    this.rectangles.end(MONOSPACED);
    this.drawMessages();
    const { from, to } = this.camera.window;
    const range = this.preview ?? this.options.range();
    drawTimeScale(this.rectangles, { from, to, zero: this.options.whole[0], range }, dark.peek());
    this.bar.draw();
  }

  /** The middle of each thread's track, also of those out of sight. */
  private middles(): Map<number, number> {
    const found = new Map<number, number>();
    let top = AXIS - this.camera.window.top;
    for (const track of this.tracks) {
      const height = KINDS[track.kind].height(track);
      if (track.kind === "thread" || track.kind === "calls") found.set(track.thread, top + height / 2);
      top += height;
    }
    return found;
  }

  private drawMessages(): void {
    if (!this.messages) return;
    const places = this.middles();
    const size = { width: this.canvas.clientWidth, height: this.canvas.clientHeight, scale: this.canvas.width / this.canvas.clientWidth };
    const strength = this.messages.count > FEW_MESSAGES ? 0.35 : 0.8;
    const color = dark.peek() ? `rgb(255 220 120 / ${strength})` : `rgb(150 40 60 / ${strength})`;
    this.messages.draw(this.rectangles.context, this.camera.window, size, (thread) => places.get(thread), color);
  }

  private messageAt(event: MouseEvent): Message | null {
    if (!this.messages || event.offsetY < AXIS) return null;
    const places = this.middles();
    return this.messages.find(event.offsetX, event.offsetY, this.camera.window, this.canvas.clientWidth, (thread) => places.get(thread));
  }

  private async learnMessages(): Promise<void> {
    const window = { ...this.camera.window };
    const { messages } = this;
    messages!.take(await this.options.ask(messages!.request(window)), window);
    if (!this.isClosed) this.options.onMessages(messages!.hidden);
    cancelAnimationFrame(this.drawAsked);
    this.drawAsked = requestAnimationFrame(() => this.draw());
  }

  private needs({ known, kind }: Track): boolean {
    if (!KINDS[kind].asks) return false;
    if (!known) return true;
    const { from, to } = this.camera.window;
    const [first, last] = this.options.whole;
    const lacks = known.from > Math.max(first, from) || known.to < Math.min(last, to);
    return lacks || known.to - known.from > 3 * (to - from);
  }

  private async askAll(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      for (let next; !this.isClosed && (next = this.placed().find(({ track }) => this.needs(track))); )
        await this.learn(next.track);
      while (!this.isClosed && this.messages?.needs(this.camera.window)) await this.learnMessages();
    } catch (error) {
      if (!this.isClosed) this.options.onFail(error as Error);
    } finally {
      this.asking = false;
    }
  }

  private async learn(track: Track): Promise<void> {
    const { from, to } = this.camera.window;
    const [first, last] = this.options.whole;
    const more = (to - from) * MARGIN;
    const window = { from: Math.max(first, from - more), to: Math.min(last, to + more), top: 0 };
    const sight = this.canvas.clientWidth * (devicePixelRatio || 1);
    const columns = Math.ceil((sight * (window.to - window.from)) / (to - from));
    const requests = KINDS[track.kind].requests(track, window, columns);
    const answers = await Promise.all(requests.map((request) => this.options.ask(request)));
    const before = KINDS[track.kind].height(track);
    KINDS[track.kind].take(track, answers, window);
    if (KINDS[track.kind].height(track) !== before) this.options.onLayout(this.placed());
    cancelAnimationFrame(this.drawAsked);
    this.drawAsked = requestAnimationFrame(() => this.draw());
  }

  private trackAt(event: MouseEvent): Placed | undefined {
    return this.placed().find(({ top, height }) => event.offsetY >= top && event.offsetY < top + height);
  }

  /** What a counter below the mouse was then. */
  private read(event: MouseEvent): Reading | null {
    const over = event.offsetY >= AXIS ? this.trackAt(event) : undefined;
    return over ? readingAt(over.track, this.valueAt(event)) : null;
  }

  private find(event: MouseEvent): Found | null {
    const over = this.trackAt(event);
    const band = over && KINDS[over.track.kind].band(over.track, this.placeOf(over.top));
    if (!over || !band || event.offsetY < AXIS || event.offsetY >= band.top + band.height) return null;
    const rectangle = this.rectangles.at(band, event.offsetX, event.offsetY - band.top);
    if (rectangle < 0) return null;
    return this.foundIn(over.track, rectangle);
  }

  private foundIn(track: Track, rectangle: number): Found {
    const { code, start, size, share, calls, line } = track.layout!;
    const [first, last] = this.options.whole;
    const [begin, end] = [start[rectangle], start[rectangle] + size[rectangle]];
    const known = track.known!;
    const meetsEdge = (begin <= known.from && known.from > first) || (end >= known.to && known.to < last);
    const isCut = meetsEdge && track.kind !== "calls"; // those come with their own times
    const [length, part, crowded] = [size[rectangle], share[rectangle], calls[rectangle]];
    const shown = { code: code[rectangle], line: line[rectangle], size: length, share: part, calls: crowded };
    return { track, index: rectangle, start: begin, isCut, ...shown };
  }

  private valueAt(event: MouseEvent): number {
    const { from, to } = this.camera.window;
    return from + ((to - from) * event.offsetX) / this.canvas.clientWidth;
  }

  zoomTo(range: [number, number]): void {
    this.camera.move({ from: range[0], to: range[1], top: this.camera.window.top }, true);
  }

  private listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void) =>
      this.canvas.addEventListener(name, act, { signal: this.off.signal, passive: false });
    let grip: { x: number; y: number; moved: boolean; anchor: number | null } | null = null;
    on("pointerdown", (event) => {
      if (event.button) return;
      const selects = event.shiftKey || event.offsetY < AXIS;
      grip = { x: event.clientX, y: event.clientY, moved: false, anchor: selects ? this.valueAt(event) : null };
      this.canvas.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      if (!grip) return this.options.onHover(this.messageAt(event) ?? this.find(event) ?? this.read(event), event);
      const [x, y] = [event.clientX - grip.x, event.clientY - grip.y];
      if (!grip.moved && Math.hypot(x, y) < 4) return;
      grip = { ...grip, x: event.clientX, y: event.clientY, moved: true };
      this.options.onHover(null, event);
      if (grip.anchor === null) this.camera.pan(-x, -y);
      else this.stretch(grip.anchor, this.valueAt(event));
    });
    on("pointerup", (event) => {
      if (grip && !grip.moved) this.options.onChoose(this.find(event));
      else if (this.preview) this.options.onRange(this.preview);
      this.preview = grip = null;
    });
    on("pointerleave", (event) => this.options.onHover(null, event));
    on("dblclick", (event) => {
      const found = this.find(event);
      if (found) this.zoomTo([found.start, found.start + found.size]);
      else this.camera.reset();
    });
    on("wheel", (event) => this.camera.turnWheel(event));
  }

  private stretch(anchor: number, value: number): void {
    const [first, last] = this.options.whole;
    const within = (at: number) => Math.min(last, Math.max(first, at));
    this.preview = [within(Math.min(anchor, value)), within(Math.max(anchor, value))];
    this.update();
  }
}
