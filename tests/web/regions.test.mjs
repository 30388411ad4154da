// Regions and marks of a program: their times, their tracks, and every view for one region alone.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { assertShown, goTo, settled, test } from "./harness.mjs";

const PROGRAM = `
import sys, time
sys.path.insert(0, sys.argv[1])
import sonde
def work(s):
    end = time.perf_counter() + s
    while time.perf_counter() < end: pass
def packed(): work(.1)
def outside(): work(.2)
for turn in range(2):
    with sonde.timed_region("assembly"):
        work(.05)
        sonde.signpost("turn", f"<b>{turn}</b>")
        with sonde.timed_region("pack"): packed()
    outside()
`;

function recording(harness) {
  return harness.made("regions.sonde", (path) => {
    const script = join(harness.folder, "regions.py");
    writeFileSync(script, PROGRAM);
    harness.sonde("record", "--quiet", "-o", path, script, join(dirname(harness.program), "../.."));
  });
}

test("regions: their times in the overview; one is chosen there and in the timeline, and every view follows", async (harness) => {
  const truth = harness.report(recording(harness)).regions;
  const page = await harness.open(harness.html(recording(harness)), {});
  const rows = page.locator(".regions tbody tr");
  await rows.first().waitFor();
  const cells = async (row) => row.locator("td").allInnerTexts();
  assert.deepEqual(await page.locator(".regions tbody th").allInnerTexts(), truth.map(({ name }) => name));
  for (const [i, region] of truth.entries()) {
    const [calls, total, , self] = await cells(rows.nth(i));
    assert.equal(calls, String(region.calls));
    assertShown(total, region.total_ns);
    assertShown(self, region.self_ns);
  }
  await rows.filter({ hasText: "pack" }).getByRole("button").click();
  await settled(page);
  assert.match(page.url(), /region=pack/);
  await goTo(page, "Table");
  await settled(page);
  const names = await page.locator(".table .body .cell.name").allInnerTexts();
  assert(names.includes("packed") && !names.includes("outside"), names.join());
  await page.keyboard.press("Escape");
  await page.waitForSelector(".filters", { state: "detached" });
});

test("marks are a track: small, with their words and times", async (harness) => {
  const [first] = harness.report(recording(harness)).marks;
  const page = await harness.open(harness.html(recording(harness)), { hash: "#view=timeline" });
  const title = page.locator(".tracks .region", { hasText: "marks" });
  await title.waitFor();
  await settled(page);
  const [row, picture] = [await title.boundingBox(), await page.locator("main canvas").boundingBox()];
  const found = new Set();
  for (let x = 0; x < picture.width; x += 2) {
    await page.mouse.move(picture.x + x, row.y + 8);
    const tip = page.locator(".tip");
    if (await tip.isVisible()) found.add((await tip.innerText()).split("\n")[0]);
  }
  assert.deepEqual([...found].filter((words) => words.startsWith("turn")), ["turn: <b>0</b>", "turn: <b>1</b>"]);
  assert.equal(first.name, "turn");
});
