// A row of cells, one for each column of ranks: a canvas of one pixel's height that the browser stretches.

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { heatColor, pixel } from "./colors";

const SHADES = 64;
const shades: [Uint32Array, Uint32Array] = [new Uint32Array(0), new Uint32Array(0)];

/** Share 0…1 of the hottest → a pixel; what is nothing at all is left empty. */
export function heatPixel(share: number, night: boolean): number {
  const which = night ? 1 : 0;
  if (!shades[which].length) shades[which] = Uint32Array.from({ length: SHADES }, (_, i) => pixel(heatColor((i + 1) / SHADES, night)));
  return share > 0 ? shades[which][Math.min(SHADES - 1, Math.floor(share * SHADES))] : 0;
}

interface StripProps {
  /** Pixels, one for each column. */
  paint(into: Uint32Array): void;
  columns: number;
  /** What the pixels depend on. */
  of: unknown[];
  onMove?(column: number, event: MouseEvent): void;
  onChoose?(column: number): void;
}

export function Strip({ paint, columns, of, onMove, onChoose }: StripProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    canvas.current!.width = Math.max(1, columns);
    const image = context.createImageData(Math.max(1, columns), 1);
    paint(new Uint32Array(image.data.buffer));
    context.putImageData(image, 0, 0);
  }, of);
  const at = (event: MouseEvent) => {
    const { left, width } = canvas.current!.getBoundingClientRect();
    return Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - left) / width) * columns)));
  };
  return (
    <canvas
      ref={canvas}
      class="cells"
      height={1}
      aria-hidden="true"
      onMouseMove={(event) => onMove?.(at(event), event)}
      onClick={(event) => onChoose?.(at(event))}
    />
  );
}
