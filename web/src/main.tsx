// Starts the page: finds where its recordings are (in the page, at a server, or yet to be dropped on it).

import { render } from "preact";

import { carriedSources, fileSource, pause } from "./carried";
import { ServerEngine, WorkerEngine, type Engine, type Source } from "./engine";
import { prepareLetters } from "./glyphs";
import { loadRecording } from "./recording";
import { listenForKeys } from "./keys";
import { Shell } from "./shell";
import { MONOSPACED, ROW } from "./stacks";
import { engine, followPrinting, followTheme, keepInUrl, opening, problem, recordings, taken } from "./state";

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

/** Takes in what a recording has become; views ask again, and keep their place because ids stay what they were. */
function follow(engine: Engine, loaded: Promise<void>): void {
  engine.follow?.(async (number) => {
    try {
      await loaded;
      const fresh = await loadRecording(engine, number);
      recordings.value = recordings.value.map((old) => (old.number === number ? fresh : old));
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
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
