// Asks for stacks, again whenever what they depend on changes.

import { useEffect, useState } from "preact/hooks";

import type { Recording } from "./recording";
import { decodeStacks, type Stacks } from "./stacks";
import { ask, fold, problem, selection } from "./state";

/** `view` is one of those that the stacks query knows. */
export function useStacks(recording: Recording, view: string, code = 0): Stacks | null {
  const [stacks, setStacks] = useState<Stacks | null>(null);
  const chosen = selection.value;
  useEffect(() => {
    let current = true;
    ask({ ask: "stacks", view, recording: recording.number, fold: fold.value, code, ...chosen }).then(
      (answer) => current && setStacks(decodeStacks(answer)),
      (error: Error) => (problem.value = error.message),
    );
    return () => {
      current = false;
    };
  }, [recording, view, code, fold.value, chosen]);
  return stacks;
}
