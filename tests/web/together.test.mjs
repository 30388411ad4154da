// A recording of several collectors: each measure has the numbers of the report, the chosen function stays chosen, and all
// of them lie on one axis of time.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { assertShown, goTo, settled, test } from "./harness.mjs";

const SCRIPT = `
kept = []
def squares():
    total = 0
    for n in range(30_000):
        total += n * n
def work():
    for i in range(60):
        kept.append(bytearray(1 << 20))
        squares()
work()
`;

function recorded(harness, command, others) {
  const program = harness.made("together.py", (path) => writeFileSync(path, SCRIPT));
  return harness.made(`together-${command}.sonde`, (path) =>
    harness.sonde(command, "--quiet", "--with", others, "-o", path, "--", "python3", program),
  );
}

const rowOf = (page, name) => page.locator(".table .body [role=row]", { has: page.getByText(name, { exact: true }) });

test("several collectors: the function that is chosen, by calls, samples and memory", async (harness) => {
  const recording = recorded(harness, "trace", "sample,mem");
  const page = await harness.open(harness.html(recording), { hash: "#view=table" });
  const choice = page.getByLabel("what is shown");
  await page.waitForSelector(".table .body [role=row]");
  assert.deepEqual(await choice.locator("option").allTextContents(), [
    "time, by calls", "time, by samples", "alive at the peak", "allocated in all", "never freed", "freed at once",
  ]);
  assert.equal(await choice.inputValue(), "time");
  await rowOf(page, "work").click();
  for (const [measure, field, count] of [["sampled", "total_ns", "total_samples"], ["peak", "total_bytes", "total_count"], ["time", "total_ns", "calls"]]) {
    await choice.selectOption(measure);
    await settled(page);
    const truth = harness.report(recording, "--measure", measure).functions.find(({ name }) => name === "work");
    assertShown(await rowOf(page, "work").locator("[role=cell]").nth(1).innerText(), truth[field], measure);
    const figures = await page.locator(".inspector .figures").innerText();
    assert.match(await page.locator(".inspector").innerText(), /work/);
    const word = { sampled: "samples", peak: "blocks", time: "calls" }[measure];
    assert.match(figures, new RegExp(word), figures);
    assert(figures.replaceAll(",", "").includes(String(truth[count])), `${truth[count]} ${word} in ${figures}`);
  }
});

test("several collectors: what the command is about is shown first", async (harness) => {
  for (const [command, others, first] of [["record", "trace,mem", "sampled"], ["mem", "sample,trace", "peak"]]) {
    const page = await harness.open(harness.html(recorded(harness, command, others)), { hash: "#view=table" });
    await page.waitForSelector(".table .body [role=row]");
    assert.equal(await page.getByLabel("what is shown").inputValue(), first);
  }
});

test("several collectors: one time line of threads, heap and CPU", async (harness) => {
  const page = await harness.open(harness.html(recorded(harness, "trace", "sample,mem")), { hash: "#view=timeline" });
  await settled(page);
  const tracks = (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
  assert.match(tracks, /heap highest .* RSS highest .* CPU highest .* MainThread/);
  assert.equal(tracks.split("MainThread").length, 2, `one track for a thread: ${tracks}`);
  await goTo(page, "Overview");
  await page.waitForSelector(".findings li");
  assert.match(await page.locator("main").innerText(), /alive at the peak/);
});
