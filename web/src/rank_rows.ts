// What the core tells about functions over ranks, as the Ranks view asks for it.

import type { Amount, Amounts, Answer, Share, Shares } from "./answer";

export interface Spread {
  mean: Amount;
  min: Amount;
  max: Amount;
  std: Amount;
  min_rank: number;
  max_rank: number;
  imbalance_share: Share;
  present: number;
}

export interface RankList {
  rank: Uint32Array;
  host: (place: number) => string;
  wall: Amounts;
  amount: Amounts;
  mpi: Amounts;
  mpiShare: Shares;
  problems: Uint32Array;
  expected: number;
  efficiency?: { parallel: Share | null; load_balance: Share; communication: Share | null; wall_ns: Amount; mpi_is_measured: boolean };
}

export function decodeRanks(answer: Answer): RankList {
  return {
    rank: answer.numbers("rank"),
    host: answer.texts("host"),
    wall: answer.amounts("wall_ns"),
    amount: answer.amounts("amount"),
    mpi: answer.amounts("mpi"),
    mpiShare: answer.shares("mpi_share"),
    problems: answer.numbers("problems"),
    expected: answer.values.expected,
    efficiency: answer.values.efficiency,
  };
}

/** So many functions from the first on, each with a cell for every column of ranks. */
export interface FunctionPage {
  all: number;
  first: number;
  columns: number;
  columnFirst: Uint32Array;
  code: Uint32Array;
  present: Uint32Array;
  mean: Amounts;
  max: Amounts;
  maxRank: Uint32Array;
  min: Amounts;
  minRank: Uint32Array;
  std: Amounts;
  imbalance: Shares;
  cells: Amounts;
  cellMost: Amounts;
}

export function decodePage(answer: Answer): FunctionPage {
  return {
    all: answer.values.all,
    first: answer.values.first,
    columns: answer.values.columns,
    columnFirst: answer.numbers("column_first"),
    code: answer.numbers("code"),
    present: answer.numbers("present"),
    mean: answer.amounts("mean"),
    max: answer.amounts("max"),
    maxRank: answer.numbers("max_rank"),
    min: answer.amounts("min"),
    minRank: answer.numbers("min_rank"),
    std: answer.amounts("std"),
    imbalance: answer.shares("imbalance_share"),
    cells: answer.amounts("cell_mean"),
    cellMost: answer.amounts("cell_max"),
  };
}

export interface Bars {
  columns: number;
  code: Uint32Array;
  cells: Amounts;
  mean: Amounts;
  std: Amounts;
  min: Amounts;
  max: Amounts;
  whole: Spread;
}

export function decodeBars(answer: Answer): Bars {
  return {
    columns: answer.values.columns,
    code: answer.numbers("code"),
    cells: answer.amounts("cell_mean"),
    mean: answer.amounts("mean"),
    std: answer.amounts("std"),
    min: answer.amounts("min"),
    max: answer.amounts("max"),
    whole: answer.values.whole,
  };
}

/** One function on every rank. */
export interface Across {
  rank: Uint32Array;
  total: Amounts;
  self: Amounts;
  share: Shares;
  calls: Float64Array;
  samples: Float64Array;
  histogram: Uint32Array;
  spread: Spread;
}

export function decodeAcross(answer: Answer): Across {
  return {
    rank: answer.numbers("rank"),
    total: answer.amounts("total"),
    self: answer.amounts("self"),
    share: answer.shares("share"),
    calls: answer.reals("calls"),
    samples: answer.reals("samples"),
    histogram: answer.numbers("histogram"),
    spread: answer.values as unknown as Spread,
  };
}
