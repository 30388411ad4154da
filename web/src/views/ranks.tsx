// The ranks of a run beside each other: which functions take how much on which of them, and what they do with one another.

import { signal } from "@preact/signals";
import type { JSX } from "preact";

import { useAnswer } from "../asking";
import { count, perCent, time } from "../numbers";
import { Across } from "../rank_across";
import { Bars } from "../rank_bars";
import { Heat } from "../rank_heat";
import { decodeRanks, type RankList } from "../rank_rows";
import { Communication } from "../rank_traffic";
import { keepChoice, recording as shownRecording, selection } from "../state";
import { Tip } from "../tip";
import type { ViewProps } from "../views";

const MODES = [
  { name: "heat", title: "Functions × ranks", hint: "↑ ↓ or click a name: select it · click a cell: only that rank in all views · Esc: all ranks" },
  { name: "bars", title: "Bars", hint: "click a part: select its function · click a rank: only it in all views · Esc: all ranks" },
  { name: "across", title: "One function", hint: "click a rank: only it in all views · Esc: all ranks" },
  { name: "traffic", title: "Communication", hint: "" },
];
const ORDERS = [
  { name: "mean", title: "mean" },
  { name: "max", title: "most of one rank" },
  { name: "imbalance-time", title: "imbalance (time)" },
  { name: "imbalance", title: "imbalance (%)" },
  { name: "std", title: "deviation" },
  { name: "present", title: "present on" },
];
const mode = signal("heat");
const order = signal("mean");
const bySelf = signal(false);
const isGlobal = signal(false);
keepChoice("ranks-as", mode, MODES.map(({ name }) => name));
keepChoice("ranks-order", order, ORDERS.map(({ name }) => name));
keepChoice("ranks-self", bySelf, [false, true]);
keepChoice("ranks-scale", isGlobal, [false, true]);

/** The selected function on each rank, when the view is shown next. */
export function showOneFunction(): void {
  mode.value = "across";
}

function headline(ranks: RankList): string {
  const parts = [`${count(ranks.rank.length)}${ranks.expected > ranks.rank.length ? ` of ${count(ranks.expected)}` : ""} ranks`];
  const { efficiency } = ranks;
  const bad = [...ranks.problems].filter(Boolean).length;
  if (efficiency) parts.push(`${time(efficiency.wall_ns)} from start to end`);
  if (efficiency) parts.push(`load balance ${perCent(efficiency.load_balance)}`);
  if (efficiency?.communication != null) parts.push(`communication ${perCent(efficiency.communication)}`);
  if (efficiency?.parallel != null) parts.push(`parallel efficiency ${perCent(efficiency.parallel)}`);
  if (bad) parts.push(`${count(bad)} with losses`);
  return parts.join(" · ");
}

function Choices(): JSX.Element {
  return (
    <div class="choices">
      <span role="group" aria-label="picture">
        {MODES.map(({ name, title }) => (
          <button type="button" class="framed" aria-pressed={mode.value === name} onClick={() => (mode.value = name)}>
            {title}
          </button>
        ))}
      </span>
      {mode.value === "heat" && (
        <label>
          order{" "}
          <select value={order.value} onChange={(event) => (order.value = event.currentTarget.value)}>
            {ORDERS.map(({ name, title }) => (
              <option value={name}>{title}</option>
            ))}
          </select>
        </label>
      )}
      {(mode.value === "heat" || mode.value === "across") && (
        <label title="without what the function calls">
          <input type="checkbox" checked={bySelf.value} onChange={(event) => (bySelf.value = event.currentTarget.checked)} /> itself only
        </label>
      )}
      {mode.value === "heat" && (
        <label title="colours compare all functions with each other, not each with its own most">
          <input type="checkbox" checked={isGlobal.value} onChange={(event) => (isGlobal.value = event.currentTarget.checked)} /> one scale
        </label>
      )}
    </div>
  );
}

export function Ranks({ recording }: ViewProps): JSX.Element | null {
  const current = shownRecording.value ?? recording;
  const ranks = useAnswer({ ask: "ranks", recording: current.number, ...selection.value }, decodeRanks, [current]);
  const hint = MODES.find(({ name }) => name === mode.value)?.hint;
  if (!ranks) return null;
  if (!ranks.rank.length)
    return <p class="hint empty">No process of this recording is a rank of a parallel run. mpirun -n 4 sonde record x.py makes one file for each rank; sonde view of their folder shows them beside each other.</p>;
  return (
    <div class="flame ranks">
      <Choices />
      <p class="spread">{headline(ranks)}</p>
      {mode.value === "heat" && <Heat recording={current} ranks={ranks} order={order.value} onOrder={(name) => (order.value = name)} bySelf={bySelf.value} isGlobal={isGlobal.value} />}
      {mode.value === "bars" && <Bars recording={current} ranks={ranks} />}
      {mode.value === "across" && <Across recording={current} bySelf={bySelf.value} rankCount={ranks.rank.length} />}
      {mode.value === "traffic" && <Communication recording={current} ranks={ranks} />}
      {hint && <p class="status">{hint}</p>}
      <Tip />
    </div>
  );
}
