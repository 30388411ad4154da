// Runs the tests of the page in a real Chromium:  node tests/web/run.mjs SONDE [WORD...]
//
// SONDE is the built program; with words only tests run whose names hold one of them, or are it. A file *.test.mjs says
// `test(name, act)`; `act` gets what harness.mjs describes. Two run at a time, each in a browser of its own: a test waits
// more than it works. Closes with "N passed, M failed".

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { Harness, tests } from "./harness.mjs";

const TEST_MS = 300_000;
const LANES = 2;
const here = dirname(fileURLToPath(import.meta.url));
const [program, ...words] = process.argv.slice(2);

function limited(promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no end after ${TEST_MS / 1000} s`)), TEST_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function runOne({ name, act }, harness) {
  const start = performance.now();
  let failure = null;
  try {
    await limited(act(harness));
    await harness.finish();
  } catch (error) {
    failure = error;
    await harness.abandon();
  }
  console.log(`${failure ? "FAILED" : "ok    "} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  if (failure) console.log(failure.stack.replace(/^/gm, "    "));
  return !failure;
}

for (const file of readdirSync(here).sort()) if (file.endsWith(".test.mjs")) await import(join(here, file));
const isName = new Set(tests.map(({ name }) => name));
const means = (word, name) => (isName.has(word) ? word === name : name.includes(word));
const chosen = tests.filter(({ name }) => !words.length || words.some((word) => means(word, name)));
const folder = mkdtempSync(join(tmpdir(), "sonde-web-"));
const waiting = [...chosen];
let passed = 0;
async function lane() {
  const harness = await Harness.start(resolve(program), folder);
  for (let one; (one = waiting.shift()); ) {
    const isPassed = await runOne(one, harness);
    passed += isPassed; // not in one: the other lane counts meanwhile
  }
  await harness.stop();
}
await Promise.all(Array.from({ length: Math.min(LANES, chosen.length) }, lane));
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${chosen.length - passed} failed`);
process.exit(passed === chosen.length ? 0 : 1);
