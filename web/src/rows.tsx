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
  /** Without a key. */
  row(index: number, style: RowStyle): JSX.Element;
}

const MARGIN = 2;
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
  // Rows that stay in sight are not made again, as long as they are the same ones at the same places.
  const made = useRef({ row, squeeze, rows: new Map<number, JSX.Element>() });
  if (made.current.row !== row || made.current.squeeze !== squeeze) made.current = { row, squeeze, rows: new Map() };
  const before = squeeze === 1 ? made.current.rows : new Map<number, JSX.Element>();
  const kept = (made.current.rows = new Map<number, JSX.Element>());
  // Elements are used again for the rows that come into sight: a change of text is quicker than a new element.
  const slots = isPaper ? PRINTED : Math.ceil(seen / height) + 2 * MARGIN + 2;
  for (let i = first; i < last; i++) {
    const style = { top: `${i * height - top * squeeze + top}px`, height: `${height}px` };
    const one = before.get(i) ?? <Fragment key={i % slots}>{row(i, style)}</Fragment>;
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
