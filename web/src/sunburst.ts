// A sunburst that can be walked: a click makes a function the centre, a click on the centre goes back out.

import type { RingsPicture } from "./rings_file";
import { depthWithin, Rings, type RingsLook, type Sight } from "./rings";
import { levelOf } from "./picture";
import type { Stacks } from "./stacks";

const TURN_MS = 150;

export interface SunburstOptions {
  stacks: Stacks;
  /** Rings at most. */
  depth: number;
  look(centre: number): RingsLook;
  /** The centre's words. */
  words(centre: number): string[];
  textColor(): string;
  onHover(rectangle: number, event?: MouseEvent): void;
  onCentre(rectangle: number): void;
}

export class Sunburst {
  private readonly rings: Rings;
  private readonly watch: ResizeObserver;
  private readonly off = new AbortController();
  private animation = 0;
  private centre: number;
  private sight: Sight;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private options: SunburstOptions,
    centre: number,
  ) {
    this.rings = new Rings(canvas);
    this.centre = centre;
    this.sight = this.sightOf(centre);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(canvas);
    this.listen();
  }

  close(): void {
    cancelAnimationFrame(this.animation);
    this.watch.disconnect();
    this.off.abort();
  }

  replace(options: SunburstOptions, centre: number): void {
    const isSame = options.stacks === this.options.stacks;
    this.options = options;
    if (isSame && centre !== this.centre) this.turnTo(centre);
    else {
      this.centre = centre;
      this.sight = this.sightOf(centre);
      this.draw();
    }
  }

  private sightOf(rectangle: number): Sight {
    const { start, size } = this.options.stacks;
    const from = start[rectangle];
    const to = from + size[rectangle];
    const level = levelOf(this.options.stacks, rectangle);
    return { from, to, level, depth: depthWithin(this.options.stacks, from, to, level, this.options.depth) };
  }

  /** What is drawn now. */
  picture(): RingsPicture {
    const { stacks, look, words, textColor } = this.options;
    const size = Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
    return { layout: stacks, sight: this.sight, look: look(this.centre), words: words(this.centre), ink: textColor(), size };
  }

  draw(moves = false): void {
    const look = this.options.look(this.centre);
    this.rings.draw(this.options.stacks, this.sight, look, moves);
    this.rings.writeCentre(this.options.words(this.centre), look, this.options.textColor());
  }

  private turnTo(centre: number): void {
    cancelAnimationFrame(this.animation);
    const before = this.sight;
    const target = this.sightOf(centre);
    this.centre = centre;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const began = performance.now();
    const step = (now: number) => {
      const part = still ? 1 : Math.min(1, Math.max(0, now - began) / TURN_MS);
      const eased = 1 - (1 - part) ** 3;
      const between = (a: number, b: number) => (part < 1 ? a + (b - a) * eased : b);
      this.sight = {
        from: between(before.from, target.from),
        to: between(before.to, target.to),
        level: between(before.level, target.level),
        depth: between(before.depth, target.depth),
      };
      this.draw(part < 1);
      if (part < 1) this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  /** The rectangle below the mouse, the centre's own when that is it; -1 = none. */
  private at(event: MouseEvent): number {
    const found = this.rings.at(this.options.stacks, this.sight, event.offsetX, event.offsetY);
    return found === -2 ? this.centre : found;
  }

  private listen(): void {
    const on = (name: "click" | "pointermove" | "pointerleave", act: (event: MouseEvent) => void) =>
      this.canvas.addEventListener(name, act, { signal: this.off.signal });
    on("click", (event) => {
      const found = this.at(event);
      if (found === this.centre) this.options.onCentre(this.options.stacks.parent[found]);
      else if (found >= 0) this.options.onCentre(found);
    });
    on("pointermove", (event) => this.options.onHover(this.at(event), event));
    on("pointerleave", () => this.options.onHover(-1));
  }
}
