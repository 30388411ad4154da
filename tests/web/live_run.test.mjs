// A run under --live, looked at while it goes on: from its recorder, and by a `sonde view` that was there first.

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";

import { goTo, test, until, value } from "./harness.mjs";

/** Enters a zone of a new name, in a function of that name, when a file asks for it, and ends when another does. */
const PROGRAM = `import os, sys
from sonde import timed_region
folder = sys.argv[1]
def base():
    return sum(range(2000))
def made(name):
    space = {"base": base, "timed_region": timed_region}
    exec(f"def {name}():\\n with timed_region('{name}'):\\n  for _ in range(200): base()", space)
    return space[name]
calls, seen = [base], set()
while not os.path.exists(os.path.join(folder, "stop")):
    for name in os.listdir(folder):
        if name.startswith("zone_") and name not in seen:
            seen.add(name)
            calls.append(made(name))
    for call in calls:
        call()
`;

/** Between a viewer and what it looks at; can be cut. */
class Wire {
  static async between(target) {
    const wire = new Wire();
    wire.ends = new Set();
    wire.isCut = false;
    wire.server = createServer((near) => {
      if (wire.isCut) return void near.destroy();
      const far = connect(target, "127.0.0.1");
      for (const [one, other] of [[near, far], [far, near]]) {
        wire.ends.add(one);
        one.on("error", () => {});
        one.on("close", () => other.destroy());
      }
      near.pipe(far);
      far.pipe(near);
    });
    wire.server.listen(0, "127.0.0.1");
    await once(wire.server, "listening");
    wire.port = wire.server.address().port;
    return wire;
  }

  cut() {
    this.isCut = true;
    for (const end of this.ends) end.destroy();
    this.ends.clear();
  }

  mend() {
    this.isCut = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** A program under --live: what it is asked for, and how it ends. */
class Run {
  constructor(harness, name, port, ...options) {
    this.folder = harness.folderOf(name);
    this.path = join(harness.folder, `${name}.sonde`);
    const script = harness.made("asked.py", (path) => writeFileSync(path, PROGRAM));
    this.child = harness.start("trace", `--live=${port}`, ...options, "-o", this.path, "--", "python3", script, this.folder);
    this.ended = once(this.child, "exit").then(([code]) => code);
  }

  zone(name) {
    writeFileSync(join(this.folder, `zone_${name}`), "");
    return `zone_${name}`;
  }

  async stop() {
    writeFileSync(join(this.folder, "stop"), "");
    return this.ended;
  }
}

/** The table of these functions alone: among all of them they may sink out of sight. */
const ZONES = "#view=table&q=^(base|zone_.*)$";
const row = (page, name) => page.locator(".table .body [role=row]", { has: page.locator(".name", { hasText: new RegExp(`^${name}$`) }) });
const isShown = (page, name) => row(page, name).waitFor();
const callsOf = async (page, name) => value(await row(page, name).locator(".calls").innerText());
/** Names of the zones that the page's server knows. */
const zonesOf = (page) =>
  page.evaluate(async () => {
    const reply = await fetch("ask", { method: "POST", body: JSON.stringify({ ask: "summary", recording: 0 }) });
    const bytes = await reply.arrayBuffer();
    const size = new DataView(bytes).getUint32(4, true);
    return JSON.parse(new TextDecoder().decode(bytes.slice(8, 8 + size))).values.regions;
  });
const words = (page) => page.locator(".connection").innerText();

/** What a page that is cut off writes to the console is the browser's own. */
const forgetCuts = (harness, page) => {
  const faults = harness.faultsOf(page);
  faults.splice(0, Infinity, ...faults.filter((fault) => !/ERR_|Failed to load resource/.test(fault)));
};

test("live: a page that was there first sees a run begin, is cut off and comes back, and keeps it all at the end", async (harness) => {
  const port = await freePort();
  const wire = await Wire.between(port);
  const viewer = await harness.serve(`:${wire.port}`);
  const page = await harness.open(viewer, { hash: ZONES, network: true, ready: ".connection" });
  assert.match(await words(page), /^waiting for a program at/);
  assert.doesNotMatch(await page.locator("header .facts").innerText(), /being recorded/);

  const run = new Run(harness, "live_first", port);
  await isShown(page, "base");
  await page.locator(".connection").waitFor({ state: "detached" });
  assert.match(await page.locator("header .facts").innerText(), /being recorded/);
  const before = performance.now();
  await isShown(page, run.zone("one"));
  console.log(`       a new zone was seen after ${Math.round(performance.now() - before)} ms`);
  await until(async () => (await zonesOf(page)).includes("zone_one"), "the zone has come, too");

  wire.cut();
  await until(async () => /^not connected to .*, trying again$/.test(await words(page)), "the page says that it is cut off");
  await row(page, "zone_one").click();
  wire.mend();
  await page.locator(".connection").waitFor({ state: "detached" });
  await isShown(page, run.zone("two"));
  assert.equal(await page.locator(".inspector h2").innerText(), "zone_one", "what was selected still is");

  assert.equal(await run.stop(), 0);
  await until(async () => /has ended; waiting for the next$/.test(await words(page)), "the page knows of the end");
  const truth = harness.report(run.path).functions.find(({ name }) => name === "zone_two");
  await until(async () => (await callsOf(page, "zone_two")) === truth.calls, "the last figures are the file's");

  const next = new Run(harness, "live_next", port);
  await isShown(page, next.zone("three"));
  assert.equal(await row(page, "zone_one").count(), 0, "the next run is another");
  assert.equal(await page.locator(".inspector h2").count(), 0, "what was selected meant nothing there");
  await next.stop();
  wire.close();
  forgetCuts(harness, page);
});

test("live: pages at the recorder itself come and go, and have the whole recording when it ends", async (harness) => {
  const port = await freePort();
  const wire = await Wire.between(port);
  const run = new Run(harness, "live_direct", port);
  await until(() => reaches(port), "the recorder serves");
  const [first, late] = [await openAt(harness, wire.port), await openAt(harness, port)];
  const zone = run.zone("here");
  await Promise.all([isShown(first, zone), isShown(late, zone)]);

  wire.cut();
  await until(async () => (await words(first).catch(() => "")) === "not connected, trying again", "the page says that it is cut off");
  await isShown(late, run.zone("meanwhile"));
  wire.mend();
  await isShown(first, "zone_meanwhile");

  assert.equal(await run.stop(), 0, "the exit code is the program's");
  const truth = harness.report(run.path).functions.find(({ name }) => name === zone);
  for (const page of [first, late]) {
    await until(async () => (await callsOf(page, zone)) === truth.calls, "the last figures are the file's");
    await goTo(page, "Timeline");
    await page.locator(".name.region").waitFor();
    await goTo(page, "Table");
    assert.equal(await callsOf(page, zone), truth.calls, "and can still be asked for, though nobody serves them");
    forgetCuts(harness, page);
  }
  assert.equal(await reaches(port), false, "the recorder has gone");
  wire.close();
});

const openAt = (harness, port) => harness.open(`http://127.0.0.1:${port}/`, { hash: ZONES, network: true });

/** Whether somebody listens there. */
async function reaches(port) {
  const socket = connect(port, "127.0.0.1");
  const isThere = await new Promise((done) => {
    socket.on("connect", () => done(true));
    socket.on("error", () => done(false));
  });
  socket.destroy();
  return isThere;
}
