// The two ways to ask: sonde compiled to WebAssembly in a worker of this page, or a sonde that serves it.

import { Answer } from "./answer";
import { fromBase64 } from "./carried";

export interface Request {
  ask: string;
  recording?: number;
  [field: string]: unknown;
}

/** The bytes of a recording, piece by piece: it may be large, and the page goes on meanwhile. */
export interface Source {
  name: string;
  size: number;
  pieces: AsyncIterable<ArrayBuffer>;
}

export interface Follower {
  /** It has grown or has ended; undefined = whatever there is may be another: the connection was lost for a while. */
  changed(recording?: number): Promise<void>;
  /** Whether the server is there. */
  connected(isThere: boolean): void;
  /** The server is about to go: now or never its recording can be had whole. */
  leaving(recording: Source): Promise<Engine>;
}

export interface Engine {
  ask(request: Request): Promise<Answer>;
  /** Adds a recording; gives its number, and tells meanwhile how many of its bytes were taken. A server has its own files
   *  and refuses. */
  open(source: Source, onBytes: (taken: number) => void): Promise<number>;
  /** Nothing more will be asked. */
  close(): void;
  readonly canOpen: boolean;
  /** Calls back about recordings that grow; only a server's can. */
  follow?(follower: Follower): void;
}

/** A gzipped block of the page (`<script type="text/plain" id=…>`), unpacked. */
export async function unpacked(id: string): Promise<ArrayBuffer> {
  const bytes = fromBase64(document.getElementById(id)?.textContent?.trim() ?? "");
  const stream = new Response(bytes).body!.pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** A worker whose script is such a block. */
export async function startWorker(id: string): Promise<Worker> {
  return new Worker(URL.createObjectURL(new Blob([await unpacked(id)], { type: "text/javascript" })));
}

interface Reply {
  id: number;
  error?: string;
  answer?: ArrayBuffer;
  number?: number;
}

export class WorkerEngine implements Engine {
  readonly canOpen = true;
  private readonly worker: Promise<Worker>;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private count = 0;
  private isClosed = false;

  constructor() {
    this.worker = this.start();
  }

  private async start(): Promise<Worker> {
    const worker = await startWorker("worker");
    worker.onmessage = (event: MessageEvent<Reply>) => {
      this.waiting.get(event.data.id)?.(event.data);
      this.waiting.delete(event.data.id);
      void this.endIfIdle();
    };
    worker.onerror = (event) => this.fail(event.message || "the page's worker cannot run here");
    const wasm = await unpacked("wasm");
    worker.postMessage({ wasm }, [wasm]);
    return worker;
  }

  private fail(error: string): void {
    for (const [id, done] of this.waiting) done({ id, error });
    this.waiting.clear();
  }

  private async send(message: object, transfer: Transferable[] = []): Promise<Reply> {
    const worker = await this.worker;
    const id = ++this.count;
    const reply = new Promise<Reply>((resolve) => this.waiting.set(id, resolve));
    worker.postMessage({ ...message, id }, transfer);
    const got = await reply;
    if (got.error !== undefined) throw new Error(got.error);
    return got;
  }

  async ask(request: Request): Promise<Answer> {
    return new Answer((await this.send({ ask: JSON.stringify(request) })).answer!);
  }

  async open({ name, size, pieces }: Source, onBytes: (taken: number) => void): Promise<number> {
    const worker = await this.worker;
    worker.postMessage({ room: size });
    let taken = 0;
    for await (const piece of pieces) {
      onBytes((taken += piece.byteLength));
      worker.postMessage({ piece }, [piece]);
    }
    return (await this.send({ open: name })).number!;
  }

  close(): void {
    this.isClosed = true;
    void this.endIfIdle();
  }

  /** What was asked before is still answered: somebody waits for it. */
  private async endIfIdle(): Promise<void> {
    if (this.isClosed && !this.waiting.size) (await this.worker).terminate();
  }
}

const RETRY_MS = 500;

/** A server that serves a run while it is recorded gives the recording itself, piece by piece. */
async function servedSource(): Promise<Source> {
  const first = await fetch("recording?from=0");
  if (!first.ok) throw new Error(`sonde answers ${first.status} ${first.statusText}`);
  const size = Number(first.headers.get("X-Sonde-Size"));
  async function* pieces(): AsyncIterable<ArrayBuffer> {
    let piece = await first.arrayBuffer();
    for (let at = piece.byteLength; ; at += piece.byteLength) {
      yield piece;
      if (at >= size) return;
      piece = await (await fetch(`recording?from=${at}`)).arrayBuffer();
    }
  }
  return { name: "", size, pieces: pieces() };
}

export class ServerEngine implements Engine {
  readonly canOpen = false;
  private follower?: Follower;
  private events?: EventSource;
  /** What has taken the recording over. */
  private successor?: Engine;
  private isLeaving = false;

  /** A question waits while the server is not there; the page goes on where it was. */
  async ask(request: Request): Promise<Answer> {
    for (;;) {
      if (this.successor) return this.successor.ask(request);
      try {
        const response = await fetch("ask", { method: "POST", body: JSON.stringify(request) });
        if (!response.ok) throw new Error(`sonde answers ${response.status} ${response.statusText}`);
        return new Answer(await response.arrayBuffer());
      } catch (error) {
        if (!(error instanceof TypeError) || !this.follower) throw error;
        this.follower.connected(false);
      }
      await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }

  /** While one change is being taken in, those that come are put together: what is slow is done seldom. */
  follow(follower: Follower): void {
    const waiting = new Set<number | undefined>();
    let atWork = false;
    const take = async (number?: number) => {
      waiting.add(number);
      if (atWork) return;
      atWork = true;
      for (const number of waiting) {
        waiting.delete(number);
        await follower.changed(number);
      }
      atWork = false;
    };
    this.follower = follower;
    this.listen(take, false);
  }

  private listen(take: (number?: number) => void, again: boolean): void {
    const events = new EventSource("events");
    this.events = events;
    const told = (event: MessageEvent<string>) => take(JSON.parse(event.data).recording);
    events.addEventListener("grown", told);
    events.addEventListener("ended", told);
    events.addEventListener("leaving", () => void this.leave());
    events.onopen = () => {
      this.isLeaving = false;
      this.follower!.connected(true);
      if (again) take();
      again = true;
    };
    events.onerror = () => {
      this.follower!.connected(false);
      if (events.readyState === EventSource.CLOSED && !this.successor) setTimeout(() => this.listen(take, true), RETRY_MS);
    };
  }

  private async leave(): Promise<void> {
    if (this.isLeaving) return;
    this.isLeaving = true;
    try {
      this.successor = await this.follower!.leaving(await servedSource());
      this.events!.close();
    } catch {
      // It is too large for this page, or the connection broke, after which it is said again.
    }
  }

  async open(): Promise<number> {
    throw new Error("this page shows what sonde view was given; start another for another file");
  }

  close(): void {
    this.events?.close();
  }
}
