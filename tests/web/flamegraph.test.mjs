// The flame graph that stands alone (export -f flamegraph), opened as a file: zoom, search, names that try to be more.

import assert from "node:assert/strict";

import { test } from "./harness.mjs";

const MARGIN = 10;

const picture = (harness, recording) =>
  harness.made(`${recording.replace(/.*\//, "")}.svg`, (path) =>
    harness.sonde("export", "-f", "flamegraph", "-o", path, recording),
  );

async function open(harness, recording) {
  return harness.open(picture(harness, recording), { ready: "#frames > g" });
}

/** Every frame as it is drawn now. `name` is the whole of it, whatever there is room for. */
function frames(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("#frames > g")].map((g, index) => {
      const [start, total, depth] = g.getAttribute("data-at").split(",").map(Number);
      const rect = g.querySelector("rect");
      const has = (name) => g.classList.contains(name);
      const shape = { x: Number(rect.getAttribute("x")), width: Number(rect.getAttribute("width")) };
      const marks = { hidden: has("hidden"), dim: has("dim"), found: has("found") };
      return { index, start, total, depth, name: g.__frame.words[0], ...shape, ...marks };
    }),
  );
}

const within = (inner, outer) =>
  inner.start >= outer.start && inner.start + inner.total <= outer.start + outer.total;

/** The first frame that is neither the whole nor alone in its row. */
function divided(all) {
  const found = all.find((one) => one.depth > 1 && one.total < all[0].total * 0.9 && one.total > all[0].total * 0.1);
  assert(found, "a frame with others beside it");
  return found;
}

const click = (page, index) => page.locator("#frames > g rect").nth(index).click();

test("the flame graph's click makes a frame as wide as the picture, and resets", async (harness) => {
  const page = await open(harness, harness.golden("sampled.sonde"));
  const before = await frames(page);
  const wide = page.viewportSize().width - 2 * MARGIN;
  assert(Math.abs(before[0].width - wide) < 2, `${before[0].width} of ${wide}`);
  const focus = divided(before);
  await click(page, focus.index);
  const zoomed = await frames(page);
  assert(Math.abs(zoomed[focus.index].width - wide) < 2, `${zoomed[focus.index].width} of ${wide}`);
  for (const one of zoomed) {
    const shown = within(one, focus) || within(focus, one);
    assert.equal(one.hidden, !shown, one.name);
    if (!one.hidden) assert.equal(one.dim, one.depth < focus.depth, one.name);
  }
  assert(zoomed.some((one) => one.hidden) && zoomed.some((one) => one.dim));
  await page.locator("#reset").click();
  assert.deepEqual(await frames(page), before);
  await click(page, focus.index);
  await page.keyboard.press("Escape");
  assert.deepEqual(await frames(page), before);
  assert(!(await page.locator("#reset").isVisible()));
});

test("the flame graph follows the window, and says what is pointed at", async (harness) => {
  const page = await open(harness, harness.golden("sampled.sonde"));
  const focus = divided(await frames(page));
  await page.setViewportSize({ width: 700, height: 600 });
  await page.waitForFunction(() => Number(document.querySelector("#frames rect").getAttribute("width")) < 700);
  const [whole] = await frames(page);
  assert(Math.abs(whole.width - (700 - 2 * MARGIN)) < 2, `${whole.width}`);
  await page.locator("#frames > g rect").nth(focus.index).hover();
  const said = await page.locator(".details").textContent();
  assert(said.startsWith(`${focus.name} · `) && /[\d.]+%.*itself [\d.]+%/.test(said), said);
});

test("the flame graph's search marks what matches and adds up its share", async (harness) => {
  const page = await open(harness, harness.golden("sampled.sonde"));
  const all = await frames(page);
  const { name } = divided(all);
  const word = /\w+/.exec(name)[0];
  await page.keyboard.press("/");
  await page.keyboard.type(word);
  const marked = await frames(page);
  const pattern = new RegExp(word, "i");
  for (const one of marked) assert.equal(one.found, pattern.test(one.name), one.name);
  const matches = all.filter((one) => pattern.test(one.name));
  const outermost = matches.filter((one) => !matches.some((other) => other.index < one.index && within(one, other)));
  const share = (100 * outermost.reduce((sum, one) => sum + one.total, 0)) / all[0].total;
  const said = await page.locator("#matched").textContent();
  assert.equal(said, `${matches.length} ${matches.length === 1 ? "match" : "matches"}, ${share.toFixed(1)}%`);
  await page.locator("input").fill("([");
  assert.equal(await page.locator("#matched").textContent(), "0 matches, 0.0%");
  await page.keyboard.press("Escape");
  assert.deepEqual(await frames(page), all);
});

test("the flame graph of hostile names and of many frames: text alone, nothing runs", async (harness) => {
  for (const recording of [harness.hard("hostile"), harness.hard("deep"), harness.golden("native.sonde")]) {
    const page = await open(harness, recording);
    const all = await frames(page);
    await click(page, all.find((one) => one.depth > 0 && one.width > 5).index);
    const found = await page.evaluate(() => ({
      scripts: document.querySelectorAll("script").length,
      others: document.querySelectorAll("img, iframe, a, image, use, animate, set").length,
      handlers: [...document.querySelectorAll("*")].filter((one) =>
        [...one.attributes].some((attribute) => /^on/i.test(attribute.name)),
      ).length,
      title: document.title,
    }));
    assert.deepEqual(found, { scripts: 1, others: 0, handlers: 0, title: "" }, recording);
  }
});
