// What the page carries as base64, and files that are given to it, as bytes.

import type { Source } from "./engine";

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const decode = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (decode) return decode(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const turn = new MessageChannel();
const waiting: (() => void)[] = [];
turn.port1.onmessage = () => waiting.shift()?.();

/** Lets the browser draw and react, and whatever else waits: unlike after scheduler.yield(), timers have their turn. */
export function pause(): Promise<void> {
  return new Promise((done) => {
    waiting.push(done);
    turn.port2.postMessage(0);
  });
}

const PIECE = 4 << 20;
/** A few milliseconds of work; four digits are three bytes. */
const DIGITS = 1 << 20;

/** Browsers keep a long text as many, which are let go of one by one. */
async function* decoded(block: Element): AsyncIterable<ArrayBuffer> {
  let digits = "";
  while (digits || block.firstChild) {
    for (let text; digits.length < DIGITS && (text = block.firstChild); text.remove()) digits += text.textContent;
    yield fromBase64(digits.slice(0, DIGITS)).buffer;
    digits = digits.slice(DIGITS);
    await pause();
  }
  block.remove();
}

function sizeOf(block: Element): number {
  let digits = 0;
  for (const text of block.childNodes) digits += (text as Text).length;
  const last = block.lastChild?.textContent?.slice(-2) ?? "";
  return (digits / 4) * 3 - (last.endsWith("==") ? 2 : last.endsWith("=") ? 1 : 0);
}

/** The recordings in the page; each can be read once. */
export function carriedSources(): Source[] {
  const blocks = [...document.querySelectorAll<HTMLScriptElement>("script.recording")];
  return blocks.map((block) => ({
    name: block.dataset.name ?? "recording",
    size: sizeOf(block),
    pieces: decoded(block),
  }));
}

async function* read(file: File): AsyncIterable<ArrayBuffer> {
  for (let at = 0; at < file.size; at += PIECE) yield await file.slice(at, at + PIECE).arrayBuffer();
}

export function fileSource(file: File): Source {
  return { name: file.name, size: file.size, pieces: read(file) };
}
