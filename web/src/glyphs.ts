// Letters of a monospaced font that are written straight into a buffer of pixels: the browser draws each of them once, and
// what a letter covers is kept. A thousand names a frame then cost a few milliseconds, and no call of the canvas.

import { textOn } from "./colors";

const FIRST = 0x20;
const LAST = 0x7e;
const ELLIPSIS = "…";
/** Letters: those of ASCII, and the one that stands for the rest of a name. */
const COUNT = LAST - FIRST + 2;
/** Names are not set on whole pixels: each letter is known at so many places between two of them. */
const PHASES = 4;
/** Steps between nothing and full cover. */
const STEPS = 16;

/** Colours from that below a letter to that of the letter. */
function makeRamp(below: number): Uint32Array {
  const ink = textOn(below);
  return Uint32Array.from({ length: STEPS }, (_, step) => {
    const part = step / (STEPS - 1);
    const channel = (index: number) => {
      const from = (below >>> (8 * index)) & 0xff;
      return Math.round(from + (ink[index] - from) * part);
    };
    return ((255 << 24) | (channel(2) << 16) | (channel(1) << 8) | channel(0)) >>> 0;
  });
}

const ramps = new Map<number, Uint32Array>();
const RAMPS_KEPT = 20_000;

function rampOn(below: number): Uint32Array {
  let ramp = ramps.get(below);
  if (ramp) return ramp;
  if (ramps.size > RAMPS_KEPT) ramps.clear();
  ramps.set(below, (ramp = makeRamp(below)));
  return ramp;
}

/** The letters of one size: the pixels that they cover, one letter after the other. */
interface Shapes {
  /** Pixels from one letter to the next. */
  advance: number;
  /** Pixels that letters may cover above and below the middle of their line. */
  reach: number;
  /** Places from the letter's own, and how much of them is covered. */
  across: Int8Array;
  down: Int8Array;
  cover: Uint8Array;
  /** Where those of a letter begin; of the last one, where they end. */
  begin: Uint32Array;
}

function drawLetters(size: number, font: string): { context: OffscreenCanvasRenderingContext2D; advance: number; reach: number; cell: number } {
  const canvas = new OffscreenCanvas(1, 1);
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.font = `${size}px ${font}`;
  const advance = context.measureText("m").width;
  const reach = Math.ceil(size * 0.75);
  const cell = Math.ceil(advance) + 3;
  canvas.width = cell * COUNT;
  canvas.height = 2 * reach * PHASES;
  context.font = `${size}px ${font}`;
  context.textBaseline = "middle";
  for (let phase = 0; phase < PHASES; phase++)
    for (let letter = 0; letter < COUNT; letter++) {
      const text = letter === COUNT - 1 ? ELLIPSIS : String.fromCharCode(FIRST + letter);
      context.fillText(text, letter * cell + 1 + phase / PHASES, reach * (2 * phase + 1));
    }
  return { context, advance, reach, cell };
}

function makeShapes(size: number, font: string): Shapes {
  const { context, advance, reach, cell } = drawLetters(size, font);
  const { data, width: stride } = context.getImageData(0, 0, context.canvas.width, context.canvas.height);
  const [across, down, cover]: number[][] = [[], [], []];
  const begin = new Uint32Array(PHASES * COUNT + 1);
  for (let glyph = 0; glyph < PHASES * COUNT; glyph++) {
    const left = (glyph % COUNT) * cell;
    const top = Math.floor(glyph / COUNT) * 2 * reach;
    begin[glyph] = cover.length;
    for (let y = 0; y < 2 * reach; y++)
      for (let x = 0; x < cell; x++) {
        const step = Math.round((data[4 * ((top + y) * stride + left + x) + 3] * (STEPS - 1)) / 255);
        if (!step) continue;
        across.push(x - 1);
        down.push(y - reach);
        cover.push(step);
      }
  }
  begin[PHASES * COUNT] = cover.length;
  return { advance, reach, begin, across: Int8Array.from(across), down: Int8Array.from(down), cover: Uint8Array.from(cover) };
}

const shapes = new Map<string, Shapes>();

function shapesOf(size: number, font: string): Shapes {
  const key = `${size} ${font}`;
  let made = shapes.get(key);
  if (!made) shapes.set(key, (made = makeShapes(size, font)));
  return made;
}

/** The size of letters in a row, in the same pixels. */
export function letterSize(row: number, scale: number): number {
  return Math.round(Math.min(row * 0.62, 13 * scale));
}

/** Makes the letters of rows of this height (CSS pixels) before they are needed: it takes some milliseconds. */
export function prepareLetters(rowHeight: number, font: string): void {
  const scale = devicePixelRatio || 1;
  shapesOf(letterSize(Math.round(rowHeight * scale), scale), font);
}

/** The letters of one size, for pixel buffers of one width. */
export class Glyphs {
  readonly advance: number;
  readonly reach: number;
  /** Of all covered pixels: place from the letter's own, in the buffer. */
  private readonly offset: Int32Array;
  private readonly cover: Uint8Array;
  private readonly begin: Uint32Array;

  constructor(size: number, font: string, width: number) {
    const { advance, reach, across, down, cover, begin } = shapesOf(size, font);
    [this.advance, this.reach, this.cover, this.begin] = [advance, reach, cover, begin];
    this.offset = Int32Array.from(across, (x, index) => down[index] * width + x);
  }

  /** Writes the text, or as much of it as there are `letters`; `middle` is the pixel at its left and half its height.
   *  False when it has letters that are not known here, and nothing was written. */
  write(pixels: Uint32Array, middle: number, text: string, letters: number, below: number): boolean {
    const count = Math.min(text.length, letters);
    for (let i = 0; i < count; i++) {
      const letter = text.charCodeAt(i);
      if (letter < FIRST || letter > LAST) return false;
    }
    const ramp = rampOn(below);
    const { offset, cover, begin, advance } = this;
    for (let i = 0; i < count; i++) {
      const isRest = i === letters - 1 && text.length > letters;
      const at = Math.round(i * advance * PHASES);
      const glyph = (at % PHASES) * COUNT + (isRest ? COUNT - 1 : text.charCodeAt(i) - FIRST);
      const place = middle + Math.floor(at / PHASES);
      for (let k = begin[glyph]; k < begin[glyph + 1]; k++) pixels[place + offset[k]] = ramp[cover[k]];
    }
    return true;
  }
}
