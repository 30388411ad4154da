// Single calls (sonde trace --timeline): drawn in their own time, one below the other; a range shows the calls in it, with the
// figures of `sonde report --json --range`; calls too short for a pixel are drawn as one that says how many they are.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { assertShown, goTo, settled, test, value } from "./harness.mjs";

// However slow the machine is, the last 3/5 of the run are the last call's.
const PROGRAM = `
import time; start = time.perf_counter()
def short(): pass
def early():
    for _ in range(300000): short()
    time.sleep(.4)
def inner(): time.sleep(1.5 * (time.perf_counter() - start))
def late():
    inner()
early()
late()
`;

const recorded = (harness) =>
  harness.made("calls.sonde", (path) =>
    harness.sonde("trace", "--quiet", "--timeline", "-o", path, harness.made("calls.py", (script) => writeFileSync(script, PROGRAM))),
  );

/** Points there; where nothing is there is no tip. */
async function pointTo(page, share, level) {
  const [name, picture] = [
    await page.locator(".tracks .name", { hasText: "MainThread" }).boundingBox(),
    await page.locator("main canvas").first().boundingBox(),
  ];
  await page.mouse.move(picture.x + 5, picture.y + 5);
  await page.mouse.move(picture.x + share * picture.width, name.y + 16 * level + 8);
  await settled(page);
  return page.locator(".tip");
}

async function tipAt(page, share, level) {
  const tip = await pointTo(page, share, level);
  await tip.waitFor();
  return tip.innerText();
}

test("single calls lie below their callers, and crowds of short ones say how many they are", async (harness) => {
  const page = await harness.open(harness.html(recorded(harness)), { hash: "#view=timeline" });
  await settled(page);
  for (const [level, name] of ["<module>", "late", "inner", "time.sleep"].entries())
    assert.match(await tipAt(page, 0.8, level), new RegExp(`^${name}\\b|^${name}`), `level ${level}`);
  let crowd = null;
  for (let share = 0; share < 0.5 && !crowd; share += 0.005) {
    const tip = await pointTo(page, share, 2);
    crowd = (await tip.isVisible()) && /calls\s+([\d,]+), too short/.exec(await tip.innerText());
  }
  assert(crowd && value(crowd[1]) > 1, "300,000 calls in a few pixels");
});

test("lines of calls lie between them and what they call", async (harness) => {
  const script = harness.made("calls.py", (path) => writeFileSync(path, PROGRAM));
  const recording = harness.made("call-lines.sonde", (path) =>
    harness.sonde("trace", "--quiet", "--timeline", "-l", "-o", path, script),
  );
  const page = await harness.open(harness.html(recording), { hash: "#view=timeline" });
  await settled(page);
  for (const [level, [name, line]] of [["late", 8], ["late", 9], ["inner", 7], ["inner", 7], ["time.sleep", 0]].entries()) {
    const tip = await tipAt(page, 0.8, level + 1);
    assert.match(tip, new RegExp(`^${name}\\b`), `level ${level + 1}`);
    assert.match(tip, line ? new RegExp(`calls\\.py:${line}\\b`) : /./, `level ${level + 1}`);
  }
});

test("a range shows the calls in it", async (harness) => {
  const recording = recorded(harness);
  const page = await harness.open(harness.html(recording), { hash: "#view=timeline" });
  await settled(page);
  const picture = await page.locator("main canvas").first().boundingBox();
  await page.mouse.move(picture.x + 0.55 * picture.width, picture.y + 8);
  await page.mouse.down();
  await page.mouse.move(picture.x + 0.6 * picture.width, picture.y + 8);
  await page.mouse.move(picture.x + 0.95 * picture.width, picture.y + 8);
  await page.mouse.up();
  await settled(page);
  const [begin, end] = /t=(\d+)-(\d+)/.exec(page.url()).slice(1).map(Number);
  await goTo(page, "table");
  const names = await page.locator(".table .body [role=row]").allInnerTexts();
  assert(names.some((text) => text.includes("inner")), "what ran then");
  assert(!names.some((text) => text.includes("early") || text.includes("short")), "what had ended before");
  const zero = harness.report(recording).begin_ns;
  const truth = harness.report(recording, "--range", [begin, end].map((ns) => (ns - zero) / 1e9).join(","));
  const asleep = truth.functions.find(({ name }) => name.includes("sleep"));
  const [self] = names.find((text) => text.includes("time.sleep")).trim().split("\n");
  assertShown(self, asleep.self_ns, "time of a call that the range cuts");
});
