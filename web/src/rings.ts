// Draws levels as rings around a centre, pixel by pixel: each pixel knows its distance and angle, each ring has its colours
// by angle. So a frame costs pixels, not rectangles, and what is thinner than a pixel is drawn with its neighbours.

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

function mixed(color: number, towards: number, part: number): number {
  let result = 0xff000000;
  for (const shift of [0, 8, 16]) {
    const from = (towards >>> shift) & 0xff;
    result |= Math.round(from + (((color >>> shift) & 0xff) - from) * part) << shift;
  }
  return result >>> 0;
}

export class Rings {
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | undefined;
  private pixels = new Uint32Array(0);
  /** Of each pixel: distance from the middle and column of the angle. */
  private distance = new Float32Array(0);
  private angle = new Uint16Array(0);
  private columns = 1;
  private scale = 1;
  private radius = 1;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  private fit(): void {
    this.scale = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * this.scale));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * this.scale));
    if (this.image?.width === width && this.image.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.radius = Math.max(8, Math.min(width, height) / 2 - 6 * this.scale);
    this.columns = Math.min(8192, Math.ceil(FULL * this.radius));
    this.measure(width, height);
  }

  private measure(width: number, height: number): void {
    this.distance = new Float32Array(width * height);
    this.angle = new Uint16Array(width * height);
    for (let y = 0, at = 0; y < height; y++) {
      const down = y + 0.5 - height / 2;
      for (let x = 0; x < width; x++, at++) {
        const right = x + 0.5 - width / 2;
        this.distance[at] = Math.sqrt(right * right + down * down);
        // From the top, with the clock.
        const turned = Math.atan2(right, -down) / FULL;
        this.angle[at] = Math.min(this.columns - 1, Math.floor((turned < 0 ? turned + 1 : turned) * this.columns));
      }
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

  draw(layout: Layout, sight: Sight, look: RingsLook): void {
    this.fit();
    const first = Math.floor(sight.level);
    const colors: Uint32Array[] = [];
    for (let level = first; level <= first + Math.ceil(sight.depth) + 2; level++)
      colors.push(this.colorsOf(layout, level, sight, look));
    this.paint(colors, first, sight, look);
    this.context.putImageData(this.image!, 0, 0);
    if (sight.level !== first) return;
    const runs: Run[][] = [];
    for (let level = first; level <= first + sight.depth && level + 1 < layout.level.length; level++)
      runs.push(runsOf(layout, level, { ...sight, top: 0 }, this.columns));
    this.drawBorders(runs, sight, look);
    this.drawNames(runs, layout, sight, look);
  }

  private colorsOf(layout: Layout, level: number, sight: Sight, look: RingsLook): Uint32Array {
    const colors = new Uint32Array(this.columns).fill(look.background);
    if (level + 1 >= layout.level.length) return colors;
    visitRuns(layout, level, { ...sight, top: 0 }, this.columns, (rectangle, left, right) => {
      colors.fill(layout.size[rectangle] < look.least ? look.rest : look.color(rectangle), left, right);
    });
    return colors;
  }

  private paint(colors: Uint32Array[], first: number, sight: Sight, look: RingsLook): void {
    const { pixels, distance, angle, radius } = this;
    const width = this.ringWidth(sight);
    const edge = radius - MORE * this.scale;
    const { background } = look;
    const last = colors[Math.ceil(sight.depth) + 1];
    for (let at = 0; at < pixels.length; at++) {
      const far = distance[at];
      if (far >= edge) {
        pixels[at] = far < radius && far >= edge + 1 && last[angle[at]] !== background ? look.more : background;
        continue;
      }
      const place = this.levelAt(far, sight);
      const level = Math.floor(place);
      const color = level === sight.level ? look.centre : colors[level - first][angle[at]];
      const inside = (place - level) * width;
      pixels[at] = inside < 1 && level > first && color !== background ? mixed(color, background, inside) : color;
    }
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

  /** Letter by letter; in the lower half against the clock, so that nothing stands on its head. */
  private writeAlong(letters: string[], turn: number, radius: number, letter: number): void {
    const { context } = this;
    const { width, height } = this.image!;
    const isBelow = Math.sin(turn) > 0;
    const step = ((isBelow ? -1 : 1) * letter) / radius;
    letters.forEach((one, index) => {
      const at = turn + (index - (letters.length - 1) / 2) * step;
      context.setTransform(1, 0, 0, 1, width / 2 + Math.cos(at) * radius, height / 2 + Math.sin(at) * radius);
      context.rotate(at + (isBelow ? -FULL / 4 : FULL / 4));
      context.fillText(one, 0, 0);
    });
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

export function pixelCss(pixel: number): string {
  return `rgb(${pixel & 0xff} ${(pixel >>> 8) & 0xff} ${(pixel >>> 16) & 0xff})`;
}
