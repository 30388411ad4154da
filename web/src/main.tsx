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
import { connected, engine, followPrinting, followTheme, keepInUrl, opening, problem, recordings, showRecording, taken } from "./state";

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

async function load(engine: Engine, count: number): Promise<void> {
  const loaded = [];
  for (let number = 0; number < count; number++) loaded.push(await loadRecording(engine, number));
  recordings.value = loaded;
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
        problem.value = error instanceof Error ? error.message : String(error);
      }
    },
    connected: (isThere) => (connected.value = isThere),
    async leaving(source) {
      await loaded;
      return takeOver(source);
    },
  });
}

/** Opens files that were dropped or chosen, in place of what was there. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  const current = engine.value!;
  problem.value = "";
  opening.value = true;
  try {
    await current.clear();
    let count = 0;
    for (const file of files) count = (await open(current, fileSource(file))) + 1;
    await load(current, count);
  } catch (error) {
    problem.value = error instanceof Error ? error.message : String(error);
  }
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
  .catch((error: unknown) => (problem.value = error instanceof Error ? error.message : String(error)))
  .finally(() => (opening.value = false));
