// All functions as rows; only those in sight are in the page.

import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { functions, type Functions } from "../functions";
import { count, share, time } from "../numbers";
import type { Recording } from "../recording";
import { matches, percent, recording, selected } from "../state";
import type { ViewProps } from "../views";

const ROW = 24;

interface Column {
  name: string;
  title: string;
  /** What rows are sorted by. */
  value(table: Functions, row: number, recording: Recording): number | string;
  text(table: Functions, row: number, recording: Recording): string;
  sampled?: boolean;
}

function timeColumn(name: string, title: string, values: (table: Functions) => Float64Array): Column {
  return {
    name,
    title,
    value: (table, row) => values(table)[row],
    text: (table, row) => (percent.value ? share(values(table)[row], table.totalNs) : time(values(table)[row])),
  };
}

function countColumn(name: string, title: string, sampled: boolean, values: (table: Functions) => Float64Array): Column {
  return {
    name,
    title,
    sampled,
    value: (table, row) => values(table)[row],
    text: (table, row) => count(values(table)[row]),
  };
}

function textColumn(name: string, title: string, text: (recording: Recording, code: number) => string): Column {
  const of = (table: Functions, row: number, recording: Recording) => text(recording, table.code[row]);
  return { name, title, value: of, text: of };
}

const COLUMNS: Column[] = [
  timeColumn("self", "Self", (table) => table.self),
  timeColumn("total", "Total", (table) => table.total),
  countColumn("calls", "Calls", false, (table) => table.calls),
  countColumn("primitive", "Primitive", false, (table) => table.primitiveCalls),
  countColumn("samples", "Samples", true, (table) => table.samples),
  textColumn("name", "Function", (recording, code) => recording.codes.name(code)),
  textColumn("place", "File", (recording, code) => recording.codes.place(code)),
  textColumn("module", "Module", (recording, code) => recording.codes.module(code)),
];

const sorting = signal({ column: "self", falling: true });

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number") return a - (b as number);
  return a < (b as string) ? -1 : a > (b as string) ? 1 : 0;
}

const order = computed<Uint32Array>(() => {
  const table = functions.value;
  const shown = recording.value;
  if (!table || !shown) return new Uint32Array(0);
  const found = matches.value;
  const column = COLUMNS.find(({ name }) => name === sorting.value.column)!;
  const rows = Uint32Array.from(table.code.keys()).filter((row) => !found || found.has(table.code[row]));
  const values = Array.from(table.code.keys(), (row) => column.value(table, row, shown));
  const sign = sorting.value.falling ? -1 : 1;
  return rows.sort((a, b) => sign * compare(values[a], values[b]) || a - b);
});

function sortBy(name: string): void {
  const { column, falling } = sorting.value;
  const words = ["name", "place", "module"].includes(name);
  sorting.value = { column: name, falling: column === name ? !falling : !words };
}

function Heads({ columns }: { columns: Column[] }): JSX.Element {
  return (
    <div class="row heads" role="row">
      {columns.map(({ name, title }) => {
        const sorted = sorting.value.column === name;
        const direction = sorting.value.falling ? "descending" : "ascending";
        return (
          <span role="columnheader" class={`cell ${name}`} aria-sort={sorted ? direction : undefined}>
            <button type="button" onClick={() => sortBy(name)}>
              {title}
              {sorted ? (sorting.value.falling ? " ▾" : " ▴") : ""}
            </button>
          </span>
        );
      })}
    </div>
  );
}

export function Table({ recording }: ViewProps): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setHeight(entry.contentRect.height));
    watch.observe(body.current!);
    return () => watch.disconnect();
  }, []);
  const table = functions.value;
  const rows = order.value;
  const columns = COLUMNS.filter(({ sampled }) => sampled === undefined || sampled === table?.sampled);
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + 4);
  return (
    <div class="table" role="table" aria-rowcount={rows.length}>
      <Heads columns={columns} />
      <div class="body" ref={body} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div style={{ height: `${rows.length * ROW}px`, position: "relative" }}>
          {table &&
            Array.from(rows.subarray(first, last), (row, index) => (
              <div
                key={table.code[row]}
                role="row"
                class={`row${table.code[row] === selected.value ? " selected" : ""}`}
                style={{ top: `${(first + index) * ROW}px` }}
                onClick={() => (selected.value = table.code[row])}
              >
                {columns.map(({ name, text }) => (
                  <span class={`cell ${name}`} role="cell" title={text(table, row, recording)}>
                    {text(table, row, recording)}
                  </span>
                ))}
              </div>
            ))}
        </div>
      </div>
      <p class="status">
        {count(rows.length)} functions{table ? ` · per cent of ${time(table.totalNs)}` : ""}
      </p>
    </div>
  );
}
