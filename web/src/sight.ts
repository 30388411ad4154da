// The window of time that is in sight, kept in the URL: written when a picture has come to rest, followed when Back or a
// link says another.

import { useEffect, useRef } from "preact/hooks";

import type { Camera } from "./camera";
import { sight } from "./state";

const REST_MS = 250;

/** A picture that has just been made begins there. */
export function toSight(camera: Camera): void {
  const wanted = sight.peek();
  if (wanted) camera.move({ from: wanted[0], to: wanted[1], top: 0 });
}

/** What to call whenever the camera has moved; `whole` is what the recording has. Does nothing where it is no time. */
export function useSight(camera: () => Camera | undefined, whole: [number, number], isTime = true): () => void {
  const wait = useRef(0);
  const written = useRef(sight.peek());
  useEffect(() => {
    const [shown, wanted] = [camera(), sight.value];
    if (!isTime || !shown || wanted === written.current) return;
    written.current = wanted;
    const [from, to] = wanted ?? whole;
    shown.move({ from, to, top: shown.window.top });
  }, [sight.value]);
  useEffect(() => () => clearTimeout(wait.current), []);
  return () => {
    clearTimeout(wait.current);
    wait.current = window.setTimeout(() => {
      const shown = camera();
      if (!isTime || !shown) return;
      const { from, to } = shown.window;
      written.current = shown.seesWhole() ? null : [Math.round(from), Math.round(to)];
      if (JSON.stringify(written.current) !== JSON.stringify(sight.peek())) sight.value = written.current;
      else written.current = sight.peek();
    }, REST_MS);
  };
}
