// The page's frame: heading, tabs, what is filtered, the view, the inspector, the run over time.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { MeasureChoice } from "./choices";
import { foundWords } from "./found";
import { Inspector } from "./inspector";
import { KEYS, helpShown } from "./keys";
import { shortName } from "./names";
import { count, distance, perCent, time } from "./numbers";
import type { Recording, Summary } from "./recording";
import { Strip } from "./strip";
import { busy, connected, dark, engine, idle, MODULE_WORDS, modules, opening, own, problem, process, range, recording } from "./state";
import { ranks, recordings, region, REGION_WORDS, search, showRecording, taken, theme, thread, titleOf, toggleModule, view } from "./state";
import { offered, VIEWS } from "./views";

type OpenFiles = (files: Iterable<File>) => void;

/** What was recorded, in one line. */
function headline(summary: Summary): string {
  const parts = [];
  const { meta } = summary;
  if (summary.live && !summary.state) parts.push("being recorded");
  if (summary.duration_ns > 0) parts.push(time(summary.duration_ns));
  if (meta.samples) parts.push(`${count(Number(meta.samples))} samples`, `${count(Number(meta.errors ?? 0))} errors`);
  if (summary.overhead_ns > 0) parts.push(`overhead ${perCent(summary.overhead_share)}`);
  if (meta.python) parts.push(`Python ${meta.python}`);
  if (summary.processes.length > 1) parts.push(`${count(summary.processes.length)} processes`);
  return parts.join(" · ");
}

function Title({ shown }: { shown: Recording | undefined }): JSX.Element | null {
  if (!shown) return null;
  if (recordings.value.length < 2)
    return (
      <h1 class="title" title={shortName([shown.summary.name, shown.summary.meta.command].filter(Boolean).join("\n"), 1000)}>
        <bdi>{shortName(titleOf(shown))}</bdi>
      </h1>
    );
  return (
    <h1 class="title">
      <select
        aria-label="recording"
        value={shown.number}
        onChange={(event) => showRecording(Number(event.currentTarget.value))}
      >
        {recordings.value.map((one) => (
          <option value={one.number}>
            {one.number + 1}/{recordings.value.length} {titleOf(one).slice(-80)}
          </option>
        ))}
      </select>
    </h1>
  );
}

function Search(): JSX.Element {
  return (
    <div class="search" role="search">
      <input
        type="search"
        placeholder="/ search"
        aria-label="search functions and files"
        value={search.value}
        onInput={(event) => (search.value = event.currentTarget.value)}
      />
    </div>
  );
}

const chooser: { current: HTMLInputElement | null } = { current: null };

/** One for all who let choose files. */
function Chooser({ openFiles }: { openFiles: OpenFiles }): JSX.Element {
  const open = (input: HTMLInputElement) => {
    if (input.files?.length) openFiles([...input.files]);
    input.value = ""; // the same one may be chosen again
  };
  return <input ref={(input) => void (chooser.current = input)} type="file" multiple hidden onChange={(event) => open(event.currentTarget)} />;
}

function Heading(): JSX.Element {
  const shown = recording.value;
  return (
    <header>
      <a class="skip" href="#view" onClick={(event) => skipTo(event)}>
        to the view
      </a>
      <b class="brand">sonde</b>
      <Title shown={shown} />
      <span class="facts">{shown ? headline(shown.summary) : ""}</span>
      <span class="space" />
      <output>{shown && foundWords.value}</output>
      {shown && engine.value?.canOpen && (
        <button type="button" class="framed" title="other recordings in place of what is shown, two to compare them; files can be dropped anywhere, too" onClick={() => chooser.current?.click()}>
          open
        </button>
      )}
      {shown && <MeasureChoice recording={shown} />}
      {shown && (
        <button type="button" class="framed" aria-pressed={own.value} title="key h: frames of libraries are left out, their time goes to their callers" onClick={() => (own.value = !own.value)}>
          own code
        </button>
      )}
      {shown && <Search />}
      <button
        type="button"
        title="light or dark"
        aria-label={dark.value ? "light colours" : "dark colours"}
        onClick={() => (theme.value = dark.value ? "light" : "dark")}
      >
        {dark.value ? "☀" : "☾"}
      </button>
      <button type="button" title="keys" aria-label="keys" aria-expanded={helpShown.value} onClick={() => (helpShown.value = !helpShown.value)}>
        ?
      </button>
    </header>
  );
}

/** The URL holds the page's state, so the link moves the focus itself. */
function skipTo(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main")?.focus();
}

function Tabs(): JSX.Element {
  return (
    <nav aria-label="views">
      {offered(recording.value).map(({ name, title }, index) => (
        <button
          type="button"
          key={name}
          title={`key ${(index + 1) % 10}`}
          aria-current={view.value === name ? "page" : undefined}
          onClick={() => (view.value = name)}
        >
          {title}
        </button>
      ))}
      <progress class={busy.value ? "busy" : ""} aria-hidden="true" />
    </nav>
  );
}

interface Filter {
  words: string;
  why?: string;
  off(): void;
}

/** What the views leave out or show alone; each can be switched off. */
function filters(shown: Recording): Filter[] {
  const { threads, processes, begin_ns } = shown.summary;
  const found: Filter[] = [];
  const ofThread = threads.find(({ id }) => id === thread.value);
  const ofProcess = processes.find(({ id }) => id === process.value);
  if (ofThread) found.push({ words: `thread ${ofThread.name} ${ofThread.tid}`, off: () => (thread.value = 0) });
  if (ofProcess) found.push({ words: `process ${ofProcess.pid}`, off: () => (process.value = 0) });
  for (const name of modules.value)
    found.push({ words: `through ${name}`, why: `${MODULE_WORDS}; Esc shows all`, off: () => toggleModule(name) });
  if (region.value) found.push({ words: `in ${region.value}`, why: `${REGION_WORDS}; Esc shows all`, off: () => (region.value = "") });
  if (range.value)
    found.push({
      words: `${distance(begin_ns, range.value[0])} to ${distance(begin_ns, range.value[1])}`,
      off: () => (range.value = null),
    });
  if (ranks.value) found.push({ words: `rank ${ranks.value}`, off: () => (ranks.value = "") });
  if (idle.value) found.push({ words: "with idle threads", off: () => (idle.value = false) });
  return found;
}

function Filters({ shown }: { shown: Recording }): JSX.Element | null {
  const found = filters(shown);
  if (!found.length) return null;
  return (
    <div class="filters" role="status">
      {found.map(({ words, why, off }) => (
        <button type="button" key={words} title={why} aria-label={`${words}: switch off`} onClick={off}>
          <bdi>{shortName(words, 60)}</bdi> ✕
        </button>
      ))}
    </div>
  );
}

function Help(): JSX.Element | null {
  const close = useRef<HTMLButtonElement>(null);
  const isShown = helpShown.value;
  useEffect(() => {
    if (isShown) close.current?.focus();
  }, [isShown]);
  if (!isShown) return null;
  return (
    <aside class="help" aria-label="keys">
      <button ref={close} type="button" class="close" aria-label="close" onClick={() => (helpShown.value = false)}>
        ✕
      </button>
      <h2>Keys</h2>
      <dl class="views">
        {offered(recording.value).map(({ title }, index) => (
          <>
            <dt>{(index + 1) % 10}</dt>
            <dd>{title}</dd>
          </>
        ))}
      </dl>
      <dl>
        {KEYS.map(({ keys, words }) => (
          <>
            <dt>{keys}</dt>
            <dd>{words}</dd>
          </>
        ))}
      </dl>
      <h2>Mouse</h2>
      <dl>
        <dt>click</dt>
        <dd>select everywhere; in pictures zoom, too</dd>
        <dt>double click</dt>
        <dd>a row or node: its source</dd>
        <dt>wheel, drag</dt>
        <dd>zoom and move</dd>
        <dt>drop files</dt>
        <dd>open them; two are compared</dd>
      </dl>
    </aside>
  );
}

function Welcome(): JSX.Element {
  return (
    <main class="welcome" tabIndex={-1}>
      <h1>Drop a recording here</h1>
      <p>
        .sonde, .prof, .lprof, mprof, speedscope, collapsed stacks or TAU's profiles; two at once are compared. Nothing leaves this computer. Or{" "}
        <button type="button" class="framed" onClick={() => chooser.current?.click()}>
          choose files
        </button>
      </p>
      <pre>sonde record script.py</pre>
    </main>
  );
}

/** A file is taken in piece by piece, then read at one go. */
function Opening(): JSX.Element {
  const { name, bytes, size } = taken.value;
  const isTaken = bytes >= size;
  return (
    <p class="empty hint" role="status">
      {isTaken ? "Reading" : "Opening"} {shortName(name.slice(name.lastIndexOf("/") + 1), 60)}…
      <progress aria-label="opening" value={isTaken ? undefined : bytes} max={size || 1} />
    </p>
  );
}

function Main(): JSX.Element | null {
  const shown = recording.value;
  if (!shown && opening.value) return <Opening />;
  if (!shown) return engine.value?.canOpen ? <Welcome /> : null;
  const chosen = VIEWS.find(({ name }) => name === view.value) ?? VIEWS[0];
  const made = [chosen.name, chosen.ofSeveral ? "" : shown.number, recordings.value.length].join(" ");
  return (
    <>
      <Filters shown={shown} />
      <div class="main">
        <main id="view" tabIndex={-1} aria-label={chosen.title} key={made}>
          <chosen.component recording={shown} />
        </main>
        <Inspector recording={shown} />
      </div>
      <Strip recording={shown} />
    </>
  );
}

/** Files are being dragged over the page. */
const isOver = signal(false);

function useDrop(openFiles: OpenFiles): void {
  useEffect(() => {
    const off = new AbortController();
    const on = (name: string, act: (event: DragEvent) => void) =>
      addEventListener(name, act as EventListener, { signal: off.signal });
    on("dragover", (event) => {
      event.preventDefault();
      isOver.value = !!event.dataTransfer?.types.includes("Files");
    });
    on("dragleave", (event) => {
      if (!event.relatedTarget) isOver.value = false;
    });
    on("drop", (event) => {
      event.preventDefault();
      isOver.value = false;
      if (!event.dataTransfer?.files.length) return;
      if (engine.value?.canOpen) openFiles([...event.dataTransfer.files]);
      else problem.value = "This page shows what sonde view was given. To open other files: sonde view FILE…, or sonde page -o viewer.html for a page that opens what is dropped on it.";
    });
    return () => off.abort();
  }, []);
}

/** Where the figures come from is not there just now. */
function Connection(): JSX.Element | null {
  const words = connected.value ? recording.value?.summary.state : "not connected, trying again";
  return words ? (
    <p class="connection" role="status">
      {shortName(words, 300)}
    </p>
  ) : null;
}

function Problem(): JSX.Element | null {
  if (!problem.value) return null;
  return (
    <p class="problem" role="alert">
      <span>{shortName(problem.value, 2000)}</span>
      <button type="button" aria-label="dismiss" onClick={() => (problem.value = "")}>
        ✕
      </button>
    </p>
  );
}

effect(() => {
  const shown = recording.value;
  const title = VIEWS.find(({ name }) => name === view.value)?.title;
  document.title = shown ? `${shown.summary.name.slice(-80)} · ${title ?? ""} · sonde` : "sonde";
});

export function Shell({ openFiles }: { openFiles: OpenFiles }): JSX.Element {
  useDrop(openFiles);
  return (
    <>
      <Heading />
      {recording.value && <Tabs />}
      <Connection />
      <Problem />
      <Main />
      <Chooser openFiles={openFiles} />
      <Help />
      {isOver.value && (
        <div class="over" aria-hidden="true">
          {engine.value?.canOpen ? "Drop to open" : "This page has its recordings from a server"}
        </div>
      )}
    </>
  );
}
