// The views, in the order of their keys. To add one: a file in views/ and a row here.

import type { FunctionComponent } from "preact";

import { hasRanks, type Recording } from "./recording";
import { Compare } from "./views/compare";
import { Flame } from "./views/flame";
import { Graph } from "./views/graph";
import { Overview } from "./views/overview";
import { Ranks } from "./views/ranks";
import { Source } from "./views/source";
import { Sunburst } from "./views/sunburst";
import { Table } from "./views/table";
import { Timeline } from "./views/timeline";

export interface ViewProps {
  recording: Recording;
}

export interface View {
  name: string;
  title: string;
  component: FunctionComponent<ViewProps>;
  /** It stays as it is when another recording is shown. */
  ofSeveral?: boolean;
  /** It is offered for such recordings only. */
  needs?(recording: Recording): boolean;
}

export const VIEWS: View[] = [
  { name: "overview", title: "Overview", component: Overview },
  { name: "flame", title: "Flame", component: Flame },
  { name: "sunburst", title: "Sunburst", component: Sunburst },
  { name: "table", title: "Table", component: Table },
  { name: "graph", title: "Graph", component: Graph },
  { name: "source", title: "Source", component: Source },
  { name: "timeline", title: "Timeline", component: Timeline },
  { name: "compare", title: "Compare", component: Compare, ofSeveral: true },
  { name: "ranks", title: "Ranks", component: Ranks, needs: hasRanks },
];

/** Those that the recording has something for, in the order of their keys. */
export function offered(recording: Recording | undefined): View[] {
  return VIEWS.filter(({ needs }) => !needs || (recording && needs(recording)));
}
