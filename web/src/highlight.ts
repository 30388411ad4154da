// A worker of its own: finds the coloured pieces of source text. It is started when source is first looked at; a long file
// takes longer than a page may stand still.

import highlighter from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import python from "highlight.js/lib/languages/python";

import type { Colours } from "./coloured";

interface Question {
  id: number;
  language: string;
  text: string;
}

highlighter.registerLanguage("python", python);
highlighter.registerLanguage("cpp", cpp);

const LETTERS: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };
const MARKUP = /<span class="([^"]*)">|<\/span>|&(?:amp|lt|gt|quot|#x27);/g;

/** The highlighter gives markup; of it the classes are kept, and how long each piece is. */
function coloursOf(markup: string): Colours {
  const kinds: string[] = [""];
  const [ends, kind]: number[][] = [[], []];
  const open: number[] = [0];
  let [at, last] = [0, 0];
  const go = (length: number) => {
    if (!length) return;
    at += length;
    const now = open[open.length - 1];
    if (kind.length && kind[kind.length - 1] === now) ends[ends.length - 1] = at;
    else {
      ends.push(at);
      kind.push(now);
    }
  };
  for (const found of markup.matchAll(MARKUP)) {
    go(found.index - last);
    last = found.index + found[0].length;
    if (LETTERS[found[0]]) go(1);
    else if (found[1] === undefined) open.pop();
    else {
      if (!kinds.includes(found[1])) kinds.push(found[1]);
      open.push(kinds.indexOf(found[1]));
    }
  }
  go(markup.length - last);
  return { kinds, ends: Uint32Array.from(ends), kind: Uint8Array.from(kind) };
}

onmessage = ({ data: { id, language, text } }: MessageEvent<Question>) => {
  const colours = coloursOf(highlighter.highlight(text, { language, ignoreIllegals: true }).value);
  postMessage({ id, colours }, { transfer: [colours.ends.buffer, colours.kind.buffer] });
};
