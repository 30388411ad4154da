// What ranks did with one another: messages from each to each, who waited for whom, and the time of the calls.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Amount, Answer } from "./answer";
import { useAnswer } from "./asking";
import { placeCanvas } from "./canvas_place";
import { useScrollKeys } from "./keys";
import { functionName } from "./names";
import { bytes, count, perCent, time } from "./numbers";
import type { Recording } from "./recording";
import type { RankList } from "./rank_rows";
import { heatPixel } from "./rank_strip";
import { dark, onPrinting, selected } from "./state";
import { showTip } from "./tip";

const ROWS = 50;

function decode(answer: Answer) {
  return {
    values: answer.values as { call_names: string[]; wait_names: string[]; mpi_ns: Amount; pickling_ns: Amount; waited_ns: Amount; clock_error_ns: Amount; unknown_clocks: number; unmatched: number; incomplete: number },
    mpiShare: answer.share("mpi_share"),
    waitedShare: answer.share("waited_share"),
    cells: { from: answer.numbers("cell_from"), to: answer.numbers("cell_to"), count: answer.reals("cell_count"), size: answer.amounts("cell_bytes"), share: answer.shares("cell_share") },
    calls: { call: answer.numbers("call_call"), count: answer.reals("call_count"), ns: answer.amounts("call_ns"), share: answer.shares("call_share"), most: answer.amounts("call_most_ns"), rank: answer.numbers("call_most_rank"), sent: answer.amounts("call_sent"), received: answer.amounts("call_received") },
    stacks: { call: answer.numbers("stack_call"), count: answer.reals("stack_count"), ns: answer.amounts("stack_ns"), share: answer.shares("stack_share"), code: answer.numbers("stack_code") },
    waits: { ns: answer.amounts("wait_ns"), share: answer.shares("wait_share"), count: answer.numbers("wait_count"), longest: answer.amounts("wait_longest_ns"), rank: answer.numbers("wait_rank"), culprit: answer.numbers("wait_for"), kind: answer.numbers("wait_kind"), call: answer.numbers("wait_call"), code: answer.numbers("wait_code") },
    late: { rank: answer.numbers("late_rank"), call: answer.numbers("late_call"), times: answer.numbers("late_times"), of: answer.numbers("late_of"), ns: answer.amounts("late_ns"), share: answer.shares("late_share") },
  };
}
type Traffic = ReturnType<typeof decode>;

/** Senders down, receivers across. Where a pixel stands for several pairs, the largest of them is seen. */
function paintMatrix(canvas: HTMLCanvasElement, traffic: Traffic, places: Map<number, number>, night: boolean): void {
  const { width, height } = placeCanvas(canvas);
  const side = Math.min(width, height);
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const best = new Float32Array(width * height);
  const edge = (place: number) => Math.floor((place * side) / places.size);
  traffic.cells.from.forEach((from, cell) => {
    const [down, across] = [places.get(from), places.get(traffic.cells.to[cell])];
    if (down === undefined || across === undefined) return;
    const strength = Math.max(traffic.cells.share[cell], 1e-6);
    for (let y = edge(down); y < Math.max(edge(down) + 1, edge(down + 1)); y++)
      for (let x = edge(across); x < Math.max(edge(across) + 1, edge(across + 1)); x++) {
        const at = y * width + x;
        if (best[at] >= strength) continue;
        best[at] = strength;
        pixels[at] = heatPixel(strength, night);
      }
  });
  context.putImageData(image, 0, 0);
}

function Matrix({ traffic, ranks }: { traffic: Traffic; ranks: RankList }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const places = new Map([...ranks.rank].map((rank, place) => [rank, place]));
  const found = useRef(new Map<string, number>());
  const night = dark.value;
  useEffect(() => {
    found.current = new Map([...traffic.cells.from].map((from, cell) => [`${from} ${traffic.cells.to[cell]}`, cell]));
    const drawn = canvas.current!; // the observer may be called once more when the view is gone
    const draw = () => drawn.isConnected && paintMatrix(drawn, traffic, places, night);
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(drawn.parentElement!);
    const off = onPrinting(draw);
    return () => {
      off();
      watch.disconnect();
    };
  }, [traffic, ranks, night]);
  const show = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const side = Math.min(box.width, box.height);
    const rankAt = (distance: number) => ranks.rank[Math.floor((distance * places.size) / side)];
    const [from, to] = [rankAt(event.clientY - box.top), rankAt(event.clientX - box.left)];
    if (from === undefined || to === undefined) return showTip(null);
    const cell = found.current.get(`${from} ${to}`);
    const figures: [string, string][] = cell === undefined ? [["messages", "none"]] : [["messages", count(traffic.cells.count[cell])], ["size", bytes(traffic.cells.size[cell])]];
    return showTip({ title: `rank ${from} to rank ${to}`, figures }, event);
  };
  return (
    <section class="matrix">
      <h2>
        Messages <small>sender down, receiver across; of each pair, by size</small>
      </h2>
      <div class="picture">
        <canvas ref={canvas} aria-label="messages from each rank to each other one, by size" onMouseMove={show} onMouseLeave={() => showTip(null)} />
        {!traffic.cells.from.length && <p class="hint empty">No rank sent to another but within collectives.</p>}
      </div>
      <p class="ends" aria-hidden="true">
        <span>rank {ranks.rank[0]}</span>
        <span>{ranks.rank[ranks.rank.length - 1]}</span>
      </p>
    </section>
  );
}

interface TableProps {
  title: string;
  note?: string;
  /** What is said when there are no rows. */
  none?: string;
  heads: string[];
  rows: (string | JSX.Element)[][];
}

/** Columns of words are read from the left, those of figures from the right. */
const classOf = (head: string) => (["why", "call", "in"].includes(head) ? "text" : undefined);

function Table({ title, note, none = "None was recorded.", heads, rows }: TableProps): JSX.Element {
  return (
    <section>
      <h2>
        {title} <small>{note}</small>
      </h2>
      {rows.length ? (
        <table class="recordings" aria-label={title}>
          <thead>
            <tr>
              {heads.map((head) => (
                <th scope="col" class={classOf(head)}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((cells) => (
              <tr>
                {cells.map((cell, at) => (
                  <td class={classOf(heads[at])}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p class="hint">{none}</p>
      )}
    </section>
  );
}

/** How far the waits can be believed. */
function doubts({ values }: Traffic): string {
  const words = [];
  if (values.clock_error_ns > 0) words.push(`clocks agree within ${time(values.clock_error_ns)}, nothing shorter is shown`);
  if (values.unknown_clocks) words.push(`the clocks of ${count(values.unknown_clocks)} ranks are not known`);
  if (values.incomplete) words.push(`${count(values.incomplete)} collectives were not recorded by all of their ranks`);
  if (values.unmatched) words.push(`of ${count(values.unmatched)} messages only one side was recorded`);
  return words.join(" · ");
}

function FunctionButton({ recording, code }: { recording: Recording; code: number }): JSX.Element {
  if (!code) return <>–</>;
  return (
    <button type="button" class="framed" title={recording.codes.place(code)} onClick={() => (selected.value = code)}>
      <bdi>{functionName(recording.codes, code)}</bdi>
    </button>
  );
}

export function Communication({ recording, ranks }: { recording: Recording; ranks: RankList }): JSX.Element | null {
  const traffic = useAnswer({ ask: "mpi", recording: recording.number, limit: ROWS }, decode, [recording]);
  useScrollKeys(".traffic");
  if (!traffic) return null;
  const { values, calls, stacks, waits, late } = traffic;
  if (!calls.call.length)
    return <p class="hint empty">Nothing of MPI was recorded: mpirun … sonde record --mpi keeps every call, with its partner, size and time.</p>;
  const name = (call: number) => values.call_names[call];
  const tardy = [...late.times.keys()].filter((at) => late.times[at] > 0);
  return (
    <div class="traffic" tabIndex={0}>
      <p class="spread">
        in MPI {time(values.mpi_ns)} ({perCent(traffic.mpiShare)} of the time of all ranks) · waiting for others {time(values.waited_ns)} ({perCent(traffic.waitedShare)}) · pickling {time(values.pickling_ns)}
      </p>
      <Matrix traffic={traffic} ranks={ranks} />
      <div class="tables">
      <Table title="Who waited for whom" note={doubts(traffic)} none="Nobody, as far as was recorded." heads={["waited", "times", "longest", "rank", "for rank", "why", "call", "in"]} rows={[...waits.ns].map((ns, at) => [time(ns), count(waits.count[at]), time(waits.longest[at]), String(waits.rank[at]), String(waits.culprit[at]), values.wait_names[waits.kind[at]], name(waits.call[at]), <FunctionButton recording={recording} code={waits.code[at]} />])} />
      <Table title="Last to come" none="No rank kept the others waiting." heads={["caused", "rank", "late", "of", "share", "call"]} rows={tardy.map((at) => [time(late.ns[at]), String(late.rank[at]), count(late.times[at]), count(late.of[at]), perCent(late.share[at]), name(late.call[at])])} />
      <Table title="Time by call" heads={["time", "share", "calls", "most of one rank", "sent", "received", "call"]} rows={[...calls.ns].map((ns, at) => [time(ns), perCent(calls.share[at]), count(calls.count[at]), `${time(calls.most[at])} (rank ${calls.rank[at]})`, bytes(calls.sent[at]), bytes(calls.received[at]), name(calls.call[at])])} />
      <Table title="Time by call path" heads={["time", "share", "calls", "call", "in"]} rows={[...stacks.ns].map((ns, at) => [time(ns), perCent(stacks.share[at]), count(stacks.count[at]), name(stacks.call[at]), <FunctionButton recording={recording} code={stacks.code[at]} />])} />
      </div>
    </div>
  );
}
