// No figure is computed in the page: what was measured, and the shares of it, come from the core, and nothing else can be
// written as such. Nothing here runs: `npm run check` fails when one of these lines stops being a mistake.

import type { Answer } from "../src/answer";
import { counterValue } from "../src/counters";
import { amount, figure } from "../src/measure";
import { bytes, perCent, time } from "../src/numbers";

export function written(answer: Answer): string[] {
  const total = answer.amounts("total");
  const share = answer.shares("total_share");
  return [amount(total[0]), time(total[0]), bytes(total[0]), perCent(share[0]), figure(total[0], share[0])];
}

export function refused(answer: Answer): void {
  const [total, share] = [answer.amounts("total"), answer.shares("total_share")];
  // @ts-expect-error a sum
  amount(total[0] + total[1]);
  // @ts-expect-error a mean
  time(total[0] / total.length);
  // @ts-expect-error a difference
  bytes(total[1] - total[0]);
  // @ts-expect-error the larger of two
  amount(Math.max(total[0], total[1]));
  // @ts-expect-error a sum of all
  amount(total.reduce((sum, value) => sum + value, 0));
  // @ts-expect-error a share that the page divided
  perCent(total[0] / total[1]);
  // @ts-expect-error an amount is no share
  perCent(total[0]);
  // @ts-expect-error a share is no amount
  figure(share[0], share[0]);
  // @ts-expect-error a number from anywhere
  counterValue({ unit: "bytes", kind: 1 }, 12);
  // @ts-expect-error positions in a picture are no amounts
  amount(answer.reals("start")[0]);
}
