// Names that try to become more than text, and shapes at the edge: nothing is injected, nothing breaks.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { clickAt, goTo, pointAt, settled, test } from "./harness.mjs";

const ELEMENTS = "img, iframe, object, embed, base, form, a[href^=javascript], svg[onload], body script:not([type]) ~ script";

async function views(page) {
  return page.locator("nav button").allInnerTexts();
}

/** Elements and handlers that the page itself never makes. */
async function assertNothingInjected(page, where) {
  const found = await page.evaluate((elements) => {
    const handlers = [...document.querySelectorAll("*")].filter((one) =>
      [...one.attributes].some(({ name }) => /^on/i.test(name)),
    );
    return {
      elements: [...document.querySelectorAll(elements)].map((one) => one.outerHTML.slice(0, 200)),
      handlers: handlers.map((one) => one.outerHTML.slice(0, 200)),
      bold: document.querySelectorAll("main b b, .inspector b, .table b").length,
      title: document.title,
      page: location.protocol,
    };
  }, ELEMENTS);
  assert.deepEqual(found, { elements: [], handlers: [], bold: 0, title: found.title, page: "file:" }, where);
  assert(!/injected|^1$/.test(found.title), where);
}

/** Every view of the page, with the function of each row selected in turn. */
async function walk(page) {
  for (const name of await views(page)) {
    await goTo(page, name);
    await assertNothingInjected(page, name);
    assert.equal(await page.locator(".problem").count(), 0, name);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(overflow <= 0, `${name} is ${overflow} pixels too wide`);
  }
}

test("hostile names: each as text in every view, in the inspector, found by search", async (harness) => {
  const recording = harness.hard("hostile");
  const report = harness.report(recording);
  const page = await harness.open(harness.html(recording));
  await walk(page);
  await page.setViewportSize({ width: 1280, height: 1600 }); // so that no row has to be scrolled to
  await goTo(page, "Table");
  const rows = page.locator(".table .body [role=row]");
  const count = await rows.count();
  assert(count > 16, `${count} rows`);
  for (let row = 0; row < count; row++) {
    await rows.nth(row).click();
    await settled(page);
    await assertNothingInjected(page, `row ${row}`);
  }
  const names = await page.locator(".table .body .cell.name").allTextContents();
  for (const name of ["<script>document.title='injected'</script>", "__proto__", "constructor", "(no name)"])
    assert(names.includes(name), `the table shows ${name}`);
  assert(report.functions.some(({ name }) => name.length === 10000));
  for (const view of ["Flame", "Sandwich"]) {
    if (view === "Flame") await goTo(page, view);
    else await page.locator(".choices").getByRole("button", { name: view }).click();
    await settled(page);
    await assertNothingInjected(page, view);
  }
  await page.locator("input[type=search]").fill("<img");
  await settled(page);
  await walk(page);
});

test("hostile names: pointing at and clicking each frame", async (harness) => {
  const page = await harness.open(harness.html(harness.hard("hostile")), { hash: "#view=flame" });
  await settled(page);
  for (let step = 0; step < 20; step++) {
    await pointAt(page, (step + 0.5) / 20, 1);
    await assertNothingInjected(page, `frame at ${step}/20`);
  }
  await clickAt(page, 0.9, 1);
  await assertNothingInjected(page, "a frame zoomed to");
});

test("hostile names of the file itself", async (harness) => {
  const bytes = (await import("node:fs")).readFileSync(harness.hard("hostile"));
  const path = harness.made(`"><img src=x onerror=alert(1)>'&amp;.sonde`, (path) => writeFileSync(path, bytes));
  const page = await harness.open(harness.html(path));
  assert.match(await page.locator("header .title").innerText(), /onerror/);
  await walk(page);
});

test("recursion 5,000 deep", async (harness) => {
  const recording = harness.hard("deep");
  const page = await harness.open(harness.html(recording));
  await walk(page);
  await goTo(page, "Flame");
  assert.match(await pointAt(page, 0.5, 0), /^all/);
  await page.keyboard.press("r");
  await settled(page);
  const report = harness.report(recording);
  const descend = report.functions.find(({ name }) => name === "descend");
  assert.equal(descend.total_ns, 5000 * 1e6);
  assert.match(await pointAt(page, 0.5, 2), /^descend .* total 5\.00 s/);
});

for (const [kind, words] of [["one", "a single sample"], ["none", "no sample at all"]])
  test(words, async (harness) => {
    const page = await harness.open(harness.html(harness.hard(kind)));
    await walk(page);
    for (const arrangement of ["Time order", "Bottom-up", "Sandwich", "Top-down"]) {
      await goTo(page, "Flame");
      await page.getByRole("button", { name: arrangement }).click();
      await settled(page);
      const main = await page.locator("main").innerText();
      if (kind === "none") assert.match(main, /sonde record|no order in time|Select a function/, arrangement);
    }
    assert.doesNotMatch(await page.locator("body").innerText(), /NaN|undefined|Infinity/);
  });
