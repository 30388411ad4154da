// Asks the graphviz worker for a layout, and takes of its SVG only what a picture needs.

import { startWorker } from "./engine";

interface Reply {
  id: number;
  svg?: string;
  error?: string;
}

let worker: Promise<Worker> | undefined;
let count = 0;

/** Graphviz knows how wide text is in Arial; of a list of fonts it knows nothing, and makes boxes too narrow. */
function measurable(dot: string): string {
  return dot.replaceAll('fontname="Helvetica,Arial,sans-serif"', 'fontname="Arial"');
}

/** SVG text. A layout that nobody waits for any more is given up with its worker: it may take long. */
export async function layOut(dot: string, signal: AbortSignal): Promise<string> {
  const made = await (worker ??= startWorker("graphviz"));
  const id = ++count;
  return new Promise((resolve, reject) => {
    const stop = () => {
      made.terminate();
      worker = undefined;
      reject(new DOMException("given up", "AbortError"));
    };
    const receive = ({ data }: MessageEvent<Reply>) => {
      if (data.id !== id) return;
      made.removeEventListener("message", receive);
      signal.removeEventListener("abort", stop);
      if (data.svg !== undefined) resolve(data.svg);
      else reject(new Error(`the graph cannot be laid out: ${data.error}`));
    };
    if (signal.aborted) return stop();
    made.onerror = (event) => reject(new Error(event.message || "graphviz cannot run here"));
    made.addEventListener("message", receive);
    signal.addEventListener("abort", stop);
    made.postMessage({ id, dot: measurable(dot) });
  });
}

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "title", "path", "polygon", "polyline", "ellipse", "text"]);
const ATTRIBUTES = new Set(
  ("id class d points x y cx cy rx ry width height viewBox transform fill stroke stroke-width stroke-dasharray " +
    "text-anchor font-family font-size font-weight fill-opacity stroke-opacity").split(" "),
);

/** Copies elements that only draw, with attributes that only shape; links give way to what is in them. */
function copyInto(target: Element, from: Element): void {
  for (const child of from.children) {
    if (!ELEMENTS.has(child.localName)) {
      copyInto(target, child);
      continue;
    }
    const copy = document.createElementNS(SVG, child.localName);
    for (const { name, value } of child.attributes) if (ATTRIBUTES.has(name)) copy.setAttribute(name, value);
    if (!child.children.length) copy.textContent = child.textContent;
    target.append(copy);
    copyInto(copy, child);
  }
}

export function safeSvg(text: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const holder = document.createElementNS(SVG, "g");
  copyInto(holder, parsed as unknown as Element);
  const svg = holder.firstElementChild;
  if (!(svg instanceof SVGSVGElement)) throw new Error("graphviz gave no picture");
  return svg;
}
