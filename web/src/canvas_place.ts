// Where a canvas lies on the screen: on whole pixels. One that lies between them is scaled and blurred by the browser in
// every frame, which takes longer than to draw it.

/** Pixels of the screen. */
export interface CanvasPlace {
  width: number;
  height: number;
  /** Of them for one of CSS. */
  scale: number;
}

/** Begin and end on whole pixels, as what lies within the given ones, and how far that is from there. */
function aligned(begin: number, end: number, scale: number): { size: number; by: number } {
  const first = Math.round(begin * scale);
  return { size: Math.max(1, Math.round(end * scale) - first), by: first / scale - begin };
}

/** Lays the canvas over what holds it, to the nearest pixels. Its buffer is the caller's. */
export function placeCanvas(canvas: HTMLCanvasElement): CanvasPlace {
  const scale = devicePixelRatio || 1;
  const box = canvas.parentElement!.getBoundingClientRect();
  const across = aligned(box.left, box.right, scale);
  const down = aligned(box.top, box.bottom, scale);
  const { style } = canvas;
  style.left = `${across.by}px`;
  style.top = `${down.by}px`;
  style.width = `${across.size / scale}px`;
  style.height = `${down.size / scale}px`;
  return { width: across.size, height: down.size, scale };
}
