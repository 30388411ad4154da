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

/** The letters of one size, for pixel buffers of one width. */
export class Glyphs {
  /** Pixels from one letter to the next. */
  readonly advance: number;
  /** Pixels that letters may cover above and below the middle of their line. */
  readonly reach: number;
  /** The covered pixels of all letters: place from the letter's own, and how much of it. */
  private readonly offset: Int32Array;
  private readonly cover: Uint8Array;
  /** Where those of a letter begin; of the last one, where they end. */
  private readonly begin = new Uint32Array(PHASES * COUNT + 1);

  constructor(size: number, font: string, width: number) {
    const canvas = new OffscreenCanvas(1, 1);
    const context = canvas.getContext("2d", { willReadFrequently: true })!;
    context.font = `${size}px ${font}`;
    this.advance = context.measureText("m").width;
    this.reach = Math.ceil(size * 0.75);
    const cell = Math.ceil(this.advance) + 3;
    canvas.width = cell * COUNT;
    canvas.height = 2 * this.reach * PHASES;
    context.font = `${size}px ${font}`;
    context.textBaseline = "middle";
    for (let phase = 0; phase < PHASES; phase++)
      for (let letter = 0; letter < COUNT; letter++) {
        const text = letter === COUNT - 1 ? ELLIPSIS : String.fromCharCode(FIRST + letter);
        context.fillText(text, letter * cell + 1 + phase / PHASES, this.reach * (2 * phase + 1));
      }
    [this.offset, this.cover] = this.collect(context.getImageData(0, 0, canvas.width, canvas.height), cell, width);
  }

  private collect({ data, width: stride }: ImageData, cell: number, width: number): [Int32Array, Uint8Array] {
    const offset: number[] = [];
    const cover: number[] = [];
    for (let glyph = 0; glyph < PHASES * COUNT; glyph++) {
      const left = (glyph % COUNT) * cell;
      const top = Math.floor(glyph / COUNT) * 2 * this.reach;
      this.begin[glyph] = offset.length;
      for (let y = 0; y < 2 * this.reach; y++)
        for (let x = 0; x < cell; x++) {
          const step = Math.round((data[4 * ((top + y) * stride + left + x) + 3] * (STEPS - 1)) / 255);
          if (!step) continue;
          offset.push((y - this.reach) * width + x - 1);
          cover.push(step);
        }
    }
    this.begin[PHASES * COUNT] = offset.length;
    return [Int32Array.from(offset), Uint8Array.from(cover)];
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
