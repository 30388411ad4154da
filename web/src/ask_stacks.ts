// Asks for stacks, again whenever what they depend on changes.

import { useEffect, useState } from "preact/hooks";

import type { Recording } from "./recording";
import { decodeStacks, type Stacks } from "./stacks";
import { ask, byName, color, fold, problem, selection } from "./state";

/** Whether frames can be coloured by thread: there is more than one. */
export function hasThreads(recording: Recording): boolean {
  return recording.summary.busiest_threads.length > 1;
}

/** `view` is one of those that the stacks query knows. */
export function useStacks(recording: Recording, view: string, code = 0): Stacks | null {
  const [stacks, setStacks] = useState<Stacks | null>(null);
  const chosen = selection.value;
  const threads = color.value === "thread" && hasThreads(recording);
  useEffect(() => {
    let current = true;
    const how = { fold: fold.value, by_name: byName.value, threads };
    ask({ ask: "stacks", view, recording: recording.number, code, ...how, ...chosen }).then(
      (answer) => current && setStacks(decodeStacks(answer)),
      (error: Error) => (problem.value = error.message),
    );
    return () => {
      current = false;
    };
  }, [recording, view, code, fold.value, byName.value, threads, chosen]);
  return stacks;
}
