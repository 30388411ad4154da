// The table of functions of the current selection, shared by the views that show it.

import { computed, effect, signal } from "@preact/signals";

import type { Amount, Amounts, Answer, Share, Shares } from "./answer";
import { ask, matches, problem, recording, selected, selection } from "./state";

export interface Functions {
  /** The recording that they are of. */
  recording: number;
  code: Uint32Array;
  calls: Amounts;
  primitiveCalls: Amounts;
  samples: Amounts;
  totalSamples: Amounts;
  self: Amounts;
  total: Amounts;
  /** Of the whole. */
  selfShare: Shares;
  totalShare: Shares;
  perCall: Amounts;
  edges: {
    caller: Uint32Array;
    callee: Uint32Array;
    calls: Amounts;
    samples: Amounts;
    total: Amounts;
    /** Of the whole; of the total of its caller, and of its callee. */
    share: Shares;
    ofCaller: Shares;
    ofCallee: Shares;
  };
  /** The sum of all `self`, in the unit of the measure. */
  whole: Amount;
  totalCalls: number;
  sampled: boolean;
}

function decode(answer: Answer, recording: number): Functions {
  return {
    recording,
    code: answer.numbers("code"),
    calls: answer.amounts("calls"),
    primitiveCalls: answer.amounts("primitive_calls"),
    samples: answer.amounts("samples"),
    totalSamples: answer.amounts("total_samples"),
    self: answer.amounts("self"),
    total: answer.amounts("total"),
    selfShare: answer.shares("self_share"),
    totalShare: answer.shares("total_share"),
    perCall: answer.amounts("per_call"),
    edges: {
      caller: answer.numbers("edge_caller"),
      callee: answer.numbers("edge_callee"),
      calls: answer.amounts("edge_calls"),
      samples: answer.amounts("edge_samples"),
      total: answer.amounts("edge_total"),
      share: answer.shares("edge_share"),
      ofCaller: answer.shares("edge_caller_share"),
      ofCallee: answer.shares("edge_callee_share"),
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
  total: Amount;
  calls: Amount;
  /** Of the whole, and of the function's total. */
  share: Share;
  part: Share;
}

function neighbours(table: Functions, here: Uint32Array, there: Uint32Array, parts: Shares, code: number): Neighbour[] {
  const found: Neighbour[] = [];
  const { total, samples, calls, share } = table.edges;
  for (let i = 0; i < here.length; i++)
    if (here[i] === code)
      found.push({ code: there[i], total: total[i], calls: table.sampled ? samples[i] : calls[i], share: share[i], part: parts[i] });
  return found.sort((a, b) => b.total - a.total);
}

export function callersOf(table: Functions, code: number): Neighbour[] {
  return neighbours(table, table.edges.callee, table.edges.caller, table.edges.ofCallee, code);
}

export function calleesOf(table: Functions, code: number): Neighbour[] {
  return neighbours(table, table.edges.caller, table.edges.callee, table.edges.ofCaller, code);
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
