// Messages between the threads of a timeline: a line from where and when each was sent to where and when it was received.

import { AXIS } from "./axis";
import type { Amounts, Answer } from "./answer";
import type { Request } from "./engine";
import type { Window } from "./rectangles";

/** More than these are a thicket; the core gives those that took longest. */
const LINES = 400;
/** How near the mouse must be, in CSS pixels. */
const NEAR = 4;

export interface Message {
  from: number;
  to: number;
  sent: number;
  received: number;
  size: Amounts[number];
}

/** Where a thread's track has its middle, in CSS pixels of the picture; undefined = it has none. */
type PlaceOf = (thread: number) => number | undefined;

export class MessageLines {
  private known: { window: Window; from: Uint32Array; to: Uint32Array; sent: Float64Array; received: Float64Array; size: Amounts } | null = null;
  /** More were sent in the window than are drawn. */
  hidden = 0;

  get count(): number {
    return this.known?.from.length ?? 0;
  }

  forget(): void {
    this.known = null;
  }

  /** Whether the window is not the one that is known. */
  needs(window: Window): boolean {
    return !this.known || this.known.window.from !== window.from || this.known.window.to !== window.to;
  }

  request(window: Window): Request {
    return { ask: "messages", from_ns: Math.floor(window.from), to_ns: Math.ceil(window.to), limit: LINES };
  }

  take(answer: Answer, window: Window): void {
    const [from, to] = [answer.numbers("from"), answer.numbers("to")];
    const [sent, received] = [answer.reals("sent_ns"), answer.reals("received_ns")];
    this.known = { window, from, to, sent, received, size: answer.amounts("size") };
    this.hidden = answer.values.hidden;
  }

  private ends(message: number, window: Window, width: number, placeOf: PlaceOf): [number, number, number, number] | null {
    const { from, to, sent, received } = this.known!;
    const [y0, y1] = [placeOf(from[message]), placeOf(to[message])];
    if (y0 === undefined || y1 === undefined) return null;
    const x = (at: number) => ((at - window.from) / (window.to - window.from)) * width;
    return [x(sent[message]), y0, x(received[message]), y1];
  }

  draw(context: CanvasRenderingContext2D, window: Window, size: { width: number; height: number; scale: number }, placeOf: PlaceOf, color: string): void {
    if (!this.known) return;
    const { width, height, scale } = size;
    context.save();
    context.beginPath();
    context.rect(0, AXIS * scale, width * scale, (height - AXIS) * scale);
    context.clip();
    context.beginPath();
    for (let message = 0; message < this.known.from.length; message++) {
      const line = this.ends(message, window, width, placeOf);
      if (!line) continue;
      context.moveTo(line[0] * scale, line[1] * scale);
      context.lineTo(line[2] * scale, line[3] * scale);
    }
    context.strokeStyle = color;
    context.lineWidth = scale;
    context.stroke();
    context.restore();
  }

  /** The one below the mouse. */
  find(x: number, y: number, window: Window, width: number, placeOf: PlaceOf): Message | null {
    for (let message = 0; this.known && message < this.known.from.length; message++) {
      const line = this.ends(message, window, width, placeOf);
      if (!line || y < Math.min(line[1], line[3]) || y > Math.max(line[1], line[3])) continue;
      const at = line[3] === line[1] ? 0 : (y - line[1]) / (line[3] - line[1]);
      if (Math.abs(line[0] + (line[2] - line[0]) * at - x) > NEAR) continue;
      const { from, to, sent, received, size } = this.known;
      return { from: from[message], to: to[message], sent: sent[message], received: received[message], size: size[message] };
    }
    return null;
  }
}
