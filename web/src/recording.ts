// A recording as the views see it: its summary and the names of its functions.

import type { Amount, Answer, Share } from "./answer";
import { css, frameColor, pixel } from "./colors";
import type { Engine } from "./engine";

export interface Finding {
  topic: string;
  code: number;
  share: number;
  text: string;
}

export interface Process {
  id: number;
  pid: number;
  parent: number;
  host: string;
  command: string;
  python: string;
  start_ns: number;
  end_ns: number;
  rank?: number;
}

export interface Thread {
  id: number;
  process: number;
  tid: number;
  name: string;
  start_ns: number;
  end_ns: number;
  /** It has entered regions; it has set marks. */
  regions: boolean;
  marks: boolean;
}

/** Something measured over time: a level, or a sum that only grows. */
export interface Counter {
  id: number;
  name: string;
  unit: string;
  /** 0 = of none. */
  process: number;
  kind: number;
}

/** Of a sum: how fast it grew. */
export interface Figures {
  points: number;
  first: Amount;
  last: Amount;
  least: Amount;
  most: Amount;
  mean: Amount;
  most_ns: number;
}

export interface Summary {
  name: string;
  /** It has samples. */
  sampled: boolean;
  flat: boolean;
  overhead_ns: Amount; // 0 = not known
  overhead_share: Share;
  /** Lines were timed; nothing else was. */
  lined: boolean;
  only_lines: boolean;
  /** Counters over time, and nothing of functions. */
  only_counters: boolean;
  /** What it holds of functions has times: a range of time shows a part of it. */
  timed: boolean;
  /** It knows of memory; by what it can be shown, and is if nothing is chosen (measure.ts). */
  memory: boolean;
  measures: string[];
  measure: string;
  /** It is still being made. */
  live: boolean;
  /** Of one that comes from elsewhere: why there is no more of it, in words. */
  state: string;
  begin_ns: number;
  end_ns: number;
  /** How long the run took; 0 = not known. */
  duration_ns: Amount;
  meta: Record<string, string>;
  processes: Process[];
  threads: Thread[];
  /** Names of regions by their numbers; the first is none. */
  regions: string[];
  counters: (Counter & Figures)[];
  /** All counters of a name added up. */
  counter_totals: (Counter & Figures)[];
  /** Ids of those that have colours of their own, the busiest first. */
  busiest_threads: number[];
  notes: { kind: number; count: number; process: number; text: string }[];
  damage: { damaged_chunks: number; orphaned_rows: number; truncated: boolean; complete: boolean };
  findings: Finding[];
}

export function hasRanks({ summary }: Recording): boolean {
  return summary.processes.some(({ rank }) => rank !== undefined);
}

/** As the program calls it, and the system's number. */
export function threadName(thread: Thread | undefined): string {
  return thread ? `${thread.name || "thread"} ${thread.tid}` : "";
}

export const CODE_KINDS = ["", "Python", "C", "native", ""];

/** Functions by id. */
export class Codes {
  readonly count: number;
  readonly name: (code: number) => string;
  /** Bytes of its name: as many as letters, or more. */
  readonly nameSize: (code: number) => number;
  readonly file: (code: number) => string;
  readonly module: (code: number) => string;
  readonly line: Uint32Array;
  readonly fileId: Uint32Array;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
  private readonly pixels: [Uint32Array, Uint32Array];

  constructor(answer: Answer) {
    this.line = answer.numbers("line");
    this.fileId = answer.numbers("file_id");
    this.kind = answer.small("kind");
    this.flags = answer.small("flags");
    this.name = answer.texts("name");
    this.nameSize = answer.textSizes("name");
    this.file = answer.texts("file");
    this.module = answer.texts("module");
    this.count = this.line.length;
    this.pixels = [new Uint32Array(this.count), new Uint32Array(this.count)];
  }

  private color(code: number, dark: boolean): [number, number, number] {
    return frameColor(this.module(code) || this.file(code), this.kind[code], this.flags[code], dark);
  }

  pixel(code: number, dark: boolean): number {
    const known = this.pixels[dark ? 1 : 0];
    return known[code] || (known[code] = pixel(this.color(code, dark)));
  }

  css(code: number, dark: boolean): string {
    return css(this.color(code, dark));
  }

  /** "file.py:12", or "" for what lies in no file. The line is that of the function, if no other is given. */
  place(code: number, line = 0): string {
    const file = this.file(code);
    const shown = line || this.line[code];
    if (!file || file === "~") return "";
    return shown ? `${file}:${shown}` : file;
  }
}

export interface Recording {
  number: number;
  summary: Summary;
  codes: Codes;
}

export async function loadRecording(engine: Engine, number: number): Promise<Recording> {
  const [summary, codes] = await Promise.all([
    engine.ask({ ask: "summary", recording: number }),
    engine.ask({ ask: "codes", recording: number }),
  ]);
  return { number, summary: summary.values as Summary, codes: new Codes(codes) };
}
