// Draws levels as rings around a centre, pixel by pixel: each pixel knows its distance and angle, each ring has its colours
// by angle. So a frame costs pixels, not rectangles, and what is thinner than a pixel is drawn with its neighbours.

import { placeCanvas } from "./canvas_place";
import { pixelCss } from "./colors";
import { rectangleAt, runsOf, visitRuns, type Layout, type Look, type Run } from "./rectangles";

/** What is in sight: values once around, the level in the centre, and the rings around it; not whole while it moves. */
export interface Sight {
  from: number;
  to: number;
  level: number;
  depth: number;
}

export interface RingsLook extends Look {
  /** What is smaller than this is drawn in `rest`. */
  least: number;
  rest: number;
  /** Where levels lie beyond the last ring. */
  more: number;
  centre: number;
}

const FULL = 2 * Math.PI;
/** Radius of the centre and width of the ring that says there is more, in CSS pixels. */
const CENTRE = 48;
const MORE = 3;
/** How far, in CSS pixels, letters may stand from the arc that they are written along; and what their angles are multiples of. */
const SAGGING = 1;
const ANGLE = FULL / 360;

/** Rings that a sight needs, `most` at most. */
export function depthWithin(layout: Layout, from: number, to: number, level: number, most: number): number {
  let depth = 0;
  const sliver = (to - from) * 1e-9;
  while (depth < most && level + depth + 2 < layout.level.length) {
    const found = rectangleAt(layout, level + depth + 1, from + sliver, to - from - 2 * sliver);
    if (found < 0) break;
    depth++;
  }
  return Math.max(1, depth);
}

/** A radius in pixels from which a whole picture takes too long for a frame. */
const LARGE = 450;
/** Distances are kept in parts of a pixel, so that edges can be soft. */
const PARTS = 8;

/** Between two colours: all of `color` when `parts` is PARTS. */
function mixed(color: number, towards: number, parts: number): number {
  const rest = PARTS - parts;
  const redBlue = ((color & 0xff00ff) * parts + (towards & 0xff00ff) * rest) / PARTS;
  const green = ((color & 0xff00) * parts + (towards & 0xff00) * rest) / PARTS;
  return (0xff000000 | (redBlue & 0xff00ff) | (green & 0xff00)) >>> 0;
}

export class Rings {
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | undefined;
  private pixels = new Uint32Array(0);
  /** Of each pixel: distance from the middle in parts, and below it, in 16 bits, the column of the angle. */
  private places = new Uint32Array(0);
  /** Pixels of each line that lie within the radius: the first, and the one behind the last. */
  private spans = new Uint32Array(0);
  private columns = 1;
  private scale = 1;
  private radius = 1;
  /** Colours of each ring by angle, one ring after the other. */
  private colors = new Uint32Array(0);
  /** Of each distance: how much of its ring shows above the background, and below it, in 24 bits, where it begins in `colors`. */
  private ring = new Uint32Array(0);
  private background = -1;

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
    this.radius = Math.min(65535 / PARTS - 1, Math.max(8, Math.min(width, height) / 2 - 6 * this.scale));
    this.columns = Math.min(8192, Math.ceil(FULL * this.radius));
    this.ring = new Uint32Array(Math.ceil(this.radius) * PARTS + 1);
    this.background = -1;
    this.measure(width, height);
  }

  /** A quarter is measured, and the others are its mirrors: it takes a while. */
  private measure(width: number, height: number): void {
    this.places = new Uint32Array(width * height);
    this.spans = new Uint32Array(2 * height);
    for (let y = 0; y < height / 2; y++) {
      const up = height / 2 - y - 0.5;
      const half = Math.sqrt(Math.max(0, this.radius ** 2 - up * up));
      const right = Math.max(Math.ceil(width / 2), Math.min(width, Math.ceil(width / 2 + half - 0.5)));
      for (const line of [y, height - 1 - y]) {
        this.spans[2 * line] = line * width + width - right;
        this.spans[2 * line + 1] = line * width + right;
      }
      this.placeLine(y, right, up);
    }
  }

  /** Pixels of the upper right, and their mirrors. The angle is from the top, with the clock, as a part of the whole. */
  private placeLine(y: number, end: number, up: number): void {
    const { places, columns } = this;
    const { width, height } = this.image!;
    const [above, below, mirrored] = [y * width, (height - 1 - y) * width, width - 1];
    for (let x = Math.floor(width / 2); x < end; x++) {
      const right = x + 0.5 - width / 2;
      const distance = Math.round(Math.sqrt(right * right + up * up) * PARTS) << 16;
      const turned = (Math.atan2(right, up) / FULL) * columns;
      places[below + mirrored - x] = distance | (columns / 2 + turned);
      places[below + x] = distance | (columns / 2 - turned);
      places[above + mirrored - x] = distance | Math.min(columns - 1, columns - turned);
      places[above + x] = distance | turned;
    }
  }

  private centreRadius(): number {
    return Math.min(CENTRE * this.scale, this.radius / 3);
  }

  private ringWidth(sight: Sight): number {
    return (this.radius - MORE * this.scale - this.centreRadius()) / sight.depth;
  }

  /** The level at a distance, as a number whose whole part it is. */
  private levelAt(distance: number, sight: Sight): number {
    const centre = this.centreRadius();
    if (distance < centre) return sight.level + distance / centre;
    return sight.level + 1 + (distance - centre) / this.ringWidth(sight);
  }

  draw(layout: Layout, sight: Sight, look: RingsLook, moves = false): void {
    this.fit();
    this.paintRings(layout, sight, look);
    this.measureRings(sight);
    this.paint(look, moves && this.radius > LARGE);
    if (sight.level !== Math.floor(sight.level)) return;
    const runs: Run[][] = [];
    for (let level = sight.level; level <= sight.level + sight.depth && level + 1 < layout.level.length; level++)
      runs.push(runsOf(layout, level, { ...sight, top: 0 }, this.columns));
    this.drawBorders(runs, sight, look);
    this.drawNames(runs, layout, sight, look);
  }

  /** How many rings have colours: the centre, those in sight also while they move, and the one behind the last. */
  private ringCount(sight: Sight): number {
    return Math.ceil(sight.depth) + 3;
  }

  /** The colours of all rings. Behind them lie the one that says there is more, and one of nothing. */
  private paintRings(layout: Layout, sight: Sight, look: RingsLook): void {
    const { columns } = this;
    const count = this.ringCount(sight);
    if (this.colors.length < (count + 2) * columns) this.colors = new Uint32Array((count + 2) * columns);
    const colors = this.colors.fill(look.background);
    const first = Math.floor(sight.level);
    const window = { from: sight.from, to: sight.to, top: 0 };
    for (let ring = 0; ring < count && first + ring + 1 < layout.level.length; ring++)
      visitRuns(layout, first + ring, window, columns, (rectangle, left, right) => {
        const color = layout.size[rectangle] < look.least ? look.rest : look.color(rectangle);
        colors.fill(color, ring * columns + left, ring * columns + right);
      });
    if (sight.level === first) colors.fill(look.centre, 0, columns);
    const last = (Math.ceil(sight.depth) + 1) * columns;
    for (let column = 0; column < columns; column++)
      if (colors[last + column] !== look.background) colors[count * columns + column] = look.more;
  }

  /** Which ring lies at each distance. */
  private measureRings(sight: Sight): void {
    const { ring, columns, radius } = this;
    const width = this.ringWidth(sight);
    const edge = radius - MORE * this.scale;
    const first = Math.floor(sight.level);
    const more = this.ringCount(sight);
    for (let at = 0; at < ring.length; at++) {
      const far = at / PARTS;
      const place = this.levelAt(far, sight) - first;
      const number = far < edge ? Math.floor(place) : far < edge + 1 ? more + 1 : more;
      const inside = (place - number) * width;
      const parts = far < edge && number > 0 && inside < 1 ? Math.floor(inside * PARTS) : PARTS;
      ring[at] = (parts << 24) | (number * columns);
    }
  }

  /** Of large rings that move only every other line is painted, and the next is the same. */
  private paint(look: RingsLook, halves: boolean): void {
    const { pixels, places, colors, ring, spans } = this;
    const { background } = look;
    const { width, height } = this.image!;
    const isNew = this.background !== background;
    if (isNew) pixels.fill(background);
    this.background = background;
    for (let line = 0; line < spans.length; line += 2) {
      if (halves && line % 4) {
        pixels.copyWithin(spans[line], spans[line] - width, spans[line + 1] - width);
        continue;
      }
      for (let at = spans[line], end = spans[line + 1]; at < end; at++) {
        const place = places[at];
        const packed = ring[place >>> 16];
        const color = colors[(packed & 0xffffff) + (place & 0xffff)];
        const part = packed >>> 24;
        pixels[at] = part === PARTS || color === background ? color : mixed(color, background, part);
      }
    }
    const side = Math.ceil(this.radius) + 1;
    const left = Math.max(0, Math.floor(width / 2) - side);
    const top = Math.max(0, Math.floor(height / 2) - side);
    if (isNew) this.context.putImageData(this.image!, 0, 0);
    else this.context.putImageData(this.image!, 0, 0, left, top, 2 * side + 1, 2 * side + 1);
  }

  private turn(column: number): number {
    return (column / this.columns) * FULL - FULL / 4;
  }

  /** Inner radius of the ring that is `ring` beside the centre. */
  private inner(ring: number, sight: Sight): number {
    return this.centreRadius() + this.ringWidth(sight) * (ring - 1);
  }

  /** Lines between neighbours that are wide enough to be told apart. */
  private drawBorders(runs: Run[][], sight: Sight, look: RingsLook): void {
    const { context } = this;
    const { width, height } = this.image!;
    context.save();
    context.translate(width / 2, height / 2);
    context.beginPath();
    for (let ring = 1; ring <= sight.depth; ring++) {
      const inner = this.inner(ring, sight);
      const outer = inner + this.ringWidth(sight);
      for (const { left, right } of runs[ring] ?? []) {
        const isWhole = right - left >= this.columns;
        if (isWhole || ((right - left) / this.columns) * FULL * inner < 4 * this.scale) continue;
        for (const turn of [this.turn(left), this.turn(right)]) {
          context.moveTo(Math.cos(turn) * inner, Math.sin(turn) * inner);
          context.lineTo(Math.cos(turn) * outer, Math.sin(turn) * outer);
        }
      }
    }
    context.lineWidth = this.scale;
    context.strokeStyle = pixelCss(look.background);
    context.stroke();
    context.restore();
  }

  /** Names along the arcs that have room for them. */
  private drawNames(runs: Run[][], layout: Layout, sight: Sight, look: RingsLook): void {
    const { context } = this;
    const ringWidth = this.ringWidth(sight);
    const size = Math.round(Math.min(12 * this.scale, ringWidth * 0.6));
    if (size < 8 * this.scale) return;
    context.save();
    context.font = `${size}px ${look.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const letter = context.measureText("m").width;
    for (let ring = 1; ring <= sight.depth; ring++) {
      const middle = this.inner(ring, sight) + ringWidth / 2;
      for (const { rectangle, left, right } of runs[ring] ?? []) {
        const room = ((right - left) / this.columns) * FULL * middle - 8 * this.scale;
        const letters = Math.floor(room / letter);
        if (letters < 3 || layout.size[rectangle] < look.least) continue;
        const name = look.label(rectangle);
        context.fillStyle = look.textColor(look.color(rectangle));
        const text = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
        this.writeAlong([...text], this.turn((left + right) / 2), middle, letter);
      }
    }
    context.restore();
  }

  /** In pieces that are short enough to be straight; in the lower half against the clock, so that nothing stands on its
   *  head. The browser keeps letters by their angle: of few angles it draws few. */
  private writeAlong(letters: string[], turn: number, radius: number, letter: number): void {
    const { context } = this;
    const { width, height } = this.image!;
    const isBelow = Math.sin(turn) > 0;
    const step = ((isBelow ? -1 : 1) * letter) / radius;
    const straight = Math.max(1, Math.floor(Math.sqrt(8 * SAGGING * this.scale * radius) / letter));
    const size = Math.ceil(letters.length / Math.ceil(letters.length / straight));
    for (let first = 0; first < letters.length; first += size) {
      const piece = letters.slice(first, first + size);
      const at = turn + (first + (piece.length - letters.length) / 2) * step;
      const up = ANGLE * Math.round((at + (isBelow ? -FULL / 4 : FULL / 4)) / ANGLE);
      const [right, down] = [Math.cos(up), Math.sin(up)];
      context.setTransform(right, down, -down, right, width / 2 + Math.cos(at) * radius, height / 2 + Math.sin(at) * radius);
      context.fillText(piece.join(""), 0, 0);
    }
  }

  /** Lines in the centre, the first of them larger. */
  writeCentre(lines: string[], look: RingsLook, color: string): void {
    const { context, scale } = this;
    const room = this.centreRadius() * 1.75;
    context.fillStyle = color;
    context.textAlign = "center";
    context.textBaseline = "middle";
    lines.forEach((line, index) => {
      const size = Math.min(12 * scale, room / 6);
      context.font = `${index ? "" : "600 "}${size}px ${look.font}`;
      const letters = Math.max(3, Math.floor(room / context.measureText("m").width));
      const text = line.length > letters ? `${line.slice(0, letters - 1)}…` : line;
      const y = this.image!.height / 2 + (index - (lines.length - 1) / 2) * 17 * scale;
      context.fillText(text, this.image!.width / 2, y);
    });
  }

  /** The rectangle at a place of the canvas (CSS pixels): -1 = none, -2 = the centre. */
  at(layout: Layout, sight: Sight, x: number, y: number): number {
    if (!this.image) return -1;
    const right = x * this.scale - this.image.width / 2;
    const down = y * this.scale - this.image.height / 2;
    const distance = Math.hypot(right, down);
    const level = Math.floor(this.levelAt(distance, sight));
    if (level <= sight.level) return -2;
    if (distance > this.radius || level > sight.level + sight.depth || level + 1 >= layout.level.length) return -1;
    const turned = Math.atan2(right, -down) / FULL;
    const part = turned < 0 ? turned + 1 : turned;
    const size = sight.to - sight.from;
    return rectangleAt(layout, level, sight.from + part * size, size / this.columns);
  }
}
