// Source text as coloured pieces, line by line.

import highlighter from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import python from "highlight.js/lib/languages/python";

highlighter.registerLanguage("python", python);
highlighter.registerLanguage("cpp", cpp);

/** A piece of a line; `kind` is highlight.js's class, "" = plain. */
export interface Piece {
  kind: string;
  text: string;
}

/** Larger files are shown without colours: they would hold the page up. */
const LARGEST = 300_000;

function languageOf(path: string): string {
  if (/\.(py|pyw|pyi|pyx|pxd)$/i.test(path)) return "python";
  return /\.(c|cc|cpp|cxx|h|hh|hpp|cu|cuh)$/i.test(path) ? "cpp" : "";
}

function plain(text: string): Piece[][] {
  return text.split("\n").map((line) => [{ kind: "", text: line }]);
}

/** The highlighter gives markup: its text and classes are taken, its elements are not. */
function addPieces(lines: Piece[][], node: Node, kind: string): void {
  for (const child of node.childNodes) {
    if (child instanceof Element) {
      addPieces(lines, child, child.className || kind);
      continue;
    }
    (child.textContent ?? "").split("\n").forEach((text, index) => {
      if (index) lines.push([]);
      if (text) lines[lines.length - 1].push({ kind, text });
    });
  }
}

export function coloured(path: string, text: string): Piece[][] {
  const language = languageOf(path);
  if (!language || text.length > LARGEST) return plain(text);
  const markup = highlighter.highlight(text, { language, ignoreIllegals: true }).value;
  const lines: Piece[][] = [[]];
  addPieces(lines, new DOMParser().parseFromString(`<pre>${markup}</pre>`, "text/html").querySelector("pre")!, "");
  return lines;
}

export function uncoloured(text: string): Piece[][] {
  return plain(text);
}
