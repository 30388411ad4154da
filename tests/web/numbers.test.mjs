// Every view shows the numbers that `sonde report --json` has of the same file, for what sonde records and imports.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { assertShown, goTo, pointAt, settled, test, value } from "./harness.mjs";

const SCRIPT = `
def inner(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
def outer():
    for _ in range(300):
        inner(20000)
    return sorted(str(fibonacci(15)) for _ in range(3))
outer()
`;

function script(harness) {
  return harness.made("program.py", (path) => writeFileSync(path, SCRIPT));
}

function traced(harness) {
  return harness.made("traced.sonde", (path) => harness.sonde("trace", "--quiet", "-o", path, script(harness)));
}

function recorded(harness) {
  return harness.made("recorded.sonde", (path) =>
    harness.sonde("record", "--quiet", "-r", "1000", "-o", path, "--", "python3", script(harness)),
  );
}

const RECORDINGS = {
  "sonde trace": traced,
  "sonde record": recorded,
  "two processes and recursion": (harness) => harness.golden("small.sonde"),
  "samples with idle threads": (harness) => harness.golden("sampled.sonde"),
  "native frames": (harness) => harness.golden("native.sonde"),
  cProfile: (harness) =>
    harness.made("program.prof", (path) => execFileSync("python3", ["-m", "cProfile", "-o", path, script(harness)])),
  speedscope: (harness) =>
    harness.made("program.speedscope.json", (path) => harness.sonde("export", "-o", path, recorded(harness))),
  "collapsed stacks": (harness) =>
    harness.made("program.collapsed", (path) => harness.sonde("export", "-o", path, recorded(harness))),
};

/** Rows of the table as they stand on the page: {column: text}. Scrolls until all were seen. */
async function tableRows(page) {
  const heads = await page.locator(".table [role=columnheader]").evaluateAll((all) => all.map((one) => one.classList[1]));
  const rows = await page.locator(".table .body [role=row]").evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll("[role=cell]")].map((cell) => cell.textContent)),
  );
  return rows.map((cells) => Object.fromEntries(heads.map((head, index) => [head, cells[index]])));
}

const place = ({ file, line }) => (!file || file === "~" ? "" : line ? `${file}:${line}` : file);

/** C functions lose what pstats puts around their names: "<method 'x' of 'y' objects>" is y.x. */
function shownName({ c, name, qualname }) {
  if (!qualname) return name; // native
  if (!c) return qualname.replaceAll(".<locals>", "");
  const method = /^<method '(.+)' of '(.+)' objects>$/.exec(qualname);
  const builtin = /^<built-in method (?:builtins\.)?(.+)>$/.exec(qualname);
  return method ? `${method[2]}.${method[1]}` : (builtin?.[1] ?? qualname);
}

/** The one function of the report that a row shows; null when several have the same name and place. */
function functionOf(report, row) {
  const named = report.functions.filter((one) => shownName(one) === row.name);
  const found = named.filter((one) => place(one) === row.place || (one.file === "~" && !row.place));
  assert(found.length, `the report has no ${row.name} at ${row.place}`);
  return found.length === 1 ? found[0] : null;
}

/** Findings and the ten hottest functions, by own and by whole time. */
async function checkOverview(page, report) {
  await page.waitForSelector(".bars li");
  const findings = (await page.locator(".findings li").allInnerTexts()).map((text) => text.trim());
  assert.deepEqual(findings, report.findings.map(({ text }) => text));
  const [self, total] = await page.locator(".bars").evaluateAll((lists) =>
    lists.map((list) => [...list.querySelectorAll("li")].map((row) => row.querySelector(".figure").textContent)),
  );
  for (const [shown, field] of [[self, "self_ns"], [total, "total_ns"]]) {
    const truth = report.functions.map((one) => one[field]).filter(Boolean).sort((a, b) => b - a);
    shown.forEach((text, index) => assertShown(text, truth[index], `${field}, row ${index}`));
    assert.equal(shown.length, Math.min(10, truth.length));
  }
}

for (const [name, make] of Object.entries(RECORDINGS))
  test(`numbers of the overview and the table: ${name}`, async (harness) => {
    const recording = make(harness);
    const report = harness.report(recording);
    const page = await harness.open(harness.html(recording));
    await checkOverview(page, report);
    await goTo(page, "Table");
    assert.equal(await page.locator(".table [role=table]").getAttribute("aria-rowcount"), String(report.functions.length));
    const rows = await tableRows(page);
    assert(rows.length >= Math.min(report.functions.length, 20), `${rows.length} rows are in sight`);
    const selfs = rows.map((row) => value(row.self));
    assert.deepEqual(selfs, selfs.toSorted((a, b) => b - a), "sorted by own time, largest first");
    for (const row of rows) {
      const truth = functionOf(report, row);
      if (!truth) continue;
      assertShown(row.self, truth.self_ns, `self of ${row.name}`);
      assertShown(row.total, truth.total_ns, `total of ${row.name}`);
      if (row.calls) assertShown(row.calls, truth.calls, `calls of ${row.name}`);
      if (row.samples) assertShown(row.samples, truth.samples, `samples of ${row.name}`);
    }
  });

/** A share as the page writes it. */
function percentText(part, whole) {
  const percent = (100 * part) / whole;
  if (percent === 0) return "0 %";
  if (percent < 0.005) return "< 0.01 %";
  return `${percent.toFixed(percent >= 99.95 ? 0 : percent >= 9.995 ? 1 : 2)} %`;
}

for (const [name, module] of [["sonde record", ""], ["cProfile", ""], ["two processes and recursion", ""], ["two processes and recursion", "solver.pool"]])
  test(`shares are the report's, to the letter: ${name} ${module}`, async (harness) => {
    const recording = RECORDINGS[name](harness);
    const report = module ? harness.report(recording, "--module", module) : harness.report(recording);
    const page = await harness.open(harness.html(recording), { hash: `#view=table&percent=1${module && `&module=${module}`}` });
    await page.waitForSelector(".table .body [role=row]");
    let seen = 0;
    for (const row of await tableRows(page)) {
      const truth = functionOf(report, row);
      if (!truth) continue;
      assert.equal(row.self, percentText(truth.self_ns, report.total_ns), `self of ${row.name}`);
      assert.equal(row.total, percentText(truth.total_ns, report.total_ns), `total of ${row.name}`);
      seen++;
    }
    assert(seen >= Math.min(2, report.functions.length), `${seen} rows`);
    await page.locator(".table .body [role=row]").first().click();
    await settled(page);
    const wing = async (title) => page.locator(`.wing[aria-label="${title}"] li`).evaluateAll((all) => all.map((row) => row.querySelectorAll(".figure")[1].textContent));
    const chosen = functionOf(report, (await tableRows(page))[0]);
    const at = report.functions.indexOf(chosen);
    for (const [title, own] of chosen ? [["Called by", "callee"], ["Calls", "caller"]] : []) {
      const truth = report.edges.filter((edge) => edge[own] === at).sort((a, b) => b.total_ns - a.total_ns);
      const shown = truth.map((edge) => percentText(edge.total_ns, chosen.total_ns));
      assert.deepEqual(await wing(title), shown.slice(0, 200), `${title} ${chosen.name}`);
    }
  });

for (const [name, make] of [["sonde trace", traced], ["sonde record", recorded]])
  test(`the share that recording cost is the report's: ${name}`, async (harness) => {
    const recording = make(harness);
    const said = harness.sonde("report", recording).toString().replace(/\s+/g, " ");
    const whole = Number(/overhead about [^(]*\(([\d.]+)%\)/.exec(said)[1]);
    const page = await harness.open(harness.html(recording));
    await page.waitForSelector(".bars li");
    const shown = Number(/overhead ([\d.]+) %/.exec(await page.locator("header").first().innerText())[1]);
    assert(Math.abs(shown - whole) <= (whole < 10 ? 0.06 : 0.6), `the page says ${shown} %, the report ${whole} %`);
  });

test("numbers of the flame view: the whole, a frame, a leaf", async (harness) => {
  const recording = harness.golden("small.sonde");
  const page = await harness.open(harness.html(recording), { hash: "#view=flame" });
  await settled(page);
  // 3.5 s of the main thread (root 0.25, solve 2, visit 0.25 + 0.5, len 0.5) and 1.2 s of two workers.
  assert.match(await pointAt(page, 0.01, 0), /^all .*total 4\.70 s \(100 %/);
  assert.match(await pointAt(page, 0.01, 1), /^<module> \/home\/me\/project\/run\.py:1 · total 3\.50 s \(74\.5 % .* self 250 ms/);
  assert.match(await pointAt(page, 0.01, 2), /^solve .*step\.py:10 · total 3\.25 s .* self 2\.00 s · 400 calls/);
  assert.match(await pointAt(page, 0.01, 3), /^Tree\.visit .* total 1\.25 s .* self 250 ms/);
  assert.match(await pointAt(page, 0.01, 4), /^Tree\.visit .* total 1\.00 s/);
  assert.match(await pointAt(page, 0.9, 1), /^worker .*pool\.py:7 · total 1\.20 s/);
});

test("numbers of the flame view: recursion merged, leaves first, around a function", async (harness) => {
  const recording = harness.golden("small.sonde");
  const page = await harness.open(harness.html(recording), { hash: "#view=flame&fold=1" });
  await settled(page);
  assert.match(await pointAt(page, 0.01, 3), /^Tree\.visit .* total 1\.25 s .* self 750 ms · 2,000 calls/);
  await page.getByRole("button", { name: "Bottom-up" }).click();
  await settled(page);
  assert.match(await pointAt(page, 0.01, 1), /^solve .* total 2\.00 s/);
  const table = harness.report(recording).functions;
  const visit = table.find(({ name }) => name === "Tree.visit");
  await goTo(page, "Table");
  await page.locator(".table .body [role=row]", { hasText: "Tree.visit" }).click();
  await goTo(page, "Flame");
  await page.locator(".choices").getByRole("button", { name: "Sandwich" }).click();
  await page.waitForFunction(() => document.querySelectorAll("canvas").length >= 2);
  await settled(page);
  const callees = (await page.locator("canvas.stacks").count()) - 1;
  assertShown(/total ([^(]+)/.exec(await pointAt(page, 0.5, 0, callees))[1], visit.total_ns, "the chosen function");
});

test("numbers of the inspector: callers and callees", async (harness) => {
  const recording = harness.golden("small.sonde");
  const report = harness.report(recording);
  const page = await harness.open(harness.html(recording), { hash: "#view=table" });
  await page.locator(".table .body [role=row]", { hasText: "Tree.visit" }).click();
  await settled(page);
  const visit = report.functions.findIndex(({ name }) => name === "Tree.visit");
  const inspector = page.locator(".inspector");
  assert.match(await inspector.locator("h2").innerText(), /Tree\.visit/);
  const [total, self] = await inspector.locator(".figures dd:nth-of-type(odd)").allInnerTexts();
  assertShown(total, report.functions[visit].total_ns);
  assertShown(self, report.functions[visit].self_ns);
  for (const [title, own, other] of [["Callers", "callee", "caller"], ["Callees", "caller", "callee"]]) {
    const shown = await inspector.locator("section", { hasText: title }).locator("li").allInnerTexts();
    const truth = report.edges.filter((edge) => edge[own] === visit).sort((a, b) => b.total_ns - a.total_ns);
    assert.equal(shown.length, truth.length, title);
    shown.forEach((text, index) => {
      assert(text.startsWith(shownName(report.functions[truth[index][other]])), text);
      assertShown(text.split("\n").at(-1), truth[index].total_ns, `${title} ${text}`);
    });
  }
});
