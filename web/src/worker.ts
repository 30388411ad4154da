// Runs the C core beside the page, so that nothing there ever waits for it.

import { ZSTDDecoder } from "zstddec";

interface Core {
  memory: WebAssembly.Memory;
  _initialize(): void;
  sonde_alloc(size: number): number;
  sonde_free(place: number): void;
  sonde_open(name: number, data: number, size: number): number;
  sonde_ask(json: number, size: number): void;
  sonde_answer(): number;
  sonde_answer_size(): number;
}

interface Message {
  id: number;
  wasm?: ArrayBuffer;
  ask?: string;
  /** A file of so many bytes will come in pieces; `open` then opens it under a name. */
  room?: number;
  piece?: ArrayBuffer;
  open?: string;
}

let core: Promise<Core> | undefined;

const decoder = new ZSTDDecoder();

function expand(memory: () => WebAssembly.Memory, data: number, size: number, out: number, outSize: number): number {
  try {
    const bytes = decoder.decode(new Uint8Array(memory().buffer, data, size), outSize);
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
  await decoder.init();
  exports = (await WebAssembly.instantiate(wasm, imports)).instance.exports as unknown as Core;
  exports._initialize();
  return exports;
}

const TOO_LARGE = "the recording does not fit into the browser's memory: use sonde view instead";

function put(core: Core, bytes: Uint8Array): number {
  const place = core.sonde_alloc(bytes.length);
  if (!place) throw new Error(TOO_LARGE);
  new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
  return place;
}

function takeAnswer(core: Core): ArrayBuffer {
  const place = core.sonde_answer();
  return core.memory.buffer.slice(place, place + core.sonde_answer_size());
}

/** The file that is being received: where its bytes go, and how many there are. */
const incoming = { place: 0, size: 0, filled: 0 };

function makeRoom(core: Core, size: number): void {
  core.sonde_free(incoming.place);
  Object.assign(incoming, { place: core.sonde_alloc(size), size, filled: 0 });
}

function receive(core: Core, piece: ArrayBuffer): void {
  const bytes = new Uint8Array(piece).subarray(0, incoming.size - incoming.filled);
  if (incoming.place) new Uint8Array(core.memory.buffer).set(bytes, incoming.place + incoming.filled);
  incoming.filled += bytes.length;
}

function open(core: Core, name: string): { number?: number; answer?: ArrayBuffer } {
  if (!incoming.place) throw new Error(TOO_LARGE);
  const namePlace = put(core, new TextEncoder().encode(`${name}\0`));
  const number = core.sonde_open(namePlace, incoming.place, incoming.filled);
  core.sonde_free(namePlace);
  core.sonde_free(incoming.place);
  incoming.place = 0;
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
  if (message.room !== undefined) makeRoom(ready, message.room);
  else if (message.piece) receive(ready, message.piece);
  else if (message.open !== undefined) {
    const { number, answer } = open(ready, message.open);
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
