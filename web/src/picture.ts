// A canvas of rectangles that can be zoomed and moved: by wheel, drag, click and keys.

import { AXIS, drawTimeScale, ticksOf, type Tick, type TimeScale } from "./axis";
import { Camera, ScrollBar, type Scene } from "./camera";
import { Rectangles, type Band, type Layout, type Look, type Window } from "./rectangles";
import { dark } from "./state";

export interface PictureOptions {
  layout: Layout;
  /** Values at the left and right edge of the whole. */
  whole: [number, number];
  look(): Look;
  /** The rectangle below the mouse; -1 = none. */
  onHover(rectangle: number, event?: MouseEvent): void;
  /** A click; -1 = beside all rectangles. */
  onChoose(rectangle: number): void;
  /** What is in sight has changed; for pictures that are made anew for it. */
  onMove?(window: Window): void;
  /** The whole is shown again. */
  onReset?(): void;
  /** From left to right is time: an axis above counts from `zero`, and a range can be selected. */
  time?: { zero: number; onRange(range: [number, number]): void };
}

/** What the mouse holds: where it was last, and the value that a range begins at, if it selects one. */
interface Grip {
  x: number;
  y: number;
  moved: boolean;
  anchor: number | null;
}

export class Picture {
  private readonly rectangles: Rectangles;
  private readonly off = new AbortController();
  private readonly watch: ResizeObserver;
  readonly camera: Camera;
  private readonly bar: ScrollBar;
  private goal: { layout: Layout; rectangle: number; from: number; to: number } | null = null;
  /** A range that is being dragged. */
  private preview: [number, number] | null = null;
  private drawAsked = 0;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private options: PictureOptions,
  ) {
    this.rectangles = new Rectangles(canvas);
    const scene: Scene = {
      whole: () => this.options.whole,
      width: () => canvas.clientWidth,
      height: () => canvas.clientHeight - this.head,
      depth: () => (this.options.layout.level.length - 1) * this.options.look().rowHeight,
      show: () => {
        this.redraw();
        this.options.onMove?.(this.camera.window);
      },
    };
    this.camera = new Camera(scene);
    this.bar = new ScrollBar(canvas, scene, this.camera, () => this.options.look().upwards);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(canvas);
    this.listen();
  }

  close(): void {
    cancelAnimationFrame(this.drawAsked);
    this.camera.close();
    this.bar.remove();
    this.off.abort();
    this.watch.disconnect();
  }

  /** Another layout of the same thing: the place is kept; who saw the whole sees the whole. */
  replace(options: PictureOptions): void {
    const { camera } = this;
    const wasWhole = camera.seesWhole();
    this.options = options;
    if (wasWhole) camera.window = { ...camera.window, from: options.whole[0], to: options.whole[1] };
    camera.settle();
    this.redraw();
  }

  get width(): number {
    return Math.max(1, this.canvas.clientWidth);
  }

  /** Height of what lies above the rectangles. */
  private get head(): number {
    return this.options.time ? AXIS : 0;
  }

  /** What is drawn now. */
  band(): Band {
    const { layout, look } = this.options;
    const { head } = this;
    return { layout, window: this.camera.window, look: look(), top: head, height: this.canvas.clientHeight - head };
  }

  private timeScale(): TimeScale | null {
    const { from, to } = this.camera.window;
    return this.options.time ? { from, to, zero: this.options.time.zero, range: this.preview } : null;
  }

  /** Those of the axis; none where there is no time. */
  ticks(): Tick[] {
    const scale = this.timeScale();
    return scale ? ticksOf(scale, this.width) : [];
  }

  draw(): void {
    cancelAnimationFrame(this.drawAsked);
    const band = this.band();
    const scale = this.timeScale();
    this.rectangles.draw(band);
    if (scale) drawTimeScale(this.rectangles, scale, dark.peek());
    this.bar.draw();
  }

  /** Once in the next frame, however much changes until then. */
  private redraw(): void {
    cancelAnimationFrame(this.drawAsked);
    this.drawAsked = requestAnimationFrame(() => this.draw());
  }

  private at(event: MouseEvent): number {
    const y = event.offsetY - this.head;
    return y < 0 ? -1 : this.rectangles.at(this.band(), event.offsetX, y);
  }

  /** Whether the rectangle is as wide as the picture, or will be at the end of the motion. */
  isAt(rectangle: number): boolean {
    return this.goal?.layout === this.options.layout && this.goal.rectangle === rectangle;
  }

  /** Whether nobody has moved the picture since the last zoomTo. */
  stays(): boolean {
    const { from, to } = this.camera.destination();
    return this.goal !== null && from === this.goal.from && to === this.goal.to;
  }

  /** Makes the rectangle as wide as the picture, and brings its row into sight. */
  zoomTo(rectangle: number, smoothly = true): void {
    const { layout, look } = this.options;
    const { rowHeight } = look();
    const from = layout.start[rectangle];
    const row = levelOf(layout, rectangle) * rowHeight;
    const { top } = this.camera.window;
    const height = this.canvas.clientHeight - this.head;
    const hidden = row < top || row + rowHeight > top + height;
    const newTop = hidden ? row - height / 3 : top;
    const to = from + layout.size[rectangle];
    this.goal = { layout, rectangle, from, to };
    this.camera.move({ from, to, top: newTop }, smoothly);
  }

  /** Shows the whole again; false when it is shown already. */
  leave(): boolean {
    if (this.camera.seesWhole()) return false;
    this.reset();
    return true;
  }

  reset(): void {
    this.goal = null;
    this.camera.reset();
    this.options.onReset?.();
  }

  /** The largest rectangle of a function; -1 = none. */
  largestOf(code: number): number {
    const { code: codes, size } = this.options.layout;
    let best = -1;
    for (let i = 0; i < codes.length; i++) if (codes[i] === code && (best < 0 || size[i] > size[best])) best = i;
    return best;
  }

  onKey(event: KeyboardEvent): boolean {
    const { rowHeight, upwards } = this.options.look();
    return this.camera.onKey(event, (upwards ? -3 : 3) * rowHeight);
  }

  private on<K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void): void {
    this.canvas.addEventListener(name, act, { signal: this.off.signal, passive: false });
  }

  private valueAt(event: MouseEvent): number {
    const { from, to } = this.camera.window;
    const [first, last] = this.options.whole;
    return Math.min(last, Math.max(first, from + ((to - from) * event.offsetX) / this.width));
  }

  private listen(): void {
    let grip: Grip | null = null;
    this.on("pointerdown", (event) => {
      if (event.button) return;
      const selects = this.options.time && (event.shiftKey || event.offsetY < this.head);
      grip = { x: event.clientX, y: event.clientY, moved: false, anchor: selects ? this.valueAt(event) : null };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.on("pointermove", (event) => {
      if (!grip) this.options.onHover(this.at(event), event);
      else if (grip.moved || Math.hypot(event.clientX - grip.x, event.clientY - grip.y) >= 4) this.drag(grip, event);
    });
    this.on("pointerup", (event) => {
      const held = grip;
      grip = null;
      if (held && !held.moved) this.choose(this.at(event));
      else if (this.preview) this.options.time?.onRange(this.preview);
      this.preview = null;
    });
    this.on("pointerleave", () => this.options.onHover(-1));
    this.on("dblclick", (event) => {
      if (this.at(event) <= 0) this.reset();
    });
    this.on("wheel", (event) => this.camera.turnWheel(event));
  }

  /** Moves the picture, or stretches the range. */
  private drag(grip: Grip, event: PointerEvent): void {
    const [x, y] = [event.clientX - grip.x, event.clientY - grip.y];
    Object.assign(grip, { x: event.clientX, y: event.clientY, moved: true });
    this.options.onHover(-1);
    if (grip.anchor === null) return this.camera.pan(-x, this.options.look().upwards ? y : -y);
    const value = this.valueAt(event);
    this.preview = [Math.min(grip.anchor, value), Math.max(grip.anchor, value)];
    this.redraw();
  }

  choose(rectangle: number): void {
    this.options.onChoose(rectangle);
    if (rectangle >= 0) this.zoomTo(rectangle);
  }
}

/** The level that a rectangle lies in. */
export function levelOf(layout: Layout, rectangle: number): number {
  let [low, high] = [0, layout.level.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (layout.level[middle] <= rectangle) low = middle;
    else high = middle;
  }
  return low;
}
