// Source text line by line, in coloured pieces once they are known. A line is cut into them when it is drawn.

import { startWorker } from "./engine";

/** A piece of a line; `kind` is highlight.js's class, "" = plain. */
export interface Piece {
  kind: string;
  text: string;
}

/** Where the pieces of a text end, and which of `kinds` each is. */
export interface Colours {
  kinds: string[];
  ends: Uint32Array;
  kind: Uint8Array;
}

/** The first piece that ends behind the place. */
function pieceAt({ ends }: Colours, place: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ends[middle] <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class SourceText {
  private readonly lines: string[];
  private readonly begins: Uint32Array;

  constructor(
    readonly text: string,
    readonly colours: Colours | null = null,
  ) {
    this.lines = text.split("\n");
    this.begins = new Uint32Array(this.lines.length);
    for (let i = 1; i < this.lines.length; i++) this.begins[i] = this.begins[i - 1] + this.lines[i - 1].length + 1;
  }

  get length(): number {
    return this.lines.length;
  }

  /** From 1 on; "" for one that is not there. */
  line(number: number): string {
    return this.lines[number - 1] ?? "";
  }

  pieces(number: number): Piece[] {
    const text = this.line(number);
    if (!this.colours) return [{ kind: "", text }];
    const { kinds, ends, kind } = this.colours;
    const begin = this.begins[number - 1];
    const pieces: Piece[] = [];
    for (let at = 0, piece = pieceAt(this.colours, begin); at < text.length; piece++) {
      const end = piece < ends.length ? Math.min(text.length, ends[piece] - begin) : text.length;
      pieces.push({ kind: kinds[kind[piece] ?? 0], text: text.slice(at, end) });
      at = end;
    }
    return pieces;
  }
}

/** Nobody reads larger ones, and their colours would take memory. */
const LARGEST = 4_000_000;

function languageOf(path: string): string {
  if (/\.(py|pyw|pyi|pyx|pxd)$/i.test(path)) return "python";
  return /\.(c|cc|cpp|cxx|h|hh|hpp|cu|cuh)$/i.test(path) ? "cpp" : "";
}

let worker: Promise<Worker> | undefined;
let count = 0;

/** The text with its colours; null when it has none. */
export async function coloured(path: string, text: string): Promise<SourceText | null> {
  const language = languageOf(path);
  if (!language || text.length > LARGEST) return null;
  const made = await (worker ??= startWorker("highlight"));
  const id = ++count;
  return new Promise((done) => {
    const receive = ({ data }: MessageEvent<{ id: number; colours: Colours }>) => {
      if (data.id !== id) return;
      made.removeEventListener("message", receive);
      done(new SourceText(text, data.colours));
    };
    made.addEventListener("message", receive);
    made.postMessage({ id, language, text });
  });
}
