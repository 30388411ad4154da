// Asks the core from a component, again whenever what the question depends on changes.

import { useEffect, useState } from "preact/hooks";

import type { Answer } from "./answer";
import type { Request } from "./engine";
import { ask, problem } from "./state";

/** The decoded answer, the last one while the next is awaited; null = none yet, or nothing is asked. It is asked for when
 *  the question has stood for `restMs`: what a hand passes over need not be known. */
export function useAnswer<T>(request: Request | null, decode: (answer: Answer) => T, also: unknown[] = [], restMs = 0): T | null {
  const [result, setResult] = useState<T | null>(null);
  useEffect(() => {
    let current = true;
    if (!request) {
      setResult(null);
      return undefined;
    }
    const send = () =>
      ask(request).then(
        (answer) => current && setResult(decode(answer)),
        (error: Error) => current && (problem.value = error.message),
      );
    const wait = restMs ? window.setTimeout(send, restMs) : void send();
    return () => {
      current = false;
      clearTimeout(wait);
    };
  }, [request && JSON.stringify(request), ...also]);
  return result;
}
