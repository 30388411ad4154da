// The frame that a picture of stacks is zoomed to, as the URL has it: the functions from the outermost on. So it is
// found again in other stacks: of another range, or of a recording that has grown.

import { useEffect, useRef } from "preact/hooks";

import type { Picture } from "./picture";
import { childrenOf, pathTo, type Stacks } from "./stacks";
import { zoomed } from "./state";

/** Deeper frames are not in the URL: browsers cut it. */
const LONGEST = 200;

/** What `zoomed` says of a frame in the picture called `name`. */
export function zoomText(name: string, stacks: Stacks, rectangle: number): string {
  const path = pathTo(stacks, rectangle);
  return path.length && path.length <= LONGEST ? `${name}:${path.map((at) => stacks.code[at]).join(".")}` : "";
}

/** The frame that `zoomed` means in these stacks, as far as its path is there; 0 = the whole. */
export function zoomedIn(name: string, stacks: Stacks): number {
  if (!zoomed.value.startsWith(`${name}:`)) return 0;
  let at = 0;
  for (const code of zoomed.value.slice(name.length + 1).split(".").slice(0, LONGEST)) {
    const next = childrenOf(stacks, at, Infinity).find((child) => stacks.code[child] === Number(code));
    if (next === undefined) break;
    at = next;
  }
  return at;
}

/** Moves the picture to what `zoomed` says, when that or the stacks change. What was moved by hand since stays. */
export function useZoom(picture: { current: Picture | null }, name: string, stacks: Stacks | undefined): void {
  const last = useRef<{ picture: Picture | null; text: string }>({ picture: null, text: "" });
  useEffect(() => {
    const shown = picture.current;
    if (!shown || !stacks) return;
    const [isNew, isOther] = [last.current.picture !== shown, last.current.text !== zoomed.value];
    last.current = { picture: shown, text: zoomed.value };
    const rectangle = zoomedIn(name, stacks);
    if (rectangle && !shown.isAt(rectangle) && (isNew || isOther || shown.stays())) shown.zoomTo(rectangle, isOther && !isNew);
    else if (!rectangle && isOther && !isNew && zoomed.value === "") shown.reset();
  }, [picture.current, zoomed.value, stacks]);
}
