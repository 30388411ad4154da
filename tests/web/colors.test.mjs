// Colours can be read and told apart by everybody: text on every frame, differences with red or green missing.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "../../web/node_modules/esbuild/lib/main.js";
import { test } from "./harness.mjs";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "../../web/src");

async function load(name) {
  const result = await build({ entryPoints: [join(SOURCES, name)], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].contents).toString("base64")}`);
}

test("text can be read on every colour that a frame can have", async () => {
  const { contrast, differenceColor, frameColor, heatColor, pixel, READABLE, textOn, threadColor, THREAD_SHADES } = await load("colors.ts");
  const readable = (color, what) => {
    const got = contrast(pixel(textOn(pixel(color))), pixel(color));
    assert(got >= READABLE, `${what}: ${got.toFixed(2)} on ${color}`);
  };
  for (const dark of [false, true]) {
    for (let i = 0; i < 4000; i++)
      for (const [kind, flags] of [[1, 0], [1, 1], [2, 0], [3, 0]])
        readable(frameColor(`module${i}`, kind, flags, dark), `module${i} ${kind} ${dark}`);
    for (let share = 0; share <= 1; share += 0.01) readable(heatColor(share, dark), `heat ${share}`);
    for (let place = -1; place < THREAD_SHADES.length; place++)
      for (let part = 0; part <= 1; part += 0.05) readable(threadColor(place, part, dark), `thread ${place} ${part}`);
    for (let change = -1; change <= 1; change += 0.01) readable(differenceColor(change, dark), `difference ${change}`);
  }
  for (let grey = 0; grey < 256; grey++) readable([grey, grey, grey], "grey");
});

// Machado, Oliveira and Fernandes (2009), complete deuteranopia and protanopia, on linear light.
const BLINDNESS = {
  none: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
};

const linear = (byte) => (byte <= 10.31475 ? byte / 3294.6 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
const seen = (color, matrix) => matrix.map((row) => row.reduce((sum, part, i) => sum + part * linear(color[i]), 0));
const distance = (one, other) => Math.hypot(...one.map((value, i) => Math.cbrt(Math.max(0, value)) - Math.cbrt(Math.max(0, other[i]))));

test("faster and slower differ for those who do not see red or green", async () => {
  const { differenceColor } = await load("colors.ts");
  for (const dark of [false, true])
    for (const [name, matrix] of Object.entries(BLINDNESS)) {
      const [faster, same, slower] = [-1, 0, 1].map((change) => seen(differenceColor(change, dark), matrix));
      assert(distance(faster, slower) > 0.2, `${name}: faster and slower look alike`);
      assert(distance(faster, same) > 0.08, `${name}: faster and the same look alike`);
      assert(distance(slower, same) > 0.08, `${name}: slower and the same look alike`);
    }
});

test("threads differ for everybody, and from what several share", async () => {
  const { threadColor, THREAD_SHADES } = await load("colors.ts");
  const places = [-1, ...THREAD_SHADES.keys()];
  for (const dark of [false, true])
    for (const [name, matrix] of Object.entries(BLINDNESS))
      for (const one of places)
        for (const other of places.filter((place) => place > one)) {
          const [a, b] = [one, other].map((place) => seen(threadColor(place, 1, dark), matrix));
          assert(distance(a, b) > 0.15, `${name}: threads ${one} and ${other} look alike${dark ? " by night" : ""}`);
        }
});
