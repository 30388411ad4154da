// The exact figures of what the mouse is on, beside the mouse.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface TipWords {
  title: string;
  place?: string;
  /** Names and figures. */
  figures: [string, string][];
}

const shown = signal<{ words: TipWords; x: number; y: number } | null>(null);

export function showTip(words: TipWords | null, event?: MouseEvent): void {
  shown.value = words && event ? { words, x: event.clientX, y: event.clientY } : null;
}

const APART = 14;

/** Beside the mouse, and never beyond the window. */
function place(element: HTMLElement, x: number, y: number): void {
  const { width, height } = element.getBoundingClientRect();
  const left = x + APART + width > innerWidth ? x - APART - width : x + APART;
  const top = y + APART + height > innerHeight ? y - APART - height : y + APART;
  element.style.left = `${Math.max(4, left)}px`;
  element.style.top = `${Math.max(4, top)}px`;
}

export function Tip(): JSX.Element | null {
  const element = useRef<HTMLDivElement>(null);
  const at = shown.value;
  useLayoutEffect(() => {
    if (at && element.current) place(element.current, at.x, at.y);
  }, [at]);
  if (!at) return null;
  return (
    <div class="tip" role="tooltip" ref={element}>
      <b>{at.words.title}</b>
      {at.words.place && <span class="where">{at.words.place}</span>}
      <dl>
        {at.words.figures.map(([name, figure]) => (
          <>
            <dt>{name}</dt>
            <dd>{figure}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}
