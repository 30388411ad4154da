// A list of any length: only the rows in sight are in the page.

import { Fragment, type JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { printing } from "./state";

export type RowStyle = { top: string; height: string };

interface RowsProps {
  count: number;
  /** In pixels; all are alike. */
  height: number;
  /** Brought into sight when it changes; -1 = none. */
  focus?: number;
  label: string;
  /** Without a key. In haste, where rows fly past and nobody can read them, what is dear of them may be left out: they are asked
   *  for again as soon as they rest. */
  row(index: number, style: RowStyle, inHaste: boolean): JSX.Element;
}

const MARGIN = 2;
const REST_MS = 60;
/** On paper there is nothing to scroll: the first rows. */
const PRINTED = 200;
/** Browsers lay out no element much higher than this: beyond it rows share their pixels. */
const HIGHEST = 8_000_000;

function useHeight(body: { current: HTMLDivElement | null }): number {
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setHeight(entry.contentRect.height));
    watch.observe(body.current!);
    return () => watch.disconnect();
  }, []);
  return height;
}

/** Whether most rows are others than in the last frame; `settle` is called when none has moved for a while. */
function useHaste(first: number, last: number, settle: () => void): boolean {
  const before = useRef({ first, last, inHaste: false });
  const same = Math.min(last, before.current.last) - Math.max(first, before.current.first);
  // Once begun it lasts until the rows rest: they would change their looks from frame to frame.
  const inHaste = (before.current.inHaste || same < (last - first) / 2) && before.current.last > before.current.first;
  before.current = { first, last, inHaste };
  useEffect(() => {
    if (!inHaste) return undefined;
    const rest = setTimeout(() => {
      before.current.inHaste = false;
      settle();
    }, REST_MS);
    return () => clearTimeout(rest);
  });
  return inHaste;
}

export function Rows({ count, height, focus = -1, label, row }: RowsProps): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const seen = useHeight(body);
  const whole = Math.min(count * height, HIGHEST);
  // Of more rows than fit the element: where the scroll bar stands is a share of them.
  const squeeze = whole > seen ? (count * height - seen) / (whole - seen) : 1;
  useLayoutEffect(() => {
    const area = body.current!;
    const at = focus * height;
    const shownTop = area.scrollTop * squeeze;
    if (focus < 0 || (at >= shownTop && at + height <= shownTop + area.clientHeight)) return;
    area.scrollTop = Math.max(0, (at - area.clientHeight / 2) / squeeze);
  }, [focus, count]);
  const isPaper = printing.value;
  const first = isPaper ? 0 : Math.max(0, Math.floor((top * squeeze) / height) - MARGIN);
  const last = isPaper ? Math.min(count, PRINTED) : Math.min(count, Math.ceil((top * squeeze + seen) / height) + MARGIN);
  const rows = [];
  const [, draw] = useState(0);
  const inHaste =
    useHaste(first, last, () => {
      made.current.rows.clear();
      draw((times) => times + 1);
    }) && !isPaper;
  // Rows that stay in sight are not made again, as long as they are the same ones at the same places.
  const made = useRef({ row, squeeze, rows: new Map<number, JSX.Element>() });
  if (made.current.row !== row || made.current.squeeze !== squeeze) made.current = { row, squeeze, rows: new Map() };
  const before = squeeze === 1 ? made.current.rows : new Map<number, JSX.Element>();
  const kept = (made.current.rows = new Map<number, JSX.Element>());
  // Elements are used again for the rows that come into sight: a change of text is quicker than a new element.
  const slots = isPaper ? PRINTED : Math.ceil(seen / height) + 2 * MARGIN + 2;
  for (let i = first; i < last; i++) {
    const style = { top: `${i * height - top * squeeze + top}px`, height: `${height}px` };
    const one = before.get(i) ?? <Fragment key={i % slots}>{row(i, style, inHaste)}</Fragment>;
    kept.set(i, one);
    rows.push(one);
  }
  return (
    <div class="rows body" ref={body} role="rowgroup" aria-label={label} tabIndex={0} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div class="whole" style={{ height: `${whole}px` }}>
        {rows}
      </div>
    </div>
  );
}
