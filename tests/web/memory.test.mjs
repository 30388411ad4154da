// Recordings of memory: the numbers of `sonde report --json` by every measure, in bytes and blocks, of the whole and of
// ranges; the URL holds the measure; no view shows a time for an amount.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { assertShown, goTo, settled, test } from "./harness.mjs";

const SCRIPT = `
class Row:
    pass
def load():
    return bytearray(40_000_000)
def parse():
    return [bytes(10_000) for _ in range(300)]
def copy(rows):
    for row in rows * 10:
        bytearray(row)
data = load()
rows = parse()
copy(rows)
`;

function recorded(harness) {
  const program = harness.made("allocates.py", (path) => writeFileSync(path, SCRIPT));
  return harness.made("allocated.sonde", (path) =>
    harness.sonde("mem", "--quiet", "--exact", "--log", "-o", path, "--", "python3", program),
  );
}

const BYTES = ["peak", "total", "leaked", "temporary"];
const BLOCKS = { peak: "peak-count", total: "count", leaked: "leaked-count", temporary: "temporary-count" };
const TIME = /\d\s*(ns|µs|ms|s|min|h)\b/;

/** By name and line of the function: the figures of the table. */
const tableRows = (page) =>
  page.locator(".table .body [role=row]").evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll("[role=cell]")].map((cell) => cell.textContent)),
  );

function checkRows(rows, report, unit) {
  assert(rows.length >= Math.min(report.functions.length, 15), `${rows.length} rows are in sight`);
  for (const [self, total, own, seen, name, place] of rows) {
    const truth = report.functions.find((one) => one.qualname.replaceAll(".<locals>", "") === name && place === `${one.file}:${one.line}`);
    assert(truth, `${name} at ${place}`);
    assertShown(self, truth[`self_${unit}`], `self of ${name}`);
    assertShown(total, truth[`total_${unit}`], `total of ${name}`);
    assertShown(own, truth.count, `blocks of ${name}`);
    assertShown(seen, truth.total_count, `all blocks of ${name}`);
    assert(!TIME.test([self, total, own, seen].join(" ")), `${self} ${total}`);
  }
}

for (const [kind, make] of [["known numbers", (harness) => harness.golden("memory.sonde")], ["sonde mem", recorded]])
  test(`memory: the table by every measure, in bytes and blocks: ${kind}`, async (harness) => {
    const recording = make(harness);
    const page = await harness.open(harness.html(recording), { hash: "#view=table" });
    await page.waitForSelector(".table .body [role=row]");
    for (const name of BYTES)
      for (const unit of ["bytes", "blocks"]) {
        const measure = unit === "bytes" ? name : BLOCKS[name];
        await page.getByLabel("unit").selectOption("bytes");
        await page.getByLabel("what is shown").selectOption(name);
        await page.getByLabel("unit").selectOption(unit);
        await settled(page);
        assert.match(new URL(page.url()).hash, new RegExp(`\\bm=${measure}\\b`));
        const report = harness.report(recording, "--measure", measure);
        assert.equal(await page.locator(".table [role=table]").getAttribute("aria-rowcount"), String(report.functions.length));
        checkRows(await tableRows(page), report, unit);
      }
  });

test("memory: the overview has totals, sites, leaks and sizes of the report", async (harness) => {
  const recording = harness.golden("memory.sonde");
  const { memory, findings } = harness.report(recording);
  const page = await harness.open(harness.html(recording));
  await page.waitForSelector(".sites tbody tr");
  await settled(page);
  assert.deepEqual((await page.locator(".findings li").allInnerTexts()).map((text) => text.trim()), findings.map(({ text }) => text));
  const totals = await page.locator(".measures button").allInnerTexts();
  assert.equal(totals.length, 4);
  totals.forEach((text, index) => {
    const [, bytes, blocks] = /^([\d.,]+ \w+) in ([\d,]+) blocks?/.exec(text.replace(/\s+/g, " "));
    assertShown(bytes, memory[`${BYTES[index]}_bytes`], text);
    assertShown(blocks, memory[`${BYTES[index]}_count`], text);
  });
  assert.match(totals[0], /after 2\.00 s/);
  const sites = await page.locator(".sites").first().locator("tbody tr").allInnerTexts();
  assert.match(sites[0].replace(/\s+/g, " "), /^load etl\.py:7 500 MiB 500 MiB – 2 –$/);
  const leaks = await page.locator(".sites").nth(1).locator("tbody tr").allInnerTexts();
  assert.equal(leaks.length, 1);
  assert.match(leaks[0].replace(/\s+/g, " "), /^parse etl\.py:12 24\.9 MiB 34\.0 MiB 17\.0 MiB/);
  const sizes = await page.locator(".sizes li").allInnerTexts();
  assert.equal(sizes.length, memory.sizes.length);
  sizes.forEach((text, index) => {
    const [from, count, bytes] = text.split("\n").map((part) => part.replace("from ", ""));
    assertShown(from, memory.sizes[index].from_bytes, text);
    assertShown(count, memory.sizes[index].count, text);
    assertShown(bytes, memory.sizes[index].total_bytes, text);
  });
  assert.match(await page.locator("svg.usage").getAttribute("aria-label"), /RSS at most 690 MiB, heap at most 640 MiB/);
  await page.locator(".measures button").nth(2).click();
  await page.waitForSelector("main canvas");
  assert.match(new URL(page.url()).hash, /m=leaked/);
});

test("memory: a range shows what was allocated in it and not freed", async (harness) => {
  const recording = recorded(harness);
  const { processes, counter_totals } = harness.report(recording);
  const end = Math.max(...counter_totals.map(({ most_ns }) => most_ns));
  const begin = processes[0].start_ns;
  const page = await harness.open(harness.html(recording));
  await page.waitForSelector(".measures button");
  const middle = Math.round((begin + end) / 2);
  await page.goto(`${page.url().split("#")[0]}#t=${middle}-${end}`);
  await page.waitForSelector(".filters button");
  await settled(page);
  const texts = (await page.locator(".measures button").allInnerTexts()).join("\n");
  assert.match(texts, /allocated in this time and not freed/);
  assert(!/never freed|alive at the peak/.test(texts), texts);
});

test("memory: every view by another measure, and never a time for an amount", async (harness) => {
  const recording = harness.golden("memory.sonde");
  const { functions, total_bytes } = harness.report(recording, "--measure", "total");
  const page = await harness.open(harness.html(recording), { hash: "#m=total&view=source" });
  const load = functions.find(({ name }) => name === "load");
  await page.waitForSelector(".code .row");
  await settled(page);
  const seventh = await page.locator(".code .row", { hasText: "numpy.fromfile" }).innerText();
  assertShown(seventh.trim().split(/\n/)[1], load.self_bytes, seventh);
  await goTo(page, "Graph");
  await page.waitForSelector(".drawing svg .node");
  const node = page.locator(".drawing .node", { hasText: "etl:5:load" }).first();
  const box = (await node.locator("text").allTextContents()).join(" ");
  assert(Math.abs(Number(/([\d.]+)\s*%/.exec(box)[1]) - (100 * load.total_bytes) / total_bytes) < 0.06, box);
  await node.click();
  await settled(page);
  const figures = await page.locator(".inspector .figures").innerText();
  assert.match(figures, /534 MiB/);
  assert.match(figures, /allocated in all/);
  for (const name of ["Flame", "Sunburst", "Table"]) {
    await goTo(page, name);
    await settled(page);
    const words = `${await page.locator(".inspector .figures").innerText()} ${await page.locator("main .status").allInnerTexts()}`;
    assert(!TIME.test(words), `${name}: ${words}`);
    assert.match(new URL(page.url()).hash, /m=total/);
  }
});

test("memory: two recordings are compared by the measure", async (harness) => {
  const recording = harness.golden("memory.sonde");
  const other = recorded(harness);
  const page = await harness.open(harness.html(recording, other), { hash: "#view=compare&m=leaked" });
  await page.waitForSelector(".totals b");
  await settled(page);
  const totals = await page.locator(".totals b").allInnerTexts();
  [recording, other].forEach((file, index) =>
    assertShown(totals[index], harness.report(file, "--measure", "leaked").total_bytes, `leaked of ${file}`),
  );
});
