// One source file with what each line cost. The text is the recording's; where it has none, the lines stand alone.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { noAmounts, noShares, type Amount, type Amounts, type Answer, type Share, type Shares } from "../answer";
import { useAnswer } from "../asking";
import { css, heatColor, pixel, textOn } from "../colors";
import { functions, rowOf, type Functions } from "../functions";
import { coloured, SourceText } from "../coloured";
import { rowStep, useViewKeys } from "../keys";
import { functionName, Path, shortName } from "../names";
import { figure, wholeWords } from "../measure";
import { bytes, count, perCent, time } from "../numbers";
import type { Recording } from "../recording";
import { Rows, type RowStyle } from "../rows";
import { dark, file, line, selected, selection } from "../state";
import type { ViewProps } from "../views";

const ROW = 20;
const HOTTEST = 12;

interface Lines {
  self: Amounts;
  total: Amounts;
  selfShare: Shares;
  totalShare: Shares;
  /** Of lines that were timed; others have none. */
  hits: Amounts;
  perHit: Amounts;
  /** Of lines whose memory was measured, in bytes; else both are empty. */
  growth: Amounts;
  highest: Amounts;
  text: string | null;
}

function decode(answer: Answer): Lines {
  const hasText = !!answer.values.has_text;
  return {
    self: answer.amounts("self"),
    total: answer.amounts("total"),
    selfShare: answer.shares("self_share"),
    totalShare: answer.shares("total_share"),
    hits: answer.amounts("hits"),
    perHit: answer.amounts("per_hit"),
    growth: answer.amounts("growth"),
    highest: answer.amounts("highest"),
    text: hasText ? new TextDecoder().decode(answer.small("text")) : null,
  };
}

/** A file of the recording, with its time. */
interface FileRow {
  id: number;
  path: string;
  self: Amount;
  share: Share;
  isLibrary: boolean;
}

const CODE_LIBRARY = 1;
const COLD = { self: noAmounts(1)[0], share: noShares(1)[0] };

/** Files that functions of the selection lie in, the hottest first. */
function useFiles(recording: Recording, table: Functions | null): FileRow[] {
  const request = { ask: "groups", view: "file", recording: recording.number, ...selection.value };
  const heat = useAnswer(
    request,
    (answer) => {
      const name = answer.texts("name");
      const share = answer.shares("self_share");
      return new Map(Array.from(answer.amounts("self"), (self, row) => [name(row), { self, share: share[row] }]));
    },
    [recording],
  );
  return useMemo(() => {
    const { codes } = recording;
    const found = new Map<number, FileRow>();
    for (const code of table?.code ?? []) {
      const [id, path] = [codes.fileId[code], codes.file(code)];
      if (!id || found.has(id) || path === "~" || path.startsWith("<")) continue;
      found.set(id, { id, path, ...(heat?.get(path) ?? COLD), isLibrary: !!(codes.flags[code] & CODE_LIBRARY) });
    }
    return [...found.values()].sort((a, b) => b.self - a.self || (a.path < b.path ? -1 : 1));
  }, [table, heat]);
}

/** The chosen file, else the selection's, else the hottest that is the user's own. */
function shownFile(recording: Recording, files: FileRow[]): FileRow | undefined {
  const { codes } = recording;
  const wanted = file.value || (selected.value ? codes.fileId[selected.value] : 0);
  const hit = files.find(({ id }) => id === wanted);
  if (hit || (wanted && selected.value)) return hit;
  return files.find(({ isLibrary }) => !isLibrary) ?? files[0];
}

function FileChoice({ recording, files, shown }: { recording: Recording; files: FileRow[]; shown: FileRow | undefined }): JSX.Element {
  return (
    <div class="choices" role="toolbar" aria-label="the file">
      <label>
        file{" "}
        <select
          class="wide"
          value={shown?.id ?? 0}
          onChange={(event) => {
            file.value = Number(event.currentTarget.value);
            line.value = 0;
          }}
        >
          {!shown && <option value={0}>choose one</option>}
          {files.slice(0, 2000).map(({ id, path, share }) => (
            <option value={id}>
              {Number.isNaN(share) ? "" : perCent(share)} {path.slice(-120)}
            </option>
          ))}
        </select>
      </label>
      {selected.value > 0 && shown && recording.codes.fileId[selected.value] === shown.id && (
        <button type="button" onClick={() => (line.value = recording.codes.line[selected.value])}>
          to {functionName(recording.codes, selected.value).slice(0, 40)}
        </button>
      )}
    </div>
  );
}

/** Where no line was recorded: a function's figures at the line where it begins. */
function atBeginnings(recording: Recording, table: Functions, id: number): Lines {
  const { codes } = recording;
  const inside = Array.from(table.code.keys()).filter((row) => codes.fileId[table.code[row]] === id);
  const size = Math.max(0, ...inside.map((row) => codes.line[table.code[row]])) + 1;
  const lines = {
    self: noAmounts(size),
    total: noAmounts(size),
    selfShare: noShares(size),
    totalShare: noShares(size),
    hits: noAmounts(size),
    perHit: noAmounts(size),
    growth: noAmounts(),
    highest: noAmounts(),
    text: null,
  };
  for (const row of inside) {
    const at = codes.line[table.code[row]];
    if (table.total[row] < lines.total[at]) continue; // of those that begin there the largest
    lines.self[at] = table.self[row];
    lines.total[at] = table.total[row];
    lines.selfShare[at] = table.selfShare[row];
    lines.totalShare[at] = table.totalShare[row];
  }
  return lines;
}

/** The text as it is, and with its colours when they are there. */
function useColours(path: string, text: string | null): SourceText | null {
  const plain = useMemo(() => (text === null ? null : new SourceText(text)), [text]);
  const [found, setFound] = useState<SourceText | null>(null);
  useEffect(() => {
    let current = true;
    if (text !== null) void coloured(path, text).then((made) => current && setFound(made));
    return () => {
      current = false;
    };
  }, [path, text]);
  return found?.text === text ? found : plain;
}

function Heat({ value, share, largest }: { value: Amount; share: Share; largest: number }): JSX.Element {
  if (!(value > 0)) return <span class="cell" role="cell" />;
  const color = heatColor(value / largest, dark.value);
  return (
    <span class="cell" role="cell" style={{ background: css(color), color: css(textOn(pixel(color))) }}>
      {figure(value, share)}
    </span>
  );
}

/** How often a line ran, and how long once. */
function Hits({ lines, number }: { lines: Lines; number: number }): JSX.Element {
  const hits = lines.hits[number];
  if (!(hits > 0)) return <span class="cell" role="cell" />;
  return (
    <span class="cell" role="cell" title={lines.total[number] > 0 ? `${time(lines.perHit[number])} each time` : undefined}>
      {count(hits)}
    </span>
  );
}

/** What a line added to memory in all its hits; beside it stands how much there was after it at most. */
function Growth({ lines, number, largest }: { lines: Lines; number: number; largest: number }): JSX.Element {
  const [growth, highest] = [lines.growth[number], lines.highest[number]];
  if (!(highest > 0)) return <span class="cell" role="cell" />;
  const color = growth > 0 ? heatColor(growth / largest, dark.value) : null;
  const style = color ? { background: css(color), color: css(textOn(pixel(color))) } : {};
  return (
    <span class="cell" role="cell" style={style} title={`in ${count(lines.hits[number])} hits`}>
      {bytes(growth)}
    </span>
  );
}

function Highest({ value }: { value: Amount }): JSX.Element {
  return (
    <span class="cell" role="cell">
      {value > 0 ? bytes(value) : ""}
    </span>
  );
}

interface ListingProps {
  lines: Lines;
  /** Whether lines were timed. */
  timed: boolean;
  source: SourceText | null;
  /** Numbers of the lines that are shown. */
  numbers: Uint32Array;
}

function largestOf(values: Float64Array): number {
  let largest = 1;
  for (const value of values) if (value > largest) largest = value;
  return largest;
}

function Listing({ lines, timed, source, numbers }: ListingProps): JSX.Element {
  const [largestSelf, largestTotal] = useMemo(() => [largestOf(lines.self), largestOf(lines.total)], [lines]);
  const largestGrowth = useMemo(() => largestOf(lines.growth), [lines]);
  const measured = lines.growth.length > 0;
  const row = (index: number, style: RowStyle) => {
    const number = numbers[index];
    return (
      <div id={`L${number}`} role="row" class={`row${number === line.value ? " selected" : ""}`} style={style}>
        <button type="button" class="number" aria-label={`line ${number}`} onClick={() => (line.value = number)}>
          {number}
        </button>
        {timed && <Hits lines={lines} number={number} />}
        {measured && <Growth lines={lines} number={number} largest={largestGrowth} />}
        {measured && <Highest value={lines.highest[number]} />}
        {!measured && <Heat value={lines.self[number]} share={lines.selfShare[number]} largest={largestSelf} />}
        {!measured && <Heat value={lines.total[number]} share={lines.totalShare[number]} largest={largestTotal} />}
        <code role="cell">{source?.pieces(number).map(({ kind, text }) => <span class={kind}>{text}</span>)}</code>
      </div>
    );
  };
  const at = numbers.indexOf(line.value);
  return <Rows count={numbers.length} height={ROW} focus={at} label="lines" row={row} />;
}

/** Own times, where they are known. */
function heatOf(lines: Lines): [Amounts, Shares] {
  return largestOf(lines.self) > 1 ? [lines.self, lines.selfShare] : [lines.total, lines.totalShare];
}

function hottest(by: Float64Array): number[] {
  const numbers = Array.from(by.keys()).filter((number) => number && by[number] > 0);
  return numbers.sort((a, b) => by[b] - by[a]).slice(0, HOTTEST);
}

function HotLines({ lines, source }: { lines: Lines; source: SourceText | null }): JSX.Element | null {
  const [by, shares] = heatOf(lines);
  const list = hottest(by);
  if (!list.length) return null;
  return (
    <section class="hot" aria-label="hottest lines">
      <h3>Hottest lines</h3>
      <ol>
        {list.map((number) => (
          <li key={number}>
            <button type="button" onClick={() => (line.value = number)}>
              <span class="number">{number}</span>
              <span class="figure">{figure(by[number], shares[number])}</span>
              <code>{source?.line(number).trim()}</code>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Every line of the text; without it those that something is known of. */
function numbersOf(lines: Lines, source: SourceText | null): Uint32Array {
  if (source) return Uint32Array.from({ length: Math.max(source.length, lines.self.length - 1) }, (_, index) => index + 1);
  return Uint32Array.from(lines.total.keys()).filter(
    (number) => number && (lines.total[number] > 0 || lines.self[number] > 0 || lines.highest[number] > 0),
  );
}

interface NoteProps {
  hasText: boolean;
  hasLines: boolean;
  /** It was recorded by sonde, which can be asked to keep text; other programs' files never have any. */
  isOwn: boolean;
}

function Note({ hasText, hasLines, isOwn }: NoteProps): JSX.Element | null {
  if (hasText && hasLines) return null;
  return (
    <p class="hint note">
      {!hasText && (isOwn ? "The recording has no text of this file: record with --embed-source=yes to see it here. " : "Files of other programs hold no source text. ")}
      {!hasLines && "Calls were recorded, not lines: figures stand where functions begin. sonde record and sonde line know lines."}
    </p>
  );
}

function stepLine(numbers: Uint32Array, by: number): void {
  const at = numbers.indexOf(line.value);
  line.value = numbers[Math.min(numbers.length - 1, Math.max(0, at + by))] ?? 0;
}

function useKeys(numbers: Uint32Array): void {
  const take = ({ key }: KeyboardEvent) => {
    const by = rowStep(key, 30);
    if (by) stepLine(numbers, by);
    return by !== 0;
  };
  useViewKeys(take, [numbers]);
}

function Shown({ recording, row, table }: { recording: Recording; row: FileRow; table: Functions }): JSX.Element | null {
  const found = useAnswer({ ask: "lines", recording: recording.number, file: row.id, ...selection.value }, decode, [recording]);
  const measured = !!found && found.growth.length > 0;
  const hasLines = measured || (!!found && found.total.some((value) => value > 0));
  const lines = useMemo(
    () => (found && !hasLines ? { ...atBeginnings(recording, table, row.id), text: found.text } : found),
    [found, table],
  );
  const timed = !!lines?.hits.some((value) => value > 0);
  const source = useColours(row.path, lines?.text ?? null);
  const numbers = useMemo(() => (lines ? numbersOf(lines, source) : new Uint32Array(0)), [lines, source?.length]);
  useKeys(numbers);
  useEffect(() => {
    // The selected function's line, unless one is chosen.
    const code = selected.peek();
    if (lines && !line.peek() && code && recording.codes.fileId[code] === row.id) line.value = recording.codes.line[code];
  }, [lines, selected.value]);
  if (!lines) return null;
  return (
    <>
      <Note hasText={source !== null} hasLines={hasLines} isOwn={!!recording.summary.meta.sonde} />
      <div class="listing">
        <div class={timed ? "code timed" : "code"} role="table" aria-label={row.path.slice(-200)}>
          <div class="row heads" role="row">
            <span role="columnheader">Line</span>
            {timed && <span role="columnheader">Hits</span>}
            <span role="columnheader">{measured ? "Growth" : "Self"}</span>
            <span role="columnheader">{measured ? "Highest" : "Total"}</span>
            <span role="columnheader">
              <Path path={row.path} />
            </span>
          </div>
          <Listing lines={lines} timed={timed} source={source} numbers={numbers} />
        </div>
        <HotLines lines={lines} source={source} />
      </div>
    </>
  );
}

function whyNot(recording: Recording, files: FileRow[]): string {
  const code = selected.value;
  if (!files.length) return "No function of this selection lies in a file.";
  if (code && !rowOf.value.has(code)) return "The selected function is not in this selection.";
  const path = recording.codes.file(code);
  const where = path && path !== "~" ? `lies in ${shortName(path, 80)}, which is no file` : "is not written in Python";
  return `${functionName(recording.codes, code)} ${where}: there is no source to show. Choose a file above.`;
}

export function Source({ recording }: ViewProps): JSX.Element | null {
  const table = functions.value;
  const files = useFiles(recording, table);
  if (!table) return null;
  const row = shownFile(recording, files);
  return (
    <div class="source">
      <FileChoice recording={recording} files={files} shown={row} />
      {row ? <Shown key={row.id} recording={recording} row={row} table={table} /> : <p class="hint empty">{whyNot(recording, files)}</p>}
      <p class="status">↑ ↓: lines{table.whole > 0 && ` · t: amounts or per cent · of ${wholeWords(table.whole)}`}</p>
    </div>
  );
}
