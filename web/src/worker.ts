// Runs the C core beside the page, so that nothing there ever waits for it.

import { decompress } from "fzstd";

interface Core {
  memory: WebAssembly.Memory;
  _initialize(): void;
  sonde_alloc(size: number): number;
  sonde_free(place: number): void;
  sonde_open(name: number, data: number, size: number): number;
  sonde_close_all(): void;
  sonde_ask(json: number, size: number): void;
  sonde_answer(): number;
  sonde_answer_size(): number;
}

interface Message {
  id: number;
  wasm?: ArrayBuffer;
  ask?: string;
  open?: string;
  bytes?: ArrayBuffer;
  clear?: boolean;
}

let core: Promise<Core> | undefined;

function expand(memory: () => WebAssembly.Memory, data: number, size: number, out: number, outSize: number): number {
  try {
    const bytes = decompress(new Uint8Array(memory().buffer, data, size).slice(), new Uint8Array(outSize));
    if (bytes.length !== outSize) return -1;
    new Uint8Array(memory().buffer, out, outSize).set(bytes);
    return 0;
  } catch {
    return -1;
  }
}

async function start(wasm: ArrayBuffer): Promise<Core> {
  let exports: Core | undefined;
  const nothing = () => 52; // not supported: the core has no files
  const imports = {
    page: {
      expand: (data: number, size: number, out: number, outSize: number) =>
        expand(() => exports!.memory, data, size, out, outSize),
    },
    wasi_snapshot_preview1: { fd_close: nothing, fd_seek: nothing, fd_write: nothing },
  };
  exports = (await WebAssembly.instantiate(wasm, imports)).instance.exports as unknown as Core;
  exports._initialize();
  return exports;
}

function put(core: Core, bytes: Uint8Array): number {
  const place = core.sonde_alloc(bytes.length);
  if (!place) throw new Error("the recording does not fit into the browser's memory: use sonde view instead");
  new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
  return place;
}

function takeAnswer(core: Core): ArrayBuffer {
  const place = core.sonde_answer();
  return core.memory.buffer.slice(place, place + core.sonde_answer_size());
}

function open(core: Core, name: string, bytes: ArrayBuffer): { number?: number; answer?: ArrayBuffer } {
  const namePlace = put(core, new TextEncoder().encode(`${name}\0`));
  const place = put(core, new Uint8Array(bytes));
  const number = core.sonde_open(namePlace, place, bytes.byteLength);
  core.sonde_free(place);
  core.sonde_free(namePlace);
  return number < 0 ? { answer: takeAnswer(core) } : { number };
}

function ask(core: Core, json: string): ArrayBuffer {
  const bytes = new TextEncoder().encode(json);
  const place = put(core, bytes);
  core.sonde_ask(place, bytes.length);
  core.sonde_free(place);
  return takeAnswer(core);
}

/** The words of an answer that is an error. */
function errorOf(answer: ArrayBuffer): string {
  const head = new Uint8Array(answer, 8, new DataView(answer).getUint32(4, true));
  return JSON.parse(new TextDecoder().decode(head)).error;
}

async function reply(message: Message): Promise<void> {
  const ready = await core!;
  if (message.clear) {
    ready.sonde_close_all();
    postMessage({ id: message.id });
  } else if (message.open !== undefined) {
    const { number, answer } = open(ready, message.open, message.bytes!);
    postMessage({ id: message.id, number, error: answer && errorOf(answer) });
  } else {
    const answer = ask(ready, message.ask!);
    postMessage({ id: message.id, answer }, { transfer: [answer] });
  }
}

onmessage = (event: MessageEvent<Message>) => {
  if (event.data.wasm) {
    core = start(event.data.wasm);
    return;
  }
  reply(event.data).catch((error: unknown) =>
    postMessage({ id: event.data.id, error: error instanceof Error ? error.message : String(error) }),
  );
};
