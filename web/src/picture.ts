// A canvas of rectangles that can be zoomed and moved: by wheel, drag, click and keys.

import { Rectangles, type Layout, type Look, type Window } from "./rectangles";

export interface PictureOptions {
  layout: Layout;
  /** Values at the left and right edge of the whole. */
  whole: [number, number];
  look(): Look;
  onHover(rectangle: number): void;
  /** A click; -1 = beside all rectangles. */
  onChoose(rectangle: number): void;
  /** What is in sight has changed; for pictures that are made anew for it. */
  onMove?(window: Window): void;
  /** A click zooms to the rectangle. */
  zooms: boolean;
}

const ZOOM_MS = 150;
const SMALLEST_PART = 1e-9;

export class Picture {
  private readonly rectangles: Rectangles;
  private readonly off = new AbortController();
  private readonly watch: ResizeObserver;
  private animation = 0;
  window: Window;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private options: PictureOptions,
  ) {
    this.rectangles = new Rectangles(canvas);
    this.window = { from: options.whole[0], to: options.whole[1], top: 0 };
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(canvas);
    this.listen();
  }

  close(): void {
    cancelAnimationFrame(this.animation);
    this.off.abort();
    this.watch.disconnect();
  }

  /** Another layout of the same thing: the place is kept. */
  replace(options: PictureOptions): void {
    this.options = options;
    this.draw();
  }

  draw(): void {
    this.rectangles.draw(this.options.layout, this.window, this.options.look());
  }

  private at(event: MouseEvent): number {
    const { layout, look } = this.options;
    return this.rectangles.at(layout, this.window, look(), event.offsetX, event.offsetY);
  }

  private limit(window: Window): Window {
    const [first, last] = this.options.whole;
    const whole = last - first;
    const size = Math.min(whole, Math.max(window.to - window.from, whole * SMALLEST_PART));
    const from = Math.min(Math.max(first, window.from), last - size);
    const height = (this.options.layout.level.length - 1) * this.options.look().rowHeight - this.canvas.clientHeight;
    return { from, to: from + size, top: Math.min(Math.max(0, window.top), Math.max(0, height)) };
  }

  private show(window: Window): void {
    this.window = window;
    this.draw();
    this.options.onMove?.(window);
  }

  move(window: Window, smoothly = false): void {
    cancelAnimationFrame(this.animation);
    const target = this.limit(window);
    if (!smoothly || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.show(target);
      return;
    }
    const before = { ...this.window };
    const began = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, (now - began) / ZOOM_MS);
      const eased = 1 - (1 - part) ** 3;
      const between = (a: number, b: number) => a + (b - a) * eased;
      this.show({
        from: between(before.from, target.from),
        to: between(before.to, target.to),
        top: between(before.top, target.top),
      });
      if (part < 1) this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  zoomTo(rectangle: number): void {
    const from = this.options.layout.start[rectangle];
    this.move({ from, to: from + this.options.layout.size[rectangle], top: this.window.top }, true);
  }

  zoom(factor: number, x = this.canvas.clientWidth / 2): void {
    const { from, to, top } = this.window;
    const value = from + ((to - from) * x) / this.canvas.clientWidth;
    this.move({ from: value - (value - from) * factor, to: value + (to - value) * factor, top });
  }

  pan(columns: number, rows: number): void {
    const { from, to, top } = this.window;
    const by = ((to - from) * columns) / this.canvas.clientWidth;
    this.move({ from: from + by, to: to + by, top: top + (this.options.look().upwards ? -rows : rows) });
  }

  reset(): void {
    const [from, to] = this.options.whole;
    this.move({ from, to, top: 0 }, true);
  }

  /** The largest rectangle of a function; -1 = none. */
  largestOf(code: number): number {
    const { code: codes, size } = this.options.layout;
    let best = -1;
    for (let i = 0; i < codes.length; i++) if (codes[i] === code && (best < 0 || size[i] > size[best])) best = i;
    return best;
  }

  onKey(event: KeyboardEvent): boolean {
    const step = this.canvas.clientWidth / 8;
    const row = 3 * this.options.look().rowHeight;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-step, 0),
      a: () => this.pan(-step, 0),
      ArrowRight: () => this.pan(step, 0),
      d: () => this.pan(step, 0),
      ArrowUp: () => this.pan(0, -row),
      ArrowDown: () => this.pan(0, row),
      w: () => this.zoom(0.8),
      s: () => this.zoom(1.25),
    };
    actions[event.key]?.();
    return event.key in actions;
  }

  private on<K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void): void {
    this.canvas.addEventListener(name, act, { signal: this.off.signal, passive: false });
  }

  private listen(): void {
    let dragged: { x: number; y: number; moved: boolean } | null = null;
    this.on("pointerdown", (event) => {
      dragged = { x: event.clientX, y: event.clientY, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.on("pointermove", (event) => {
      if (!dragged) {
        this.options.onHover(this.at(event));
        return;
      }
      const [x, y] = [event.clientX - dragged.x, event.clientY - dragged.y];
      if (!dragged.moved && Math.hypot(x, y) < 4) return;
      dragged = { x: event.clientX, y: event.clientY, moved: true };
      this.pan(-x, -y);
    });
    this.on("pointerup", (event) => {
      const moved = dragged?.moved;
      dragged = null;
      if (!moved) this.choose(this.at(event));
    });
    this.on("pointerleave", () => this.options.onHover(-1));
    this.on("wheel", (event) => this.turnWheel(event));
  }

  private choose(rectangle: number): void {
    this.options.onChoose(rectangle);
    if (rectangle >= 0 && this.options.zooms) this.zoomTo(rectangle);
  }

  private turnWheel(event: WheelEvent): void {
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) this.pan(event.deltaX || event.deltaY, 0);
    else this.zoom(Math.exp(event.deltaY / 300), event.offsetX);
  }
}
