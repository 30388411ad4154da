// Which part of a picture is in sight, and how it moves there.

import type { Window } from "./rectangles";

const ZOOM_MS = 150;
const SMALLEST_PART = 1e-9;

/** What a camera looks at. */
export interface Scene {
  /** Values at the left and right edge of the whole. */
  whole(): [number, number];
  /** Of the canvas and of all rows, in CSS pixels. */
  width(): number;
  height(): number;
  depth(): number;
  /** Called whenever the window has changed. */
  show(): void;
}

function wantsStillness(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Camera {
  window: Window;
  private animation = 0;
  /** Where a motion that has not ended leads. */
  private ahead: Window | null = null;

  constructor(private readonly scene: Scene) {
    const [from, to] = scene.whole();
    this.window = { from, to, top: 0 };
  }

  close(): void {
    cancelAnimationFrame(this.animation);
  }

  private limit(window: Window): Window {
    const [first, last] = this.scene.whole();
    const whole = last - first;
    const size = Math.min(whole, Math.max(window.to - window.from, whole * SMALLEST_PART));
    const from = Math.min(Math.max(first, window.from), last - size);
    const hidden = Math.max(0, this.scene.depth() - this.scene.height());
    return { from, to: from + size, top: Math.min(Math.max(0, window.top), hidden) };
  }

  seesWhole(): boolean {
    const [first, last] = this.scene.whole();
    return this.window.from <= first && this.window.to >= last;
  }

  /** What is in sight, or will be at the end of the motion. */
  destination(): Window {
    return this.ahead ?? this.window;
  }

  /** Back into the limits, after the scene has changed. */
  settle(): void {
    this.window = this.limit(this.window);
  }

  private show(window: Window): void {
    this.window = window;
    this.scene.show();
  }

  move(window: Window, smoothly = false): void {
    cancelAnimationFrame(this.animation);
    this.ahead = null;
    const target = this.limit(window);
    if (!smoothly || wantsStillness()) {
      this.show(target);
      return;
    }
    const before = { ...this.window };
    const began = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, Math.max(0, now - began) / ZOOM_MS);
      const eased = 1 - (1 - part) ** 3;
      const between = (a: number, b: number) => (part < 1 ? a + (b - a) * eased : b);
      this.show({
        from: between(before.from, target.from),
        to: between(before.to, target.to),
        top: between(before.top, target.top),
      });
      if (part < 1) this.animation = requestAnimationFrame(step);
      else this.ahead = null;
    };
    this.ahead = target;
    this.animation = requestAnimationFrame(step);
  }

  zoom(factor: number, x = this.scene.width() / 2): void {
    const { from, to, top } = this.window;
    const value = from + ((to - from) * x) / this.scene.width();
    this.move({ from: value - (value - from) * factor, to: value + (to - value) * factor, top });
  }

  pan(columns: number, rows: number): void {
    const { from, to, top } = this.window;
    const by = ((to - from) * columns) / this.scene.width();
    this.move({ from: from + by, to: to + by, top: top + rows });
  }

  reset(): void {
    const [from, to] = this.scene.whole();
    this.move({ from, to, top: 0 }, true);
  }

  /** The keys that move; `row` is what up and down scroll by. */
  onKey(event: KeyboardEvent, row: number): boolean {
    const step = this.scene.width() / 8;
    const page = this.scene.height() * 0.8;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-step, 0),
      a: () => this.pan(-step, 0),
      ArrowRight: () => this.pan(step, 0),
      d: () => this.pan(step, 0),
      ArrowUp: () => this.pan(0, -row),
      ArrowDown: () => this.pan(0, row),
      PageUp: () => this.pan(0, -page),
      PageDown: () => this.pan(0, page),
      w: () => this.zoom(0.8),
      s: () => this.zoom(1.25),
      "+": () => this.zoom(0.8),
      "-": () => this.zoom(1.25),
    };
    actions[event.key]?.();
    return event.key in actions;
  }

  turnWheel(event: WheelEvent): void {
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) this.pan(event.deltaX || event.deltaY, 0);
    else this.zoom(Math.exp(event.deltaY / 300), event.offsetX);
  }
}

/** A bar at the right edge of the canvas, shown when there are rows out of sight. */
export class ScrollBar {
  private readonly bar = document.createElement("div");
  private readonly thumb = document.createElement("div");

  /** `upwards`: the first row is at the bottom. */
  constructor(
    canvas: HTMLCanvasElement,
    private readonly scene: Scene,
    private readonly camera: Camera,
    private readonly upwards: () => boolean,
  ) {
    this.bar.className = "scroll";
    this.bar.setAttribute("aria-hidden", "true"); // the keys scroll as well
    this.bar.append(this.thumb);
    canvas.after(this.bar);
    this.bar.addEventListener("pointerdown", (event) => this.follow(event));
    this.bar.addEventListener("pointermove", (event) => {
      if (this.bar.hasPointerCapture(event.pointerId)) this.follow(event);
    });
    this.bar.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.camera.pan(0, this.upwards() ? -event.deltaY : event.deltaY);
    });
  }

  private follow(event: PointerEvent): void {
    this.bar.setPointerCapture(event.pointerId);
    const { top, height } = this.bar.getBoundingClientRect();
    const part = (event.clientY - top) / height;
    const middle = (this.upwards() ? 1 - part : part) * this.scene.depth();
    this.camera.move({ ...this.camera.window, top: middle - this.scene.height() / 2 });
  }

  draw(): void {
    const [depth, height] = [this.scene.depth(), this.scene.height()];
    this.bar.hidden = depth <= height + 1;
    if (this.bar.hidden) return;
    const size = Math.max(0.04, height / depth);
    const part = (this.camera.window.top / (depth - height)) * (1 - size);
    this.thumb.style.height = `${100 * size}%`;
    this.thumb.style.top = `${100 * (this.upwards() ? 1 - size - part : part)}%`;
  }

  remove(): void {
    this.bar.remove();
  }
}
