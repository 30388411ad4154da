// Draws rectangles in levels (icicle, flame, time order, timeline) into a pixel buffer: for each row and pixel column it
// gallops to the rectangle that lies there, so a frame costs pixels, not rectangles. What is thinner than a pixel takes
// its place with its neighbours: the pixel shows the one that fills most of it, none is left out.

import type { Amounts } from "./answer";
import { placeCanvas } from "./canvas_place";
import { pixelCss } from "./colors";
import { Glyphs, letterSize } from "./glyphs";

export interface Layout {
  /** First rectangle of each level, and the end. */
  level: Uint32Array;
  start: Float64Array;
  size: Amounts;
  code: Uint32Array;
  /** The line that each is of its function, where there are such; 0 = it is the function itself. */
  line?: Uint32Array;
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
  // Most pixels hold a handful; of thousands the first few are as good a choice as any.
  const last = Math.min(high, first + 24);
  for (let i = first + 1; i < last && start[i] < value; i++) if (size[i] > size[best]) best = i;
  return best;
}

export interface Run {
  rectangle: number;
  left: number;
  right: number;
}

/** Visits the runs of pixels of one level, left to right: tens of thousands a frame, so none of them is an object. */
export function visitRuns(
  layout: Layout,
  level: number,
  window: Window,
  width: number,
  visit: (rectangle: number, left: number, right: number) => void,
): void {
  const { start, size } = layout;
  const high = layout.level[level + 1];
  const perPixel = (window.to - window.from) / width;
  let at = layout.level[level];
  for (let x = 0; x < width; ) {
    at = firstEndingAfter(layout, window.from + x * perPixel, at, high);
    if (at >= high) break;
    const left = Math.max(x, Math.floor((start[at] - window.from) / perPixel));
    if (left >= width) break;
    const end = (rectangle: number) => Math.round((start[rectangle] + size[rectangle] - window.from) / perPixel);
    if (end(at) <= left) at = largestUntil(layout, at, high, window.from + (left + 1) * perPixel);
    const right = Math.min(width, Math.max(left + 1, end(at)));
    visit(at++, left, right);
    x = right;
  }
}

export function runsOf(layout: Layout, level: number, window: Window, width: number): Run[] {
  const runs: Run[] = [];
  visitRuns(layout, level, window, width, (rectangle, left, right) => runs.push({ rectangle, left, right }));
  return runs;
}

/** The rectangle of a level at a value; where it is thinner than a pixel, the largest in that pixel. -1 = none. */
export function rectangleAt(layout: Layout, level: number, value: number, perPixel: number): number {
  const high = layout.level[level + 1];
  const found = firstEndingAfter(layout, value, layout.level[level], high);
  if (found >= high || layout.start[found] > value + perPixel) return -1;
  return layout.size[found] >= perPixel ? found : largestUntil(layout, found, high, value + perPixel);
}

/** A layout in a part of the canvas, from side to side; `top` and `height` in CSS pixels. */
export interface Band {
  layout: Layout;
  window: Window;
  look: Look;
  top: number;
  height: number;
}

/** A name that has letters of its own: the canvas writes it when all pixels are there. */
interface Written {
  text: string;
  left: number;
  middle: number;
  size: number;
  color: string;
}

/** Runs narrower than this, in CSS pixels, have no name. */
const NAMED = 24;
/** Room between the edge of a rectangle and its name. */
const INDENT = 3;

export class Rectangles {
  private image: ImageData | undefined;
  private pixels = new Uint32Array(0);
  /** One row of pixels: all those of a level are alike. */
  private row = new Uint32Array(0);
  private background = 0;
  private scale = 1;
  /** Rectangle, left and right of the runs of a level that are wide enough for a name. */
  private named = new Uint32Array(0);
  private readonly glyphs = new Map<number, Glyphs>();
  private readonly written: Written[] = [];
  /** Lines of pixels that are not background alone: the first, and the one behind the last. */
  private lines: [number, number] = [0, 0];

  readonly context: CanvasRenderingContext2D;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  private fit(): void {
    const { width, height, scale } = placeCanvas(this.canvas);
    this.scale = scale;
    if (this.image?.width === width && this.image.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.lines = [0, 0];
    this.row = new Uint32Array(width);
    this.named = new Uint32Array(3 * (1 + Math.floor(width / (NAMED * this.scale))));
    this.glyphs.clear();
  }

  /** Pixels of the screen for one of CSS. */
  get pixelScale(): number {
    return this.scale;
  }

  /** A picture of one band. Where it has no levels, the canvas fills itself: pixels that are copied to it cost more. */
  draw(band: Band): void {
    this.fit();
    this.clear(band.look.background, this.linesOf(band));
    this.band(band);
    this.end(band.look.font);
  }

  /** The first line of pixels that a band draws in, and the one behind the last. */
  private linesOf({ layout, window, look, top, height }: Band): [number, number] {
    const end = Math.min(height, Math.max(0, (layout.level.length - 1) * look.rowHeight - window.top));
    const [from, to] = look.upwards ? [top + height - end, top + height] : [top, top + end];
    return [Math.max(0, Math.floor(from * this.scale)), Math.min(this.image!.height, Math.ceil(to * this.scale))];
  }

  /** Makes the lines of the last picture and of the next one empty. */
  private clear(background: number, lines: [number, number]): void {
    const { width } = this.image!;
    this.background = background;
    for (const [first, behind] of [this.lines, lines]) this.pixels.fill(background, first * width, behind * width);
    this.lines = lines;
    this.written.length = 0;
  }

  /** A picture is one band or several, one below the other; nothing is drawn below `bottom` (CSS pixels). */
  begin(background: number, bottom: number): void {
    this.fit();
    this.clear(background, [0, Math.min(this.image!.height, Math.max(0, Math.ceil(bottom * this.scale)))]);
  }

  band({ layout, window, look, top, height }: Band): void {
    const upper = Math.round(top * this.scale);
    const lower = Math.round((top + height) * this.scale);
    const first = Math.max(0, upper);
    const end = Math.min(this.image!.height, lower);
    const row = look.rowHeight * this.scale;
    for (let level = 0; level + 1 < layout.level.length; level++) {
      const offset = level * row - window.top * this.scale;
      const place = Math.round(look.upwards ? lower - offset - row : upper + offset);
      if (place >= end || place + row <= first) continue;
      const count = this.paintRow(layout, level, window, look);
      for (let y = Math.max(first, place); y < Math.min(end, place + Math.round(row) - 1); y++)
        this.pixels.set(this.row, y * this.row.length);
      if (place >= first) this.writeNames(count, place, Math.round(row), look);
    }
  }

  /** The pixels of a level, and how many of its runs have room for a name. */
  private paintRow(layout: Layout, level: number, window: Window, look: Look): number {
    const { row, named } = this;
    const least = NAMED * this.scale;
    let count = 0;
    row.fill(this.background);
    visitRuns(layout, level, window, row.length, (rectangle, left, right) => {
      const size = right - left;
      if (size === 1) row[left] = look.color(rectangle);
      else row.fill(look.color(rectangle), left, size > 3 ? right - 1 : right);
      if (size <= least) return;
      named[3 * count] = rectangle;
      named[3 * count + 1] = left;
      named[3 * count + 2] = right;
      count++;
    });
    return count;
  }

  private glyphsOf(size: number, font: string): Glyphs {
    let known = this.glyphs.get(size);
    if (!known) this.glyphs.set(size, (known = new Glyphs(size, font, this.row.length)));
    return known;
  }

  private writeNames(count: number, top: number, row: number, look: Look): void {
    if (!count) return;
    const size = letterSize(row, this.scale);
    const glyphs = this.glyphsOf(size, look.font);
    const middle = top + Math.round(row / 2);
    const fits = middle >= glyphs.reach && middle + glyphs.reach <= this.image!.height;
    for (let i = 0; i < 3 * count; i += 3) {
      const left = this.named[i + 1] + Math.round(INDENT * this.scale);
      const letters = Math.floor((this.named[i + 2] - this.named[i + 1] - 2 * INDENT * this.scale) / glyphs.advance);
      if (letters < 2) continue;
      const text = look.label(this.named[i]);
      const color = look.color(this.named[i]);
      if (fits && glyphs.write(this.pixels, middle * this.row.length + left, text, letters, color)) continue;
      const cut = text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
      this.written.push({ text: cut, left, middle, size, color: look.textColor(color) });
    }
  }

  /** Pixels of the screen from side to side. */
  get columns(): number {
    return this.image?.width ?? 1;
  }

  /** One column of a bar chart whose floor is `height` below `top` (CSS pixels); `part` of that is filled. */
  bar(column: number, top: number, height: number, part: number, color: number): void {
    const { width, height: lowest } = this.image!;
    const floor = Math.round((top + height) * this.scale);
    const upper = Math.max(0, Math.round(floor - Math.min(1, part) * height * this.scale));
    for (let y = upper; y < Math.min(floor, lowest); y++) this.pixels[y * width + column] = color;
  }

  end(font: string): void {
    const { context } = this;
    const { width, height } = this.image!;
    const [first, behind] = this.lines;
    context.fillStyle = pixelCss(this.background);
    if (first > 0) context.fillRect(0, 0, width, first);
    if (behind < height) context.fillRect(0, behind, width, height - behind);
    if (behind > first) context.putImageData(this.image!, 0, 0, 0, first, width, behind - first);
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const { text, left, middle, size, color } of this.written) {
      context.font = `${size}px ${font}`;
      context.fillStyle = color;
      context.fillText(text, left, middle);
    }
  }

  /** The rectangle at a place of a band (CSS pixels from its top left corner); -1 = none. */
  at({ layout, window, look, height }: Band, x: number, y: number): number {
    if (!this.image) return -1;
    const fromTop = look.upwards ? height - y : y;
    const level = Math.floor((fromTop + window.top) / look.rowHeight);
    if (level < 0 || level + 1 >= layout.level.length) return -1;
    const perPixel = (window.to - window.from) / this.canvas.clientWidth;
    return rectangleAt(layout, level, window.from + x * perPixel, perPixel);
  }
}
