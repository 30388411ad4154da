// Who calls whom, laid out by graphviz in the page.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Answer } from "../answer";
import { useAnswer } from "../asking";
import { css, heatColor, pixel, textOn } from "../colors";
import { saveFile, stem } from "../files";
import { functions, rowOf } from "../functions";
import { takeKeys } from "../keys";
import { layOut, safeSvg } from "../layout";
import { count } from "../numbers";
import type { Recording } from "../recording";
import { dark, keepChoice, matches, problem, selected, selection, showSource } from "../state";
import type { ViewProps } from "../views";

/** More than these nobody can read, and the layout takes seconds. */
const MOST_NODES = 200;
/** Thresholds in per cent: the sliders' steps. */
const STEPS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];

const nodeStep = signal(6);
const edgeStep = signal(4);
const bySelf = signal(false);
keepChoice("nodes", nodeStep, [...STEPS.keys()]);
keepChoice("edges", edgeStep, [...STEPS.keys()]);
keepChoice("heat", bySelf, [true, false]);

interface Graph {
  dot: string;
  code: Uint32Array;
  calls: number;
  above: number;
  all: number;
}

function decode(answer: Answer): Graph {
  const { calls, functions_above, all_functions } = answer.values;
  return { dot: answer.texts("dot")(0), code: answer.numbers("code"), calls, above: functions_above, all: all_functions };
}

/** A graph and its picture. */
interface Drawn {
  graph: Graph;
  svg: SVGSVGElement;
}

/** The last graph that was laid out. */
function useLayout(graph: Graph | null): Drawn | null {
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  useEffect(() => {
    if (!graph) return undefined;
    const giveUp = new AbortController();
    layOut(graph.dot, giveUp.signal).then(
      (text) => {
        if (!giveUp.signal.aborted) setDrawn({ graph, svg: safeSvg(text) });
      },
      (error: Error) => {
        if (error.name !== "AbortError") problem.value = error.message;
      },
    );
    return () => giveUp.abort();
  }, [graph]);
  return drawn;
}

/** Which function a node or its parts stand for; 0 = none. Graphviz names node N after its number in a <title>. */
function codeOf(graph: Graph, element: Element | null): number {
  const node = element?.closest(".node");
  const number = Number(node?.querySelector("title")?.textContent ?? NaN);
  return graph.code[number] ?? 0;
}

interface Paint {
  graph: Graph;
  recording: Recording;
  night: boolean;
  self: boolean;
}

function paintNode(node: Element, code: number, weight: number, { night }: Paint): void {
  const color = heatColor(weight, night);
  const isSelected = code === selected.value;
  for (const shape of node.querySelectorAll("path, polygon")) {
    shape.setAttribute("fill", css(color));
    shape.setAttribute("stroke", isSelected ? "#1e8cff" : css(heatColor(Math.min(1, weight + 0.25), night)));
    shape.setAttribute("stroke-width", isSelected ? "4" : "1");
  }
  for (const text of node.querySelectorAll("text")) text.setAttribute("fill", css(textOn(pixel(color))));
  const found = matches.value;
  node.setAttribute("class", `node${found && !found.has(code) ? " faint" : ""}`);
}

/** Heat by total or by self; the lines between take the page's own colour. */
function paint(svg: SVGSVGElement, how: Paint): void {
  const table = functions.value;
  if (!table) return;
  const values = how.self ? table.self : table.total;
  const weights = Array.from(how.graph.code, (code) => values[rowOf.value.get(code) ?? -1] ?? 0);
  const largest = Math.max(...weights, 1);
  const ink = how.night ? "#a3adb9" : "#5b6470";
  for (const node of svg.querySelectorAll(".node")) {
    const number = Number(node.querySelector("title")?.textContent);
    paintNode(node, how.graph.code[number], weights[number] / largest, how);
  }
  for (const line of svg.querySelectorAll(".edge path, .edge polygon")) line.setAttribute("stroke", ink);
  for (const head of svg.querySelectorAll(".edge polygon, .edge text")) head.setAttribute("fill", ink);
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Moves and zooms an SVG by its viewBox. */
class Camera {
  private readonly whole: Box;
  private box: Box;
  private readonly off = new AbortController();

  constructor(
    private readonly svg: SVGSVGElement,
    private readonly onClick: (element: Element, twice: boolean) => void,
  ) {
    const [x, y, width, height] = (svg.getAttribute("viewBox") ?? "0 0 100 100").split(/[ ,]+/).map(Number);
    this.whole = { x, y, width, height };
    this.box = { ...this.whole };
    svg.setAttribute("width", "100%");
    svg.setAttribute("height", "100%");
    this.listen();
    this.reset();
  }

  close(): void {
    this.off.abort();
  }

  private show(): void {
    const { x, y, width, height } = this.box;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  }

  /** The whole where it can be read, else its upper part. */
  reset(): void {
    const { width: seenWidth, height: seenHeight } = this.svg.getBoundingClientRect();
    const pointsPerPixel = Math.max(this.whole.width / (seenWidth || 1), this.whole.height / (seenHeight || 1));
    const scale = Math.min(pointsPerPixel, 1.4);
    const [width, height] = [seenWidth * scale, seenHeight * scale];
    const y = pointsPerPixel > scale ? this.whole.y : this.whole.y - (height - this.whole.height) / 2;
    this.box = { x: this.middle(width) - width / 2, y, width, height };
    this.show();
  }

  /** Of what is seen when `width` is: the first node's, which is the hottest, where not all fits. */
  private middle(width: number): number {
    const { x, width: all } = this.whole;
    const node = this.svg.querySelector<SVGGraphicsElement>(".node");
    if (width >= all || !node) return x + all / 2;
    const box = node.getBBox();
    return Math.min(x + all - width / 2, Math.max(x + width / 2, box.x + box.width / 2));
  }

  /** All of it, however small. */
  fit(): void {
    this.box = { ...this.whole };
    this.show();
  }

  zoom(factor: number, clientX?: number, clientY?: number): void {
    const seen = this.svg.getBoundingClientRect();
    const atX = this.box.x + this.box.width * (clientX === undefined ? 0.5 : (clientX - seen.left) / seen.width);
    const atY = this.box.y + this.box.height * (clientY === undefined ? 0.5 : (clientY - seen.top) / seen.height);
    const limited = Math.min(Math.max(factor, 40 / this.box.width), (4 * Math.max(this.whole.width, 400)) / this.box.width);
    this.box = {
      x: atX - (atX - this.box.x) * limited,
      y: atY - (atY - this.box.y) * limited,
      width: this.box.width * limited,
      height: this.box.height * limited,
    };
    this.show();
  }

  pan(x: number, y: number): void {
    const scale = this.box.width / (this.svg.getBoundingClientRect().width || 1);
    this.box.x += x * scale;
    this.box.y += y * scale;
    this.show();
  }

  private on<K extends keyof SVGElementEventMap>(name: K, act: (event: SVGElementEventMap[K]) => void): void {
    this.svg.addEventListener(name, act, { signal: this.off.signal, passive: false });
  }

  private listen(): void {
    let from: { x: number; y: number; moved: boolean } | null = null;
    this.on("pointerdown", (event) => (from = { x: event.clientX, y: event.clientY, moved: false }));
    this.on("pointermove", (event) => {
      if (!from || !event.buttons) return;
      const [x, y] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.moved && Math.hypot(x, y) < 4) return;
      this.svg.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, moved: true };
      this.pan(-x, -y);
    });
    this.on("click", (event) => {
      if (!from?.moved) this.onClick(event.target as Element, false);
      from = null;
    });
    this.on("dblclick", (event) => this.onClick(event.target as Element, true));
    this.on("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 300), event.clientX, event.clientY);
    });
  }

  onKey(event: KeyboardEvent): boolean {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-80, 0),
      a: () => this.pan(-80, 0),
      ArrowRight: () => this.pan(80, 0),
      d: () => this.pan(80, 0),
      ArrowUp: () => this.pan(0, -80),
      ArrowDown: () => this.pan(0, 80),
      w: () => this.zoom(0.8),
      s: () => this.zoom(1.25),
      "+": () => this.zoom(0.8),
      "-": () => this.zoom(1.25),
      f: () => this.fit(),
    };
    actions[event.key]?.();
    if (event.key === "Escape") this.reset();
    return event.key in actions;
  }
}

function Slider(props: { label: string; step: typeof nodeStep }): JSX.Element {
  const { label, step } = props;
  return (
    <label>
      {label}{" "}
      <input
        type="range"
        min={0}
        max={STEPS.length - 1}
        value={step.value}
        aria-valuetext={`${STEPS[step.value]} per cent`}
        onInput={(event) => (step.value = Number(event.currentTarget.value))}
      />{" "}
      <output>{STEPS[step.value]} %</output>
    </label>
  );
}

/** The picture as a file of its own: with a ground, and a size in points. */
function svgText(svg: SVGSVGElement): { text: string; width: number; height: number } {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [, , width, height] = (svg.dataset.whole ?? "0 0 100 100").split(" ").map(Number);
  copy.setAttribute("viewBox", svg.dataset.whole!);
  copy.setAttribute("width", `${width}pt`);
  copy.setAttribute("height", `${height}pt`);
  copy.removeAttribute("data-whole");
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const [x, y] = svg.dataset.whole!.split(" ");
  const box = { x, y, width, height, fill: dark.value ? "#17191c" : "#ffffff" };
  for (const [name, value] of Object.entries(box)) ground.setAttribute(name, String(value));
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function savePng(name: string, svg: SVGSVGElement): void {
  const { text, width, height } = svgText(svg);
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(2, 16_000 / Math.max(width, height));
    const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: height * scale });
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && saveFile(`${name}.png`, blob), "image/png");
  };
  image.onerror = () => (problem.value = "the browser cannot turn this graph into a PNG; save it as SVG");
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
}

function Saving({ recording, drawn: { graph, svg } }: { recording: Recording; drawn: Drawn }): JSX.Element {
  const name = `${stem(recording.summary.name)}-graph`;
  return (
    <span class="saving">
      Save{" "}
      <button type="button" onClick={() => saveFile(`${name}.svg`, new Blob([svgText(svg).text], { type: "image/svg+xml" }))}>
        SVG
      </button>
      <button type="button" onClick={() => savePng(name, svg)}>
        PNG
      </button>
      <button type="button" onClick={() => saveFile(`${name}.dot`, new Blob([graph.dot], { type: "text/vnd.graphviz" }))}>
        dot
      </button>
    </span>
  );
}

function Choices({ recording, drawn }: { recording: Recording; drawn: Drawn | null }): JSX.Element {
  return (
    <div class="choices" role="toolbar" aria-label="the graph">
      <Slider label="functions from" step={nodeStep} />
      <Slider label="calls from" step={edgeStep} />
      <label>
        colour{" "}
        <select value={bySelf.value ? "self" : "total"} onChange={(event) => (bySelf.value = event.currentTarget.value === "self")}>
          <option value="total">total</option>
          <option value="self">self</option>
        </select>
      </label>
      <span class="space" />
      {drawn && <Saving recording={recording} drawn={drawn} />}
    </div>
  );
}

function statusText(graph: Graph, isBusy: boolean): string {
  const drawn = graph.code.length;
  const parts = [`${count(drawn)} of ${count(graph.all)} functions, ${count(graph.calls)} calls`];
  if (graph.above > drawn) parts.push(`the ${count(drawn)} hottest of ${count(graph.above)} above the threshold: raise it, or search`);
  parts.push(isBusy ? "laying out…" : "wheel: zoom · drag: move · F: all · double click: source");
  return parts.join(" · ");
}

function Drawing({ drawn: { graph, svg }, recording }: { drawn: Drawn; recording: Recording }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    svg.dataset.whole ??= svg.getAttribute("viewBox")!;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "call graph; the table has the same figures as text");
    place.current!.replaceChildren(svg);
    const camera = new Camera(svg, (element, twice) => {
      const code = codeOf(graph, element);
      if (twice && code) showSource(code);
      else if (code) selected.value = code;
    });
    const release = takeKeys((event) => camera.onKey(event));
    return () => {
      camera.close();
      release();
    };
  }, [svg]);
  // Before the next picture, which may be one on paper.
  useLayoutEffect(
    () => paint(svg, { graph, recording, night: dark.value, self: bySelf.value }),
    [svg, dark.value, bySelf.value, selected.value, matches.value, functions.value],
  );
  return <div class="drawing" ref={place} />;
}

export function Graph({ recording }: ViewProps): JSX.Element {
  const request = {
    ask: "graph",
    recording: recording.number,
    node_share: STEPS[nodeStep.value] / 100,
    edge_share: STEPS[edgeStep.value] / 100,
    by_self: bySelf.value,
    limit: MOST_NODES,
    ...selection.value,
  };
  const graph = useAnswer(request, decode, [recording]);
  const drawn = useLayout(graph);
  const isEmpty = graph && !graph.code.length;
  return (
    <div class="graph">
      <Choices recording={recording} drawn={drawn} />
      {isEmpty && <p class="hint empty">No function is above the threshold: move the slider to the left.</p>}
      {!isEmpty && drawn && <Drawing drawn={drawn} recording={recording} />}
      {!isEmpty && !drawn && <p class="hint empty">Laying out…</p>}
      <p class="status" aria-live="polite">
        {graph ? statusText(graph, drawn?.graph !== graph) : ""}
      </p>
    </div>
  );
}
