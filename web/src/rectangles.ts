// Draws rectangles in levels (icicle, flame, time order, timeline) into a pixel buffer: for each row and pixel column it
// gallops to the rectangle that lies there, so a frame costs pixels, not rectangles. What is thinner than a pixel takes
// its place with its neighbours: the pixel shows the one that fills most of it, none is left out.

export interface Layout {
  /** First rectangle of each level, and the end. */
  level: Uint32Array;
  start: Float64Array;
  size: Float64Array;
  code: Uint32Array;
}

export interface Window {
  /** Values at the left and right edge. */
  from: number;
  to: number;
  /** Rows scrolled off the top, in pixels. */
  top: number;
}

export interface Look {
  rowHeight: number;
  /** Levels grow upwards from the bottom. */
  upwards: boolean;
  background: number;
  /** Pixel of each rectangle. */
  color(rectangle: number): number;
  label(rectangle: number): string;
  /** Of text on this pixel. */
  textColor(color: number): string;
  font: string;
}

/** The first rectangle of [low, high) that ends after `value`, found by galloping from `low`. */
function firstEndingAfter(layout: Layout, value: number, low: number, high: number): number {
  const { start, size } = layout;
  let step = 1;
  let at = low;
  while (at < high && start[at] + size[at] <= value) {
    low = at + 1;
    at += step;
    step *= 2;
  }
  let end = Math.min(at, high);
  while (low < end) {
    const middle = (low + end) >>> 1;
    if (start[middle] + size[middle] <= value) low = middle + 1;
    else end = middle;
  }
  return low;
}

function largestUntil(layout: Layout, first: number, high: number, value: number): number {
  const { start, size } = layout;
  let best = first;
  // Most pixels hold a handful; of thousands the first hundred are as good a choice as any.
  const last = Math.min(high, first + 100);
  for (let i = first + 1; i < last && start[i] < value; i++) if (size[i] > size[best]) best = i;
  return best;
}

export interface Run {
  rectangle: number;
  left: number;
  right: number;
}

/** Runs of pixels of one level, left to right. */
function runsOf(layout: Layout, level: number, window: Window, width: number): Run[] {
  const { start, size } = layout;
  const high = layout.level[level + 1];
  const perPixel = (window.to - window.from) / width;
  const runs: Run[] = [];
  let at = layout.level[level];
  for (let x = 0; x < width; ) {
    at = firstEndingAfter(layout, window.from + x * perPixel, at, high);
    if (at >= high) break;
    const left = Math.max(x, Math.floor((start[at] - window.from) / perPixel));
    if (left >= width) break;
    const right = Math.min(width, Math.round((start[at] + size[at] - window.from) / perPixel));
    if (right - left >= 1) {
      runs.push({ rectangle: at, left, right });
      x = right;
    } else {
      const value = window.from + (left + 1) * perPixel;
      runs.push({ rectangle: largestUntil(layout, at, high, value), left, right: left + 1 });
      x = left + 1;
    }
  }
  return runs;
}

export class Rectangles {
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | undefined;
  private pixels = new Uint32Array(0);
  private scale = 1;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  private fit(): void {
    this.scale = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * this.scale));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * this.scale));
    if (this.image?.width === width && this.image.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  private rowTop(level: number, window: Window, look: Look): number {
    const row = look.rowHeight * this.scale;
    const top = level * row - window.top * this.scale;
    return Math.round(look.upwards ? this.image!.height - top - row : top);
  }

  draw(layout: Layout, window: Window, look: Look): void {
    this.fit();
    const { width, height } = this.image!;
    const row = Math.round(look.rowHeight * this.scale);
    this.pixels.fill(look.background);
    const labels: [Run, number][] = [];
    for (let level = 0; level + 1 < layout.level.length; level++) {
      const top = this.rowTop(level, window, look);
      if (top >= height || top + row <= 0) continue;
      for (const run of runsOf(layout, level, window, width)) {
        this.fill(run, top, row, look);
        if (run.right - run.left > 24 * this.scale) labels.push([run, top]);
      }
    }
    this.context.putImageData(this.image!, 0, 0);
    this.drawLabels(labels, row, look);
  }

  private fill(run: Run, top: number, row: number, look: Look): void {
    const { width, height } = this.image!;
    const color = look.color(run.rectangle);
    const right = run.right - run.left > 3 ? run.right - 1 : run.right;
    const bottom = Math.min(height, top + row - 1);
    for (let y = Math.max(0, top); y < bottom; y++) this.pixels.fill(color, y * width + run.left, y * width + right);
  }

  private drawLabels(labels: [Run, number][], row: number, look: Look): void {
    const context = this.context;
    const size = Math.round(row * 0.62);
    context.font = `${size}px ${look.font}`;
    context.textBaseline = "middle";
    const letter = context.measureText("m").width;
    for (const [run, top] of labels) {
      const room = run.right - run.left - 6 * this.scale;
      const letters = Math.floor(room / letter);
      if (letters < 2) continue;
      let text = look.label(run.rectangle);
      if (text.length > letters) text = `${text.slice(0, letters - 1)}…`;
      context.fillStyle = look.textColor(look.color(run.rectangle));
      context.fillText(text, run.left + 3 * this.scale, top + row / 2);
    }
  }

  /** The rectangle at a place of the canvas (CSS pixels); -1 = none. */
  at(layout: Layout, view: Window, look: Look, x: number, y: number): number {
    if (!this.image) return -1;
    const fromTop = look.upwards ? this.canvas.clientHeight - y : y;
    const level = Math.floor((fromTop + view.top) / look.rowHeight);
    if (level < 0 || level + 1 >= layout.level.length) return -1;
    const perPixel = (view.to - view.from) / this.canvas.clientWidth;
    const value = view.from + x * perPixel;
    const high = layout.level[level + 1];
    const found = firstEndingAfter(layout, value, layout.level[level], high);
    if (found >= high || layout.start[found] > value + perPixel) return -1;
    return layout.size[found] >= perPixel ? found : largestUntil(layout, found, high, value + perPixel);
  }
}
