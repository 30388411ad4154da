// The page for those who print it, hear it or use keys alone; a folder of recordings; what a damaged one says.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { goTo, INPUTS, settled, test, until } from "./harness.mjs";

const small = (harness) => harness.html(harness.golden("small.sonde"));
const hash = (page) => new URL(page.url()).hash;

/** Prints; what was in the page while it did: its colours, rows and what is not for paper. */
async function print(page) {
  await page.evaluate(() => {
    addEventListener("beforeprint", () =>
      queueMicrotask(() => {
        const canvas = document.querySelector("main canvas");
        const copy = document.createElement("canvas").getContext("2d");
        if (canvas) copy.drawImage(canvas, canvas.width - 20, canvas.height - 4, 1, 1, 0, 0, 1, 1);
        window.printed = {
          // Of the graph's lines: dark on paper.
          lines: document.querySelector(".drawing .edge path")?.getAttribute("stroke"),
          theme: document.documentElement.dataset.theme,
          rows: document.querySelectorAll(".rows .row").length,
          ground: canvas ? copy.getImageData(0, 0, 1, 1).data[0] : 255,
        };
      }),
    );
  });
  const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
  return { ...(await page.evaluate(() => window.printed)), pages: pdf.match(/\/Type \/Page\b/g).length };
}

test("on paper: light, whole tables, no buttons; the screen stays as it was", async (harness) => {
  const recording = harness.golden("sampled.sonde");
  const { functions } = harness.report(recording);
  const page = await harness.open(harness.html(recording), { colorScheme: "dark", hash: "#f=4" });
  for (const [view, pages] of [["Overview", 2], ["Table", 2], ["Flame", 2], ["Sunburst", 2], ["Graph", 2], ["Timeline", 2]]) {
    await goTo(page, view);
    if (view === "Graph") await page.waitForSelector(".drawing .node");
    const got = await print(page);
    assert.equal(got.theme, "light", view);
    assert(got.ground > 240, `${view}: the picture's ground is ${got.ground}`);
    assert(got.pages <= pages, `${view}: ${got.pages} pages`);
    if (view === "Graph") assert.equal(got.lines, "#5b6470");
    if (view === "Table") assert.equal(got.rows, functions.length);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", view);
  }
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 700, height: 1000 }); // as wide as paper: no layout for small screens
  const box = await page.locator(".inspector").boundingBox();
  const above = await page.locator("main").boundingBox();
  assert(box.width > 600 && box.y >= above.y + above.height, "the selected function stands below the view");
  for (const unwanted of ["nav", "header .search", "header button", ".choices", ".strip"])
    for (const one of await page.locator(unwanted).all()) assert(!(await one.isVisible()), unwanted);
});

const NAMED = new Set(["button", "checkbox", "combobox", "link", "listbox", "menuitem", "radio", "searchbox", "slider", "spinbutton", "tab", "textbox", "table", "Canvas", "toolbar", "navigation", "complementary"]);

/** Roles and names of what a screen reader meets. */
async function heard(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return nodes.filter(({ ignored }) => !ignored).map(({ role, name }) => [role?.value ?? "", (name?.value ?? "").trim()]);
}

test("to a screen reader everything that can be used has a role and a name, in every view", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("sampled.sonde"), harness.golden("small.sonde")), { hash: "#f=2" });
  for (const view of await page.locator("nav button").allInnerTexts()) {
    await goTo(page, view);
    const all = await heard(page);
    const nameless = all.filter(([role, name]) => NAMED.has(role) && !name);
    assert.deepEqual(nameless, [], `${view}: without a name`);
    const count = (role) => all.filter(([one]) => one === role).length;
    assert.equal(count("main"), 1, view);
    assert(all.some(([role, name]) => role === "main" && name === view), `${view} is main's name`);
    assert(all.some(([role, name]) => role === "navigation" && name === "views"), view);
    if (view === "Table" || view === "Compare") {
      assert.equal(count("table"), 1, view);
      assert(count("columnheader") >= 5 && count("row") > 3 && count("cell") > 20, `${view}: ${count("row")} rows`);
    }
  }
  assert.equal(await page.locator("nav [aria-current=page]").count(), 1);
});

/** What keys do, by the words of the help: where, with what first, and what is different afterwards. */
const state = (page) =>
  page.evaluate(() => {
    const pixels = [...document.querySelectorAll("main canvas")].map((canvas) => {
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { buffer } = copy.getImageData(0, 0, canvas.width, canvas.height).data;
      return new Uint32Array(buffer).reduce((sum, pixel) => (Math.imul(sum, 31) + pixel) | 0, 0);
    });
    const view = document.querySelector("main svg")?.getAttribute("viewBox");
    const focus = document.activeElement.tagName + (document.activeElement.type ?? "");
    return JSON.stringify([location.hash, pixels, view, focus, document.querySelector(".status")?.textContent, document.querySelectorAll(".help").length]);
  });
const CHECKS = {
  "/": [["view=flame", ["/"]]],
  "n N": [["view=table&q=work|visit", ["n", "N"]], ["view=flame&q=work|visit", ["n", "N"]]],
  "← → ↑ ↓, W A S D, + −": [
    ["view=flame", ["w", "d", "a", "s", "+", "ArrowRight", "ArrowLeft", "-"]],
    ["view=timeline", ["+", "ArrowRight", "a"]],
    ["view=graph", ["ArrowDown", "ArrowRight", "w", "s"]],
    ["view=table", ["ArrowDown", "ArrowDown", "ArrowUp"]],
    ["view=source", ["ArrowDown"]],
    ["view=sunburst", ["ArrowDown", "ArrowDown", "ArrowUp"]],
  ],
  "Page Home End": [["view=table&f=4", ["Home", "End", "Home", "PageDown"]], ["view=source", ["End", "Home"]]],
  Enter: [["view=flame&f=3", ["Enter"]], ["view=table&f=4", ["Enter"]]],
  Esc: [["view=table&f=4&q=o", ["Escape", "Escape"]], ["view=table&module=nowhere", ["Escape"]], ["view=sunburst&z=sunburst:2", ["Escape"]]],
  t: [["view=table", ["t"]]],
  h: [["view=flame", ["h"]]],
  m: [["view=table&f=4", ["m", "m"]]],
  i: [["view=flame", ["i"]]],
  r: [["view=flame", ["r"]]],
  c: [["view=flame&f=3", ["c"]]],
  f: [["view=graph", ["w", "f"]]],
  "?": [["", ["?", "?"]]],
};

/** What a view has once it is there. */
const READY = {
  overview: ".findings",
  flame: "main canvas",
  sunburst: ".callstack li",
  table: ".table .rows .row",
  graph: ".drawing svg .node",
  source: ".code .rows .row",
  timeline: ".tracks .name",
};

test("every key of the help does something, and no other is missing from it", async (harness) => {
  const file = harness.html(harness.golden("sampled.sonde"));
  const page = await harness.open(file, { reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] });
  await page.keyboard.press("?");
  const listed = await page.locator(".help dl").nth(1).locator("dt").allInnerTexts();
  assert.deepEqual(listed, Object.keys(CHECKS));
  const views = await page.locator(".help dl").first().locator("dd").allInnerTexts();
  await page.keyboard.press("?");
  for (const [index, title] of views.entries()) {
    await page.keyboard.press(String(index + 1));
    assert.equal(await page.locator("nav [aria-current=page]").innerText(), title);
  }
  for (const [keys, cases] of Object.entries(CHECKS))
    for (const [where, presses] of cases) {
      await page.evaluate(() => (location.hash = "#"));
      await page.evaluate(() => document.activeElement.blur());
      await page.evaluate((to) => (location.hash = `#${to}`), where);
      const isEmpty = where.includes("nowhere");
      await page.waitForSelector(isEmpty ? ".table" : READY[/view=(\w*)/.exec(where)?.[1] ?? "overview"]);
      await settled(page);
      for (const key of presses) {
        const before = await state(page);
        await page.keyboard.press(key);
        await until(async () => (await state(page)) !== before, `${keys}: ${key} in ${where}`);
        await settled(page);
      }
    }
});

test("a folder: its recordings are listed, each can be shown and compared", async (harness) => {
  const folder = join(harness.folder, "runs");
  mkdirSync(folder);
  for (const name of ["small.sonde", "sampled.sonde"]) copyFileSync(join(INPUTS, name), join(folder, name));
  writeFileSync(join(folder, "notes.txt"), "not a recording\n");
  const html = join(harness.folder, "runs.html");
  harness.sonde("view", "-o", html, folder);
  const page = await harness.open(html);
  await page.waitForSelector(".recordings");
  const titles = await page.locator(".recordings th").allInnerTexts();
  assert.deepEqual(titles, ["sampled.sonde", "small.sonde"]);
  assert.match(await page.locator("header .facts").innerText(), /samples/);
  await page.locator(".recordings").getByRole("button", { name: "small.sonde", exact: true }).click();
  await settled(page);
  assert.match(hash(page), /r=1/);
  assert.equal(await page.locator(".recordings [aria-current]").innerText(), "small.sonde");
  await page.locator(".recordings").getByRole("button", { name: "compare with sampled.sonde" }).click();
  await page.waitForSelector(".totals");
  const chosen = await page.locator(".compare .choices select").evaluateAll((all) => all.map((one) => one.selectedOptions[0].textContent));
  assert.deepEqual(chosen, ["1: sampled.sonde", "2: small.sonde"], "the first of the list is before");
});

test("a page exported of a cut recording says that it is cut", async (harness) => {
  const whole = readFileSync(join(INPUTS, "sampled.sonde"));
  const cut = harness.made("cut.sonde", (path) => writeFileSync(path, whole.subarray(0, Math.floor(whole.length * 0.8))));
  for (const words of [["export", "--format", "html"], ["view"]]) {
    const html = join(harness.folder, `cut-${words[0]}.html`);
    harness.sonde(...words, "-o", html, cut);
    const page = await harness.open(html);
    await page.waitForSelector(".facts dd");
    await settled(page);
    assert.match(await page.locator(".overview").innerText(), /cut off/, words[0]);
  }
  const page = await harness.open(harness.html(harness.golden("sampled.sonde")));
  await page.waitForSelector(".facts dd");
  assert.doesNotMatch(await page.locator(".overview").innerText(), /cut off|damaged/);
});
