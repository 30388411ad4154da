// A worker of its own: graphviz lays a call graph out. It is started when a graph is first looked at.

import { instance } from "@viz-js/viz";

interface Question {
  id: number;
  dot: string;
}

const graphviz = instance();

onmessage = async ({ data }: MessageEvent<Question>) => {
  try {
    const options = { graphAttributes: { bgcolor: "transparent", nslimit: "2", mclimit: "0.5" } };
    const svg = (await graphviz).renderString(data.dot, { ...options, format: "svg" });
    postMessage({ id: data.id, svg });
  } catch (error) {
    postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
