// All functions as rows, alone or by module, file, thread or process; callers and callees of the selection below.

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";

import type { Amount, Amounts, Answer, Share, Shares } from "../answer";
import { Butterfly } from "../butterfly";
import { copyText, csv, saveFile, stem } from "../files";
import { functions, RowsByCode, type Functions } from "../functions";
import { rowStep, useViewKeys } from "../keys";
import { figure as amountOrShare, inBlocks, memoryMeasure, wholeWords } from "../measure";
import { functionName, Path, Place, shortName } from "../names";
import { count } from "../numbers";
import type { Recording } from "../recording";
import { Rows, type RowStyle } from "../rows";
import { ask, grouping, keepChoice, matcher, matches, MODULE_WORDS, modules, percent, problem, process, recording, search, selected } from "../state";
import { selection, showSource, thread, toggleModule, view } from "../state";
import type { ViewProps } from "../views";

const ROW = 24;
const GROUPINGS = [
  { name: "", title: "functions" },
  { name: "module", title: "modules" },
  { name: "file", title: "files" },
  { name: "thread", title: "threads" },
  { name: "process", title: "processes" },
  { name: "line", title: "lines" },
];

/** The figures of functions, or of groups of them. */
interface Figures {
  self: Amounts;
  total: Amounts;
  selfShare: Shares;
  totalShare: Shares;
  calls: Amounts;
  primitiveCalls: Amounts;
  samples: Amounts;
  totalSamples: Amounts;
}

interface Groups extends Figures {
  by: string;
  id: Uint32Array;
  /** Of lines. */
  line: Uint32Array;
  name(row: number): string;
}

function decodeGroups(by: string, answer: Answer): Groups {
  return {
    by,
    id: answer.numbers("id"),
    line: answer.numbers("line"),
    name: answer.texts("name"),
    self: answer.amounts("self"),
    total: answer.amounts("total"),
    selfShare: answer.shares("self_share"),
    totalShare: answer.shares("total_share"),
    calls: answer.amounts("calls"),
    primitiveCalls: answer.amounts("primitive_calls"),
    samples: answer.amounts("samples"),
    totalSamples: answer.amounts("total_samples"),
  };
}

const groups = signal<Groups | null>(null);
/** Groups whose functions are shown below them, by name. */
const opened = signal<ReadonlySet<string>>(new Set());
let asked = 0;

effect(() => {
  const shown = recording.value;
  const by = grouping.value;
  const chosen = selection.value;
  const own = ++asked;
  if (groups.peek()?.by !== by) groups.value = null;
  if (!shown || !by) return;
  ask({ ask: "groups", view: by, recording: shown.number, ...chosen }).then(
    (answer) => own === asked && (groups.value = decodeGroups(by, answer)),
    (error: Error) => (problem.value = error.message),
  );
});

interface Column {
  name: string;
  title: string;
  /** Only in what was sampled, or only in what was not. */
  sampled?: boolean;
  isText?: boolean;
  values?(figures: Figures): Amounts;
  /** Of what is an amount of the measure, not a count. */
  shares?(figures: Figures): Shares;
}

const COLUMNS: Column[] = [
  { name: "self", title: "Self", values: (figures) => figures.self, shares: (figures) => figures.selfShare },
  { name: "total", title: "Total", values: (figures) => figures.total, shares: (figures) => figures.totalShare },
  { name: "calls", title: "Calls", values: (figures) => figures.calls, sampled: false },
  { name: "primitive", title: "Primitive", values: (figures) => figures.primitiveCalls, sampled: false },
  { name: "samples", title: "Samples", values: (figures) => figures.samples, sampled: true },
  { name: "seen", title: "On stack", values: (figures) => figures.totalSamples, sampled: true },
  { name: "name", title: "Function", isText: true },
  { name: "place", title: "File", isText: true },
  { name: "module", title: "Module", isText: true },
];

/** The column that rows are sorted by, "-" before it when they rise. */
const sortedBy = signal("self");
keepChoice("sort", sortedBy, COLUMNS.flatMap(({ name }) => [name, `-${name}`]));
const sorting = computed(() => ({ column: sortedBy.value.replace("-", ""), falling: sortedBy.value[0] !== "-" }));

/** The functions of a selection, and their rows in the order of the chosen column. */
interface Sorted {
  table: Functions;
  rows: Uint32Array;
}

const sorted = signal<Sorted | null>(null);
let sortAsked = 0;

function inOrder(table: Functions, codes: Uint32Array): Sorted {
  const places = new RowsByCode(table.code);
  // A recording that grows may have functions by now that this table has not.
  return { table, rows: codes.filter((code) => places.has(code)).map((code) => places.get(code)!) };
}

// Sorted where the names are, beside the page: what is shown stays as it was until the new order is there.
effect(() => {
  const table = functions.value;
  const { column, falling } = sorting.value;
  if (!table || view.value !== "table") return;
  const own = ++sortAsked;
  ask({ ask: "order", view: column, falling, recording: table.recording, ...selection.peek() }).then(
    (answer) => own === sortAsked && (sorted.value = inOrder(table, answer.numbers("code"))),
    (error: Error) => (problem.value = error.message),
  );
});

const functionOrder = computed<Uint32Array>(() => {
  const found = matches.value;
  const all = sorted.value;
  if (!all) return new Uint32Array(0);
  return found ? all.rows.filter((row) => found.has(all.table.code[row])) : all.rows;
});

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Groups by the chosen column; those that are equal there stay in their order. */
function sortedGroups(found: Groups): Uint32Array {
  const { column: name, falling } = sorting.value;
  const sign = falling ? -1 : 1;
  const values = COLUMNS.find((known) => known.name === name)!.values?.(found);
  const compare = values
    ? (a: number, b: number) => values[a] - values[b]
    : (a: number, b: number) => compareTexts(found.name(a), found.name(b));
  return Uint32Array.from(found.id.keys()).sort((a, b) => sign * compare(a, b) || a - b);
}

function isIn(shown: Recording, by: string, name: string, code: number): boolean {
  if (by === "module") return shown.codes.module(code) === name;
  const file = shown.codes.file(code);
  return file === name || (name === "(C functions)" && (!file || file === "~"));
}

/** What is in the table from top to bottom: functions by their row, groups as -1 - their row. */
const items = computed<Int32Array>(() => {
  const table = sorted.value?.table;
  const shown = recording.value;
  const found = groups.value;
  if (!grouping.value) return Int32Array.from(functionOrder.value);
  if (!table || !shown || !found) return new Int32Array(0);
  const test = search.value ? matcher(search.value) : null;
  const result: number[] = [];
  for (const row of sortedGroups(found)) {
    const name = found.name(row);
    const isOpen = opened.value.has(name);
    if (!test || test(name) || isOpen) result.push(-1 - row);
    if (isOpen)
      for (const inside of functionOrder.value)
        if (isIn(shown, found.by, name, table.code[inside])) result.push(inside);
  }
  return Int32Array.from(result);
});

function sortBy(column: Column): void {
  const { column: name, falling } = sorting.value;
  const falls = column.name === name ? !falling : !column.isText;
  sortedBy.value = `${falls ? "" : "-"}${column.name}`;
}

function figure(value: Amount, share: Share | undefined): string {
  return share === undefined ? count(value) : amountOrShare(value, share);
}

const MEMORY_TITLES: Record<string, string> = { samples: "Blocks", seen: "In all" };

/** Groups have a name and nothing else to say where they are. */
function titleOf(column: Column): string {
  const by = grouping.value;
  if (memoryMeasure.value && MEMORY_TITLES[column.name]) return MEMORY_TITLES[column.name];
  if (!by || !column.isText) return column.title;
  return column.name === "name" ? by[0].toUpperCase() + by.slice(1) : "";
}

function Heads({ columns }: { columns: Column[] }): JSX.Element {
  return (
    <div class="row heads" role="row">
      {columns.map((column) => {
        const isSorted = sorting.value.column === column.name;
        const direction = sorting.value.falling ? "descending" : "ascending";
        return (
          <span role="columnheader" class={`cell ${column.name}`} aria-sort={isSorted ? direction : undefined}>
            <button type="button" disabled={!titleOf(column)} onClick={() => sortBy(column)}>
              {titleOf(column)}
              {isSorted && titleOf(column) ? (sorting.value.falling ? " ▾" : " ▴") : ""}
            </button>
          </span>
        );
      })}
    </div>
  );
}

interface RowProps {
  columns: Column[];
  figures: Figures;
  row: number;
}

function Cells({ columns, figures, row }: RowProps): JSX.Element {
  return (
    <>
      {columns
        .filter((column) => column.values)
        .map((column) => {
          const [value, share] = [column.values!(figures)[row], column.shares?.(figures)[row]];
          // One element with its text: a row has few of them, because all change with every step of the scroll bar.
          return (
            <span
              class={`cell ${column.name}`}
              role="cell"
              style={share === undefined ? undefined : { backgroundSize: `${100 * share}% 18px` }}
            >
              {figure(value, share)}
            </span>
          );
        })}
    </>
  );
}

interface FunctionRowProps {
  columns: Column[];
  table: Functions;
  row: number;
  index: number;
  style: RowStyle;
  inHaste: boolean;
}

function FunctionRow({ columns, table, row, index, style, inHaste }: FunctionRowProps): JSX.Element {
  const code = table.code[row];
  const { codes } = recording.value!;
  const isSelected = code === selected.value;
  return (
    <div
      role="row"
      class={`row${isSelected ? " selected" : ""}${grouping.value ? " inside" : ""}`}
      aria-selected={isSelected}
      aria-rowindex={index + 1}
      style={style}
      onClick={() => (selected.value = code)}
      onDblClick={() => showSource(code)}
    >
      <Cells columns={columns} figures={table} row={row} />
      <span class="cell name" role="cell" title={shortName(codes.name(code), 1000)}>
        {functionName(codes, code)}
      </span>
      <span class="cell place" role="cell">
        {!inHaste && <Place codes={codes} code={code} />}
      </span>
      <span class="cell module" role="cell" title={inHaste ? undefined : shortName(codes.module(code))}>
        {!inHaste && shortName(codes.module(code))}
      </span>
    </div>
  );
}

/** Modules and files open; a thread or process becomes the one that all views show; a line is shown in its file. */
function chooseGroup(found: Groups, row: number): void {
  if (found.by === "thread") thread.value = thread.value ? 0 : found.id[row];
  else if (found.by === "process") process.value = process.value ? 0 : found.id[row];
  else if (found.by === "line") showSource(found.id[row], found.line[row]);
  else {
    const next = new Set(opened.value);
    if (!next.delete(found.name(row))) next.add(found.name(row));
    opened.value = next;
  }
}

function groupHint(found: Groups): string {
  const isChosen = found.by === "thread" ? thread.value : process.value;
  if (found.by === "thread" || found.by === "process") return isChosen ? `show all ${found.by}s` : `show only this ${found.by}`;
  return found.by === "line" ? "show it in its source" : "show its functions";
}

function OnlyModule({ name }: { name: string }): JSX.Element {
  const isChosen = modules.value.includes(name);
  const choose = (event: Event) => {
    event.stopPropagation();
    toggleModule(name);
  };
  return (
    <button type="button" class="only" aria-pressed={isChosen} title={MODULE_WORDS} onClick={choose}>
      {isChosen ? "all" : "only"}
    </button>
  );
}

function GroupRow(props: { columns: Column[]; found: Groups; row: number; style: RowStyle }): JSX.Element {
  const { columns, found, row, style } = props;
  const name = found.name(row);
  const opens = found.by === "module" || found.by === "file";
  const isOpen = opened.value.has(name);
  return (
    <div role="row" class="row group" style={style} title={groupHint(found)} onClick={() => chooseGroup(found, row)}>
      <Cells columns={columns} figures={found} row={row} />
      <span class="cell name wide" role="cell">
        <button type="button" aria-expanded={opens ? isOpen : undefined}>
          {opens ? (isOpen ? "▾ " : "▸ ") : ""}
          {found.by === "file" ? <Path path={name} /> : <bdi>{shortName(name) || "(no module)"}</bdi>}
        </button>
        {found.by === "module" && name && <OnlyModule name={name} />}
      </span>
    </div>
  );
}

function csvRows(recording: Recording, columns: Column[]): (string | number)[][] {
  const { table } = sorted.value!;
  const found = groups.value;
  const figures = columns.filter((column) => column.values);
  const [unit, scale] = memoryMeasure.value ? [inBlocks.value ? "blocks" : "bytes", 1] : ["seconds", 1e9];
  const head = [...figures.map(({ name, shares }) => (shares ? `${name}_${unit}` : name)), "name", "file", "line", "module"];
  const numbers = (from: Figures, row: number) =>
    figures.map((column) => column.values!(from)[row] / (column.shares ? scale : 1));
  const rows = Array.from(items.value, (item) => {
    if (item < 0) return [...numbers(found!, -1 - item), found!.name(-1 - item), "", "", ""];
    const code = table.code[item];
    const { codes } = recording;
    return [...numbers(table, item), codes.name(code), codes.file(code), codes.line[code], codes.module(code)];
  });
  return [head, ...rows];
}

const copied = signal("");

async function copy(recording: Recording, columns: Column[]): Promise<void> {
  const rows = csvRows(recording, columns);
  const done = await copyText(csv(rows));
  copied.value = done ? `${count(rows.length - 1)} rows copied` : "this browser does not let pages copy: save instead";
  setTimeout(() => (copied.value = ""), 4000);
}

function Toolbar({ recording, columns }: { recording: Recording; columns: Column[] }): JSX.Element {
  const save = () =>
    saveFile(`${stem(recording.summary.name)}.csv`, new Blob([csv(csvRows(recording, columns))], { type: "text/csv" }));
  return (
    <div class="choices" role="toolbar" aria-label="the table">
      <label>
        rows are{" "}
        <select value={grouping.value} onChange={(event) => (grouping.value = event.currentTarget.value)}>
          {GROUPINGS.map(({ name, title }) => (
            <option value={name}>{title}</option>
          ))}
        </select>
      </label>
      <button type="button" aria-pressed={percent.value} title="key t" onClick={() => (percent.value = !percent.value)}>
        per cent
      </button>
      <span class="space" />
      <output class="hint">{copied.value}</output>
      <button type="button" onClick={() => copy(recording, columns)}>
        Copy as CSV
      </button>
      <button type="button" onClick={save}>
        Save CSV
      </button>
    </div>
  );
}

/** Moves the selection through the functions of the table. */
function step(table: Functions, by: number): void {
  const list = items.value;
  let at = list.findIndex((item) => item >= 0 && table.code[item] === selected.value);
  at = at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by));
  while (at >= 0 && at < list.length && list[at] < 0) at += by > 0 ? 1 : -1;
  if (list[at] >= 0) selected.value = table.code[list[at]];
}

function onKey(event: KeyboardEvent): boolean {
  const table = sorted.value?.table;
  const by = rowStep(event.key, 20);
  if (!table || !items.value.length) return false;
  if (event.key === "Enter" && selected.value && !(event.target instanceof HTMLButtonElement)) showSource(selected.value);
  else if (by) step(table, by);
  else return false;
  return true;
}

/** Pixels of a character in the column of names, and the most of them that it makes room for. */
const CHARACTER = 7.6;
const MOST_CHARACTERS = 60;

/** As wide as the names need, within reason: a function's name is not cut. */
function nameWidth(recording: Recording, table: Functions): string {
  let longest = 12;
  for (const code of table.code) longest = Math.max(longest, recording.codes.nameSize(code));
  return `${Math.ceil(Math.min(longest, MOST_CHARACTERS) * CHARACTER) + 10}px`;
}

const widths = computed(() => {
  const table = sorted.value?.table;
  return table && recording.value ? nameWidth(recording.value, table) : "160px";
});

function Body({ columns, table }: { columns: Column[]; table: Functions }): JSX.Element {
  const list = items.value;
  const found = groups.value;
  const focus = selected.value ? list.findIndex((item) => item >= 0 && table.code[item] === selected.value) : -1;
  return (
    <Rows
      count={list.length}
      height={ROW}
      focus={focus}
      label="rows"
      row={(index, style, inHaste) =>
        list[index] < 0 ? (
          <GroupRow columns={columns} found={found!} row={-1 - list[index]} style={style} />
        ) : (
          <FunctionRow columns={columns} table={table} row={list[index]} index={index} style={style} inHaste={inHaste} />
        )
      }
    />
  );
}

function statusText(table: Functions): string {
  const title = GROUPINGS.find(({ name }) => name === groups.value?.by)?.title;
  const groupCount = grouping.value && groups.value ? `${count(groups.value.id.length)} ${title} · ` : "";
  const shown = functionOrder.value.length;
  const of = shown === table.code.length ? "" : ` of ${count(table.code.length)}`;
  return `${groupCount}${count(shown)}${of} functions · per cent of ${wholeWords(table.whole)}`;
}

export function Table({ recording }: ViewProps): JSX.Element | null {
  useViewKeys(onKey, []);
  const table = sorted.value?.table;
  if (table?.recording !== recording.number) return null;
  const columns = COLUMNS.filter(({ sampled }) => sampled === undefined || sampled === table.sampled);
  return (
    <div class="table">
      <Toolbar recording={recording} columns={columns} />
      <div class="grid" role="table" aria-label="functions" aria-rowcount={items.value.length} style={{ "--name": widths.value }}>
        <Heads columns={columns} />
        <Body columns={columns} table={table} />
      </div>
      <Butterfly recording={recording} table={table} />
      <p class="status">{statusText(table)}</p>
    </div>
  );
}
