// Threads as tracks on one axis of time: what each of them did, as it happened.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { AXIS } from "../axis";
import { counterRange, counterValue, meaningOfCounter, titleOfCounter } from "../counters";
import { takeKeys } from "../keys";
import type { Message } from "../message_lines";
import { bytes, count, distance, perCent, time } from "../numbers";
import { hasRanks, threadName, type Recording } from "../recording";
import { ask, color, dark, idle, matches, modules, onPrinting, own, problem, range } from "../state";
import { recording as shownRecording, region, selected, selection, thread, toggleRegion } from "../state";
import { Timeline as Tracks, type Found, type Placed } from "../timeline";
import { toSight, useSight } from "../sight";
import { showTip, Tip } from "../tip";
import { crowd, isOpen, regionName, type Reading, type Track } from "../tracks";
import type { ViewProps } from "../views";

/** Messages in sight that are too many to be drawn. */
const messagesHidden = signal(0);

function describeReading({ summary }: Recording, { counter, from, least, most }: Reading, event: MouseEvent): void {
  const figures: [string, string][] = [
    ["at", distance(summary.begin_ns, from)],
    ["value", counterRange(counter, least, most)],
    ["highest", `${counterValue(counter, counter.most)} at ${distance(summary.begin_ns, counter.most_ns)}`],
    ["mean", counterValue(counter, counter.mean)],
  ];
  showTip({ title: titleOfCounter(counter), place: meaningOfCounter(counter), figures }, event);
}

/** An instant, or several that lie too close to be drawn apart. */
function describeMark(recording: Recording, found: Found, event: MouseEvent): void {
  const figures: [string, string][] = [["at", distance(recording.summary.begin_ns, found.start)]];
  if (found.calls > 1) figures.push(["marks", `${count(found.calls)}, too close to be drawn apart; the first is this`]);
  showTip({ title: found.track.words(found.index), place: "mark", figures }, event);
}

function describeMessage({ summary }: Recording, { from, to, sent, received, size }: Message, event: MouseEvent): void {
  const nameOf = (id: number) => {
    const thread = summary.threads.find((one) => one.id === id);
    const process = summary.processes.find((one) => one.id === thread?.process);
    return process?.rank === undefined ? threadName(thread) : `rank ${process.rank}`;
  };
  const figures: [string, string][] = [
    ["size", bytes(size)],
    ["sent", distance(summary.begin_ns, sent)],
    ["received", `${distance(summary.begin_ns, received)}, ${distance(sent, received)} later`],
  ];
  showTip({ title: `${nameOf(from)} → ${nameOf(to)}`, place: "message", figures }, event);
}

function describe(recording: Recording, found: Found | Reading | Message | null, event: MouseEvent): void {
  if (!found) return showTip(null);
  if ("received" in found) return describeMessage(recording, found, event);
  if ("counter" in found) return describeReading(recording, found, event);
  const { codes } = recording;
  const figures: [string, string][] = [
    ...crowd(found.calls, found.line),
    found.isCut
      ? ["lasts", `at least ${time(found.size)}`]
      : ["lasts", `${time(found.size)} (${perCent(found.share)} of the run)`],
    ["from", `${distance(recording.summary.begin_ns, found.start)}${found.isCut ? " or before" : ""}`],
    ["thread", `${found.track.title} ${found.track.detail}`],
  ];
  if (found.track.kind === "mark") return describeMark(recording, found, event);
  if (found.track.kind === "region") showTip({ title: regionName(recording, found.code), place: "region", figures }, event);
  else showTip({ title: codes.name(found.code), place: codes.place(found.code, found.line), figures }, event);
}

/** A function is selected; of a region, what was done in it is shown alone, or no longer. */
function choose(recording: Recording, found: Found | null): void {
  if (found?.track.kind === "region") toggleRegion(regionName(recording, found.code));
  else if (found?.track.kind !== "mark") selected.value = found ? found.code : 0;
}

const TWO_LINES = 30;

/** "process 7 · solve.py" of "process 7 · /usr/bin/python3 /home/me/solve.py": there is little room. */
function shortDetail(detail: string): string {
  return detail.replace(/(^|· )\S*python[\d.]* (?=[^-\s])/, "$1").replace(/(^|· )\S*\//, "$1");
}

interface NameProps {
  placed: Placed;
  onToggle(track: Track): void;
}

function Name({ placed: { track, top, height }, onToggle }: NameProps): JSX.Element {
  const style = { top: `${top}px`, height: `${height}px` };
  if (track.kind === "process")
    return (
      <div class="name process" style={style} title={track.detail}>
        <b>{track.title}</b> <span>{shortDetail(track.detail)}</span>
      </div>
    );
  if (track.counter)
    return (
      <div class="name counter" style={style} title={track.detail}>
        <b>{track.title}</b>
        <small>highest {counterValue(track.counter, track.counter.most)}</small>
        <small>mean {counterValue(track.counter, track.counter.mean)}</small>
      </div>
    );
  if (track.kind === "region" || track.kind === "mark")
    return (
      <div class={`name region${height < TWO_LINES ? " low" : ""}`} style={style} title={track.kind === "mark" ? "instants that the program marked" : "named parts of the program"}>
        <b>{track.title}</b>
        {track.detail && <small>{track.detail}</small>}
      </div>
    );
  const only = thread.value === track.thread;
  return (
    <div class="name" style={style}>
      <button
        type="button"
        aria-expanded={isOpen(track)}
        title={isOpen(track) ? "show only a few levels" : "show all levels"}
        onClick={() => onToggle(track)}
      >
        {isOpen(track) ? "▾" : "▸"}
      </button>
      <button
        type="button"
        class="label"
        aria-pressed={only}
        title={only ? "all threads in the other views" : "only this thread in the other views"}
        onClick={() => (thread.value = only ? 0 : track.thread)}
      >
        {track.title} <small>{track.detail}</small>
      </button>
    </div>
  );
}

function onKey(tracks: Tracks, event: KeyboardEvent): boolean {
  if (event.key === "Enter" && range.value) tracks.zoomTo(range.value);
  else if (event.key !== "Escape") return tracks.camera.onKey(event, 60);
  else if (tracks.camera.seesWhole()) return false;
  else tracks.camera.reset();
  return true;
}

function Drawn({ recording, whole }: { recording: Recording; whole: [number, number] }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tracks = useRef<Tracks | null>(null);
  const latest = useRef(recording);
  latest.current = recording;
  const [placed, setPlaced] = useState<Placed[]>([]);
  const moved = useSight(() => tracks.current?.camera, whole);
  useEffect(() => {
    const made = (tracks.current = new Tracks(canvas.current!, {
      recording,
      whole,
      messages: hasRanks(recording),
      ask: (request) => {
        const { idle, own, modules, region } = selection.peek();
        return ask({ recording: latest.current.number, idle, own, modules, region, ...request });
      },
      onHover: (found, event) => describe(latest.current, found, event),
      onChoose: (found) => choose(latest.current, found),
      onRange: (chosen) => (range.value = chosen),
      onLayout: (now) => {
        setPlaced(now);
        moved();
      },
      onMessages: (hidden) => (messagesHidden.value = hidden),
      onFail: (error) => (problem.value = error.message),
      range: () => range.peek(),
    }));
    toSight(made.camera);
    const release = takeKeys((event) => onKey(made, event));
    const off = onPrinting(() => made.draw());
    return () => {
      off();
      made.close();
      messagesHidden.value = 0;
      showTip(null);
      release();
    };
  }, [recording.number]);
  useEffect(() => tracks.current!.forget(recording, whole), [recording, idle.value, own.value, modules.value, region.value]);
  // Read here so that a change of any of them draws again.
  const drawn = [dark.value, matches.value, selected.value, color.value, range.value];
  useEffect(() => tracks.current!.update(), drawn);
  return (
    <div class="tracks">
      <div class="names" onWheel={(event) => tracks.current!.camera.pan(0, event.deltaY)}>
        {placed.map((one) => (
          <Name key={one.track.key} placed={one} onToggle={(track) => tracks.current!.toggle(track)} />
        ))}
        <div class="corner" style={{ height: `${AXIS}px` }}>
          {recording.summary.timed ? "threads" : "counters"}
        </div>
      </div>
      <div class="picture">
        <canvas ref={canvas} class="stacks" aria-label="counters and threads over time; their names beside it and the table have the figures as text" />
      </div>
      <Tip />
    </div>
  );
}

export function Timeline({ recording }: ViewProps): JSX.Element {
  const current = shownRecording.value ?? recording;
  const { begin_ns, end_ns } = current.summary;
  if (!(end_ns > begin_ns))
    return (
      <p class="hint empty">
        Sums were recorded, not one time after the other: there is nothing to lay out over time. sonde record keeps the times.
      </p>
    );
  return (
    <div class="flame">
      <Drawn recording={current} whole={[begin_ns, end_ns]} />
      <p class="status">
        {current.summary.timed || current.summary.only_counters ? "" : "what functions took was added up and has no times · "}
        {messagesHidden.value > 0 && `${count(messagesHidden.value)} shorter messages are not drawn: zoom in · `}
        wheel: zoom · drag: move · shift-drag or drag on the axis: select a range
        {current.summary.timed && " · click: select · double click: zoom to it · i: idle time, too"}
      </p>
    </div>
  );
}
