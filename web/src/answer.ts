// What the C core answers: a few values and named arrays in one block of bytes (src/query/answer.h).

const MAGIC = 0x31415153;

declare const measured: unique symbol;

/** Something that was measured: nanoseconds, bytes, blocks, calls. Only an answer has them, and whatever writes such a
 *  figure takes nothing else: a sum or a quotient that the page computed is a plain number, and not accepted there. */
export type Amount = number & { readonly [measured]: "amount" };
/** A part of a whole, from 0 to 1; NaN where there is no whole. */
export type Share = number & { readonly [measured]: "share" };
export interface Amounts extends Float64Array {
  [index: number]: Amount;
  [Symbol.iterator](): ArrayIterator<Amount>;
}
export interface Shares extends Float64Array {
  [index: number]: Share;
  [Symbol.iterator](): ArrayIterator<Share>;
}

/** Nothing yet, to be filled with what answers have. */
export const noAmounts = (size = 0): Amounts => new Float64Array(size) as Amounts;
export const noShares = (size = 0): Shares => new Float64Array(size) as Shares;

/** A number that the recording has as text. */
export const amountIn = (text: string | undefined): Amount => Number(text) as Amount;

/** The values of some of the rows, in that order. */
export const pickAmounts = (values: Amounts, rows: Uint32Array): Amounts => Float64Array.from(rows, (row) => values[row]) as Amounts;
export const pickShares = (values: Shares, rows: Uint32Array): Shares => Float64Array.from(rows, (row) => values[row]) as Shares;

type ArrayPlace = [type: "u8" | "u32" | "f64", offset: number, count: number];

export class Answer {
  readonly values: Record<string, any>;
  private readonly places: Record<string, ArrayPlace>;
  private readonly base: number;

  /** The bytes must be the answer's own: the arrays are views of them. */
  constructor(private readonly bytes: ArrayBuffer) {
    const words = new DataView(bytes);
    if (bytes.byteLength < 8 || words.getUint32(0, true) !== MAGIC) throw new Error("not an answer of sonde");
    const headBytes = words.getUint32(4, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, headBytes)));
    if (head.error !== undefined) throw new Error(head.error);
    this.values = head.values;
    this.places = head.arrays;
    this.base = 8 + headBytes;
  }

  has(name: string): boolean {
    return name in this.places;
  }

  private place(name: string, type: string): ArrayPlace {
    const place = this.places[name];
    if (!place || place[0] !== type) throw new Error(`the answer has no array ${name} of ${type}`);
    return place;
  }

  /** Places on an axis, heights of a picture. */
  reals(name: string): Float64Array {
    const [, offset, count] = this.place(name, "f64");
    return new Float64Array(this.bytes, this.base + offset, count);
  }

  amounts(name: string): Amounts {
    return this.reals(name) as Amounts;
  }

  /** An array that is two of the same length, one after the other. */
  halves(name: string): [Amounts, Amounts] {
    const both = this.reals(name);
    return [both.subarray(0, both.length / 2) as Amounts, both.subarray(both.length / 2) as Amounts];
  }

  shares(name: string): Shares {
    return this.reals(name) as Shares;
  }

  /** One of the values. */
  share(name: string): Share {
    return (this.values[name] ?? NaN) as Share;
  }

  numbers(name: string): Uint32Array {
    const [, offset, count] = this.place(name, "u32");
    return new Uint32Array(this.bytes, this.base + offset, count);
  }

  small(name: string): Uint8Array {
    const [, offset, count] = this.place(name, "u8");
    return new Uint8Array(this.bytes, this.base + offset, count);
  }

  /** Texts are decoded when asked for: there may be a hundred thousand. Where all are ASCII, they are parts of one. */
  texts(name: string): (index: number) => string {
    const bytes = this.small(name);
    const at = this.numbers(`${name}_at`);
    const decoder = new TextDecoder();
    const known: (string | undefined)[] = [];
    let all: string | undefined;
    return (index) => {
      all ??= decoder.decode(bytes);
      if (all.length === bytes.length) return all.slice(at[index], at[index + 1]);
      return (known[index] ??= decoder.decode(bytes.subarray(at[index], at[index + 1])));
    };
  }

  /** Bytes of each text; without decoding any. */
  textSizes(name: string): (index: number) => number {
    const at = this.numbers(`${name}_at`);
    return (index) => at[index + 1] - at[index];
  }
}
