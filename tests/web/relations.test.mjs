// Call graph, source and comparison, and the same page from a server.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assertShown, goTo, settled, test, value } from "./harness.mjs";

const hash = (page) => new URL(page.url()).hash;

async function graph(harness, recording, options = {}) {
  const page = await harness.open(harness.html(recording), { hash: "#view=graph", ...options });
  await page.waitForSelector(".drawing svg .node");
  await settled(page);
  return page;
}

/** Text of each node, by the function's name. */
const nodes = (page) =>
  page.locator(".drawing .node").evaluateAll((all) =>
    all.map((node) => [...node.querySelectorAll("text")].map((text) => text.textContent)),
  );

async function saved(page, kind) {
  const coming = page.waitForEvent("download");
  await page.locator(".saving").getByRole("button", { name: kind, exact: true }).click();
  const download = await coming;
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test("call graph: every function with its share of the time; a click selects", async (harness) => {
  const recording = harness.golden("small.sonde");
  const report = harness.report(recording);
  const page = await graph(harness, recording);
  const shown = await nodes(page);
  assert.equal(shown.length, report.functions.length);
  for (const name of ["solve", "Tree.visit", "worker"]) {
    const words = shown.find((lines) => lines.some((line) => line.includes(name)));
    assert(words, `${name} in ${JSON.stringify(shown)}`);
    const { total_ns } = report.functions.find((one) => one.qualname === name);
    const share = words.join(" ").match(/([\d.]+)\s*%/);
    assert(Math.abs(Number(share[1]) - (100 * total_ns) / report.total_ns) < 0.06, `${words} ${total_ns}`);
  }
  await page.locator(".drawing .node", { hasText: "solve" }).first().click();
  await settled(page);
  assert.match(await page.locator(".inspector h2").innerText(), /solve/);
});

test("call graph: thresholds leave functions out", async (harness) => {
  const recording = harness.golden("small.sonde");
  const report = harness.report(recording);
  const page = await graph(harness, recording);
  const slider = page.locator(".choices input[type=range]").first();
  await slider.fill("12"); // 50 %
  await page.waitForFunction((count) => document.querySelectorAll(".drawing .node").length < count, report.functions.length);
  await settled(page);
  const above = report.functions.filter(({ total_ns }) => total_ns >= report.total_ns / 2);
  assert.equal((await nodes(page)).length, above.length);
});

test("call graph saved as SVG, PNG and dot", async (harness) => {
  const page = await graph(harness, harness.golden("small.sonde"));
  const svg = await saved(page, "SVG");
  assert.match(svg.name, /\.svg$/);
  const text = svg.bytes.toString();
  assert.match(text, /^(<\?xml[^>]*>\s*)?<svg[\s>]/);
  assert(text.includes("Tree.visit"));
  assert.doesNotMatch(text, /<script|onload=|javascript:/i);
  const png = await saved(page, "PNG");
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  assert.match((await saved(page, "dot")).bytes.toString(), /^\s*(strict )?digraph/);
});

test("call graph of hostile names: text only, in the page and in the saved picture", async (harness) => {
  const page = await graph(harness, harness.hard("hostile"));
  assert.equal(await page.locator(".drawing script, .drawing img, .drawing a, .drawing foreignObject").count(), 0);
  const text = (await saved(page, "SVG")).bytes.toString();
  const found = await page.evaluate((text) => {
    const all = [...new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("*")];
    return {
      elements: [...new Set(all.map(({ localName }) => localName))].sort(),
      handlers: all.filter((one) => [...one.attributes].some(({ name }) => /^on|href/i.test(name))).length,
    };
  }, text);
  const allowed = new Set(["ellipse", "g", "path", "polygon", "rect", "svg", "text", "title"]);
  assert.deepEqual(found.elements.filter((name) => !allowed.has(name)), []);
  assert.equal(found.handlers, 0);
  assert(Number(/width="(\d+)pt"/.exec(text)[1]) < 20_000, "a name of 10,000 letters does not make it that wide");
});

const PROGRAM = `import time
def busy(limit):
    end = time.process_time() + limit
    while time.process_time() < end:
        sum(range(1000))
    return "</span><script>document.title='injected'</script>"
busy(0.4)
`;

test("source: the text that ran, its hot lines, jump from a function", async (harness) => {
  const script = harness.made("lines.py", (path) => writeFileSync(path, PROGRAM));
  const recording = harness.made("lines.sonde", (path) =>
    harness.sonde("record", "--quiet", "--embed-source=yes", "-r", "500", "-o", path, "--", "python3", script),
  );
  const page = await harness.open(harness.html(recording), { hash: "#view=table" });
  await page.locator(".table .body [role=row]", { hasText: "busy" }).click();
  await goTo(page, "Source");
  await page.waitForSelector("code >> text=process_time");
  const lines = await page.locator("main [role=row][id^=L]").evaluateAll((all) =>
    all.map((row) => [row.id, row.querySelector("code").textContent, [...row.querySelectorAll(".cell")].map((one) => one.textContent)]),
  );
  assert.deepEqual(lines.map(([, text]) => text), PROGRAM.split("\n").slice(0, lines.length));
  const { self_ns } = harness.report(recording).functions.find(({ name }) => name === "busy");
  const inside = lines.filter(([id]) => ["L3", "L4", "L5", "L6"].includes(id)).map(([, , [self]]) => (self ? value(self) : 0));
  assertShown(`${inside.reduce((sum, part) => sum + part, 0)} ns`, self_ns, "the lines of busy add up to it");
  assert.equal(await page.locator("main script").count(), 0);
});

test("source: lines that were timed, with their hits and exact times", async (harness) => {
  const recording = harness.golden("timed.sonde");
  const page = await harness.open(harness.html(recording), { hash: "#view=source" });
  const chosen = await page.locator("select.wide option", { hasText: "step.py" }).getAttribute("value");
  await page.selectOption("select.wide", chosen);
  await page.waitForSelector("code >> text=total += visit(");
  const shown = await page.locator("main [role=row][id^=L]").evaluateAll((all) =>
    all.map((row) => [Number(row.id.slice(1)), ...[...row.querySelectorAll(".cell")].map((one) => one.textContent)]),
  );
  const rows = new Map();
  for (const { file, rows: lines } of harness.report(recording).lines)
    for (const { line, hits, self_ns, total_ns } of file.endsWith("step.py") ? lines : []) {
      const [sum_hits, sum_self, sum_total] = rows.get(line) ?? [0, 0, 0];
      rows.set(line, [sum_hits + hits, sum_self + self_ns, sum_total + total_ns]);
    }
  assert.equal(rows.size, 5);
  for (const [line, hits, self, total] of shown) {
    const expected = rows.get(line);
    if (!expected) assert.equal(hits, "", `line ${line}`);
    else [hits, self, total].forEach((text, column) => assertShown(text, expected[column], `line ${line}`));
  }
  const hottest = await page.locator(".hot li").first().innerText();
  assert.match(hottest, /^13\s+700 ms\s+total \+= visit\(/);
});

test("source: lines whose memory was measured, with what they added", async (harness) => {
  const script = join(harness.folder, "line_memory.py");
  writeFileSync(script, "@profile\ndef grow():\n    kept = bytearray(50 << 20)\n    del kept\n\n\ngrow()\n");
  const recording = harness.made("line_memory.sonde", (path) =>
    harness.sonde("mem", "--lines", "--quiet", "--no-view", "-o", path, "--", "python3", script),
  );
  const page = await harness.open(harness.html(recording), { hash: "#view=source" });
  await page.waitForSelector("code >> text=bytearray(50");
  const heads = await page.locator(".code .heads > *").allTextContents();
  assert.deepEqual(heads.slice(0, 4), ["Line", "Hits", "Growth", "Highest"]);
  const [rows] = harness.report(recording).lines.map((one) => one.rows);
  const cells = async (line) => (await page.locator(`#L${line} .cell`).allTextContents()).map((text) => text.trim());
  for (const [line, growth] of [[3, "50.0 MiB"], [4, "-50.0 MiB"]]) {
    const row = rows.find((one) => one.line === line);
    assert.ok(Math.abs(Math.abs(row.heap_growth_bytes) - (50 << 20)) < 1000, JSON.stringify(row));
    assert.deepEqual((await cells(line)).slice(0, 2), ["1", growth]);
  }
});

test("source: without the text the lines stand alone", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("sampled.sonde")), { hash: "#view=source" });
  await settled(page);
  assert.match(await page.locator("main").innerText(), /step\.py/);
  assert.equal(await page.locator(".problem").count(), 0);
});

/** Two runs: `slower` takes three times as long, `gone` is only in the first, `fresh` only in the second. */
function two(harness) {
  const write = (name, text) => harness.made(name, (path) => writeFileSync(path, text));
  return [
    write("before.collapsed", "main;slower 10\nmain;same 20\nmain;gone 5\n"),
    write("after.collapsed", "main;slower 30\nmain;same 20\nmain;fresh 7\n"),
  ];
}

test("compare: what each function lost and gained; new and gone; swapped", async (harness) => {
  const files = two(harness);
  const reports = files.map((path) => harness.report(path));
  const page = await harness.open(harness.html(...files), { hash: "#view=compare" });
  await page.waitForSelector(".changes .body [role=row], .changes [role=row]:nth-child(1)");
  await settled(page);
  const rows = async () =>
    Object.fromEntries(
      await page.locator(".changes [role=row]:not(.heads)").evaluateAll((all) =>
        all.map((row) => {
          const cell = (name) => row.querySelector(`.cell.${name}`).textContent.trim();
          return [cell("name"), { before: cell("before"), after: cell("after"), change: cell("change"), mark: cell("mark") }];
        }),
      ),
    );
  const self = (report, name) => report.functions.find((one) => one.name === name)?.self_ns;
  const check = (table, [before, after]) => {
    for (const [name, row] of Object.entries(table)) {
      const [was, is] = [self(before, name), self(after, name)];
      if (was === undefined) assert.equal(row.before, "–");
      else assertShown(row.before, was, name);
      if (is === undefined) assert.equal(row.after, "–");
      else assertShown(row.after, is, name);
      assertShown(row.change.replace(/[+±]\s*/, "").replace(/^[−-]\s*/, "-"), (is ?? 0) - (was ?? 0), `change of ${name}`);
      assert.equal(row.mark, was === undefined ? "new" : is === undefined ? "gone" : "", name);
    }
  };
  const table = await rows();
  assert.deepEqual(Object.keys(table).sort(), ["fresh", "gone", "main", "same", "slower"]);
  check(table, reports);
  const totals = await page.locator(".totals b").allInnerTexts();
  reports.forEach(({ total_ns }, index) => assertShown(totals[index], total_ns));
  await page.getByRole("button", { name: /swap/ }).click();
  await settled(page);
  check(await rows(), reports.toReversed());
  const again = await harness.open(harness.html(...files), { hash: hash(page) });
  await again.waitForSelector(".totals");
  assert.deepEqual(await again.locator(".totals b").allInnerTexts(), totals.toReversed(), "the URL keeps the order");
});

test("compare: what only one of both has is selected in that one, here and in every view", async (harness) => {
  const files = two(harness);
  const page = await harness.open(harness.html(...files), { hash: "#view=compare" });
  const row = (name) => page.locator(".changes .body [role=row]", { hasText: name });
  const totals = await page.locator(".totals").innerText();
  for (const [name, title, in_] of [["fresh", "after.collapsed", 1], ["gone", "before.collapsed", 0], ["fresh", "after.collapsed", 1]]) {
    await row(name).click();
    await settled(page);
    assert.equal(await page.locator(".inspector h2").innerText(), name);
    assert.match(await page.locator(".inspector").innerText(), new RegExp(`in ${title}`));
    assert.equal(await row(name).getAttribute("aria-selected"), "true");
    assert.equal(await page.locator(".totals").innerText(), totals, "before and after are what they were");
    assert.equal(/r=(\d)/.exec(hash(page))?.[1] ?? "0", String(in_));
  }
  await goTo(page, "Table");
  assert.equal(await page.locator(".table .row.selected .name").innerText(), "fresh");
  await page.goBack();
  await settled(page);
  assert.equal(await page.locator(".totals").innerText(), totals);
  // What both have is selected where one is, without a change of the recording.
  await row("slower").click();
  await settled(page);
  assert.equal(await page.locator("header select").inputValue(), "1");
  await page.keyboard.press("ArrowDown");
  await settled(page);
  const names = await page.locator(".changes .body .cell.name").allInnerTexts();
  assert.equal(await page.locator(".changes .row.selected .name").innerText(), names[names.indexOf("slower") + 1]);
  const again = await harness.open(harness.html(...files), { hash: hash(page) });
  await again.waitForSelector(".totals");
  assert.equal(await again.locator(".totals").innerText(), totals, "the URL has it all");
});

test("compare with one recording says how", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("small.sonde")), { hash: "#view=compare" });
  await settled(page);
  assert.match(await page.locator("main").innerText(), /sonde view before\.sonde after\.sonde/);
});

test("from a server: the same numbers, nothing asked of anyone else, a wrong token is refused", async (harness) => {
  const recording = harness.golden("small.sonde");
  const address = await harness.serve(recording);
  const page = await harness.open(address, { hash: "#view=table", network: true });
  await settled(page);
  const shown = await page.locator(".table .body .cell.self").allInnerTexts();
  const truth = harness.report(recording).functions.map(({ self_ns }) => self_ns).sort((a, b) => b - a);
  shown.forEach((text, index) => assertShown(text, truth[index]));
  for (const view of await page.locator("nav button").allInnerTexts()) await goTo(page, view);
  assert.equal(await page.locator(".problem").count(), 0);
  const { origin, pathname } = new URL(address);
  assert.equal((await fetch(address)).status, 200);
  assert.equal((await fetch(origin + pathname.replace(/[0-9a-f]{4}/i, "0000"))).status, 403);
});
