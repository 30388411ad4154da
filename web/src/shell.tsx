// The page's frame: heading, tabs, the view, the inspector.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Inspector } from "./inspector";
import { KEYS, helpShown } from "./keys";
import { count, time } from "./numbers";
import type { Summary } from "./recording";
import { Strip } from "./strip";
import { busy, dark, engine, matches, problem, recording, recordings, search, theme, view } from "./state";
import { VIEWS } from "./views";

type OpenFiles = (files: Iterable<File>) => void;

/** What was recorded, in one line. */
function headline(summary: Summary): string {
  const parts = [];
  const { meta } = summary;
  const length = summary.end_ns - summary.begin_ns;
  if (length > 0) parts.push(time(length));
  if (meta.samples) parts.push(`${count(Number(meta.samples))} samples`, `${count(Number(meta.errors ?? 0))} errors`);
  if (meta.python) parts.push(`Python ${meta.python}`);
  if (summary.processes.length > 1) parts.push(`${summary.processes.length} processes`);
  return parts.join(" · ");
}

function Heading(): JSX.Element {
  const shown = recording.value;
  const found = matches.value;
  return (
    <header>
      <b class="brand">sonde</b>
      <span class="title" title={shown?.summary.meta.command}>
        {shown?.summary.name ?? ""}
      </span>
      <span class="facts">{shown ? headline(shown.summary) : ""}</span>
      <span class="space" />
      <label class="search">
        <input
          type="search"
          placeholder="/ search"
          aria-label="search functions and files"
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        <output>{found ? `${count(found.size)} found` : ""}</output>
      </label>
      <button type="button" title="light or dark" onClick={() => (theme.value = dark.value ? "light" : "dark")}>
        {dark.value ? "☀" : "☾"}
      </button>
      <button type="button" title="keys" onClick={() => (helpShown.value = !helpShown.value)}>
        ?
      </button>
    </header>
  );
}

function Tabs(): JSX.Element {
  return (
    <nav aria-label="views">
      {VIEWS.map(({ name, title }, index) => (
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

function Help(): JSX.Element | null {
  if (!helpShown.value) return null;
  return (
    <aside class="help" role="note">
      <h2>Keys</h2>
      <dl>
        {KEYS.map(({ keys, words }) => (
          <>
            <dt>{keys}</dt>
            <dd>{words}</dd>
          </>
        ))}
      </dl>
    </aside>
  );
}

function Welcome({ openFiles }: { openFiles: OpenFiles }): JSX.Element {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <div class="welcome">
      <h1>Drop a recording here</h1>
      <p>
        .sonde, .prof, speedscope or collapsed stacks. Nothing leaves this computer. Or{" "}
        <button type="button" onClick={() => chooser.current!.click()}>
          choose files
        </button>
      </p>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={(event) => openFiles(event.currentTarget.files ?? [])}
      />
    </div>
  );
}

function Main({ openFiles }: { openFiles: OpenFiles }): JSX.Element | null {
  const shown = recording.value;
  if (!shown) return problem.value || !engine.value?.canOpen ? null : <Welcome openFiles={openFiles} />;
  const chosen = VIEWS.find(({ name }) => name === view.value) ?? VIEWS[0];
  return (
    <div class="main">
      <main key={`${chosen.name} ${recordings.value.length}`}>
        <chosen.component recording={shown} />
      </main>
      <Inspector recording={shown} />
    </div>
  );
}

function useDrop(openFiles: OpenFiles): void {
  useEffect(() => {
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      if (engine.value?.canOpen && event.dataTransfer?.files.length) openFiles(event.dataTransfer.files);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
}

export function Shell({ openFiles }: { openFiles: OpenFiles }): JSX.Element {
  useDrop(openFiles);
  return (
    <>
      <Heading />
      <Tabs />
      {problem.value && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      <Main openFiles={openFiles} />
      {recording.value && <Strip recording={recording.value} />}
      <Help />
    </>
  );
}
