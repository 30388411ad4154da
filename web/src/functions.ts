// The table of functions of the current selection, shared by the views that show it.

import { computed, effect, signal } from "@preact/signals";

import type { Answer } from "./answer";
import { ask, matches, problem, recording, selected, selection } from "./state";

export interface Functions {
  /** The recording that they are of. */
  recording: number;
  code: Uint32Array;
  calls: Float64Array;
  primitiveCalls: Float64Array;
  samples: Float64Array;
  totalSamples: Float64Array;
  self: Float64Array;
  total: Float64Array;
  edges: {
    caller: Uint32Array;
    callee: Uint32Array;
    calls: Float64Array;
    samples: Float64Array;
    total: Float64Array;
  };
  /** The sum of all `self`, in the unit of the measure. */
  whole: number;
  totalCalls: number;
  sampled: boolean;
}

function decode(answer: Answer, recording: number): Functions {
  return {
    recording,
    code: answer.numbers("code"),
    calls: answer.reals("calls"),
    primitiveCalls: answer.reals("primitive_calls"),
    samples: answer.reals("samples"),
    totalSamples: answer.reals("total_samples"),
    self: answer.reals("self"),
    total: answer.reals("total"),
    edges: {
      caller: answer.numbers("edge_caller"),
      callee: answer.numbers("edge_callee"),
      calls: answer.reals("edge_calls"),
      samples: answer.reals("edge_samples"),
      total: answer.reals("edge_total"),
    },
    whole: answer.values.total,
    totalCalls: answer.values.total_calls,
    sampled: answer.values.sampled,
  };
}

export const functions = signal<Functions | null>(null);

/** Answers may come out of order; the last question counts. */
let asked = 0;

effect(() => {
  const shown = recording.value;
  const chosen = selection.value;
  if (!shown) return;
  const own = ++asked;
  ask({ ask: "functions", recording: shown.number, ...chosen }).then(
    (answer) => own === asked && (functions.value = decode(answer, shown.number)),
    (error: Error) => (problem.value = error.message),
  );
});

export interface Neighbour {
  code: number;
  total: number;
  calls: number;
}

function neighbours(table: Functions, here: Uint32Array, there: Uint32Array, code: number): Neighbour[] {
  const found: Neighbour[] = [];
  const { total, samples, calls } = table.edges;
  for (let i = 0; i < here.length; i++)
    if (here[i] === code)
      found.push({ code: there[i], total: total[i], calls: table.sampled ? samples[i] : calls[i] });
  return found.sort((a, b) => b.total - a.total);
}

export function callersOf(table: Functions, code: number): Neighbour[] {
  return neighbours(table, table.edges.callee, table.edges.caller, code);
}

export function calleesOf(table: Functions, code: number): Neighbour[] {
  return neighbours(table, table.edges.caller, table.edges.callee, code);
}

/** Rows of functions by their ids; ids are small, so this is an array. */
export class RowsByCode {
  private readonly rows: Int32Array;

  constructor(codes: Uint32Array) {
    // Codes stand in rising order.
    this.rows = new Int32Array((codes[codes.length - 1] ?? 0) + 1).fill(-1);
    for (let row = 0; row < codes.length; row++) this.rows[codes[row]] = row;
  }

  has(code: number): boolean {
    return this.rows[code] >= 0;
  }

  get(code: number): number | undefined {
    return this.has(code) ? this.rows[code] : undefined;
  }
}

/** Row of a function in the table, by its id. */
export const rowOf = computed(() => new RowsByCode(functions.value?.code ?? new Uint32Array(0)));

/** Selects the next function that the search names, from the one with the most time on; backwards with -1. */
export function selectMatch(by: 1 | -1): void {
  const table = functions.value;
  const found = matches.value;
  if (!table || !found) return;
  const total = (code: number) => table.total[rowOf.value.get(code)!];
  const order = Array.from(table.code).filter((code) => found.has(code)).sort((a, b) => total(b) - total(a) || a - b);
  const at = order.indexOf(selected.value);
  if (order.length) selected.value = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length];
}
