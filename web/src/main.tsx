// Starts the page: finds where its recordings are (in the page, at a server, or yet to be dropped on it).

import { batch } from "@preact/signals";
import { render } from "preact";

import { carriedSources, fileSource, pause } from "./carried";
import { ServerEngine, WorkerEngine, type Engine, type Source } from "./engine";
import { prepareLetters } from "./glyphs";
import { loadRecording, type Recording } from "./recording";
import { listenForKeys } from "./keys";
import { Shell } from "./shell";
import { MONOSPACED, ROW } from "./stacks";
import { busy, connected, engine, followPrinting, followTheme, keepInUrl, opening, other, problem, recordings, shownIsAfter, showRecording, taken } from "./state";

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function open(engine: Engine, source: Source): Promise<number> {
  const { name, size } = source;
  return engine.open(source, (bytes) => (taken.value = { name, bytes, size }));
}

async function openCarried(engine: Engine): Promise<number> {
  // They stand behind this script: what they are opened by starts while the browser still reads them.
  if (document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done, { once: true }));
  const sources = carriedSources();
  for (const source of sources) await open(engine, source);
  return sources.length;
}

/** How many recordings a server has. */
async function countServed(engine: Engine): Promise<number> {
  return (await engine.ask({ ask: "recordings" })).values.recordings.length;
}

async function loaded(engine: Engine, count: number): Promise<Recording[]> {
  const found = [];
  for (let number = 0; number < count; number++) found.push(await loadRecording(engine, number));
  return found;
}

async function load(engine: Engine, count: number): Promise<void> {
  recordings.value = await loaded(engine, count);
}

/** Views ask again, and keep their place because ids stay what they were; those of another run are others. */
function replace(fresh: Recording): void {
  const old = recordings.value[fresh.number];
  batch(() => {
    if (old?.summary.meta.run_id && old.summary.meta.run_id !== fresh.summary.meta.run_id) showRecording(fresh.number);
    recordings.value = recordings.value.map((one) => (one.number === fresh.number ? fresh : one));
  });
}

/** The recording is taken from a server that goes; what then answers is in this page. */
async function takeOver(source: Source): Promise<Engine> {
  const { name } = recordings.value[0].summary;
  const own = new WorkerEngine();
  await own.open({ ...source, name }, () => {});
  const fresh = await loadRecording(own, 0);
  batch(() => {
    engine.value = own;
    replace(fresh);
  });
  return own;
}

/** Takes in what recordings have become. */
function follow(served: Engine, loaded: Promise<void>): void {
  served.follow?.({
    async changed(number) {
      try {
        await loaded;
        for (const one of recordings.value)
          if (number === undefined || number === one.number) replace(await loadRecording(served, one.number));
      } catch (error) {
        problem.value = wordsOf(error);
      }
    },
    connected: (isThere) => (connected.value = isThere),
    async leaving(source) {
      await loaded;
      return takeOver(source);
    },
  });
}

/** What was chosen in the last ones has no meaning in these. */
function showInstead(fresh: Engine, loaded: Recording[]): void {
  const old = engine.value!;
  const hadSome = recordings.value.length > 0;
  batch(() => {
    engine.value = fresh;
    recordings.value = loaded;
    if (!hadSome) return;
    showRecording(0);
    other.value = 1;
    shownIsAfter.value = false;
  });
  old.close();
}

/** Those of the files that can be read, and why the others cannot. */
async function openAll(into: Engine, files: Iterable<File>): Promise<{ count: number; faults: string[] }> {
  const found = { count: 0, faults: [] as string[] };
  for (const file of files)
    try {
      found.count = (await open(into, fileSource(file))) + 1;
    } catch (error) {
      found.faults.push(wordsOf(error));
    }
  return found;
}

/** Opens files that were dropped or chosen, in place of what was there: which stays when none of them can be read. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  const fresh = new WorkerEngine();
  problem.value = "";
  opening.value = true;
  busy.value++;
  const { count, faults } = await openAll(fresh, files);
  try {
    if (count) showInstead(fresh, await loaded(fresh, count));
  } catch (error) {
    faults.push(wordsOf(error));
  }
  if (engine.value !== fresh) fresh.close();
  busy.value--;
  problem.value = faults.join("\n");
  opening.value = false;
}

function show(): void {
  followTheme();
  followPrinting();
  keepInUrl();
  listenForKeys();
  render(<Shell openFiles={openFiles} />, document.getElementById("page")!);
}

/** The worker starts while the page is drawn; each of these steps lets the browser react before the next. */
async function start(): Promise<void> {
  const served = document.documentElement.dataset.served !== undefined;
  const made: Engine = served ? new ServerEngine() : new WorkerEngine();
  engine.value = made;
  await pause();
  show();
  setTimeout(() => prepareLetters(ROW, MONOSPACED)); // when there is nothing else to do: the worker reads
  await pause();
  const count = served ? await countServed(made) : await openCarried(made);
  const loaded = load(made, count);
  follow(made, loaded);
  await loaded;
}

start()
  .catch((error: unknown) => (problem.value = wordsOf(error)))
  .finally(() => (opening.value = false));
