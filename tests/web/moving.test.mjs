// Moving about: zoom and back, search, sort, the URL, the keyboard, light and dark, motion.

import assert from "node:assert/strict";

import { clickAt, goTo, pointAt, settled, test } from "./harness.mjs";

const small = (harness) => harness.html(harness.golden("small.sonde"));
const hash = (page) => new URL(page.url()).hash;
const firstCells = (page, column) => page.locator(`.table .body .cell.${column}`).allInnerTexts();
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("a click zooms, Escape shows the whole, Back takes the selection back", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=flame" });
  await settled(page);
  assert.match(await pointAt(page, 0.99, 1), /^worker/);
  await clickAt(page, 0.1, 1);
  assert.match(await pointAt(page, 0.99, 1), /^<module>/, "the frame fills the width");
  assert.match(hash(page), /f=\d+/);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.match(await pointAt(page, 0.99, 1), /^worker/);
  assert.match(hash(page), /f=\d+/, "the selection is kept");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.doesNotMatch(hash(page), /f=\d+/, "the second time it is forgotten");
  await page.goBack();
  await settled(page);
  assert.match(hash(page), /f=\d+/, "Back brings it back");
  assert.equal(await page.locator("nav [aria-current=page]").innerText(), "Flame");
});

test("Back and forward go through the views", async (harness) => {
  const page = await harness.open(small(harness));
  await goTo(page, "Flame");
  await goTo(page, "Table");
  const current = () => page.locator("nav [aria-current=page]").innerText();
  assert.equal(await current(), "Table");
  await page.goBack();
  assert.equal(await current(), "Flame");
  await page.goBack();
  assert.equal(await current(), "Overview");
  await page.goForward();
  assert.equal(await current(), "Flame");
});

test("the wheel zooms where the mouse is, a drag moves, a drag is no click", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=flame" });
  await settled(page);
  await pointAt(page, 0.9, 1);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -120);
  await settled(page);
  assert.match(await pointAt(page, 0.5, 1), /^worker/, "the worker has grown over the middle");
  const before = hash(page);
  const box = await page.locator("canvas").first().boundingBox();
  await page.mouse.move(box.x + 100, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + 900, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  assert.match(await pointAt(page, 0.3, 1), /^<module>/);
  assert.equal(hash(page), before, "nothing was selected");
});

test("search: counted, in the URL, narrows the table, dims the picture; a bad expression is text", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=table" });
  await page.keyboard.press("/");
  await page.keyboard.type("visit|^len$");
  await settled(page);
  assert.match(await page.locator("header output").innerText(), /2/);
  assert.deepEqual((await firstCells(page, "name")).sort(), ["Tree.visit", "len"]);
  assert.match(hash(page), /q=visit/);
  await goTo(page, "Flame");
  const dimmed = await page.locator("canvas").first().screenshot();
  await page.locator("input[type=search]").fill("");
  await page.locator("input[type=search]").blur();
  await settled(page);
  assert(!dimmed.equals(await page.locator("canvas").first().screenshot()), "what is not found is dimmed");
  await goTo(page, "Table");
  await page.locator("input[type=search]").fill("method 'acquire' of '_thread.lock' objects>(");
  await settled(page);
  assert.equal((await firstCells(page, "name")).length, 0);
  await page.locator("input[type=search]").fill("[built-in");
  await settled(page);
  assert.equal((await firstCells(page, "name")).length, 0);
});

test("columns sort both ways, numbers and words", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=table" });
  await settled(page);
  const sortBy = async (title) => {
    await page.locator(".table [role=columnheader]", { hasText: title }).getByRole("button").click();
    await settled(page);
  };
  const report = harness.report(harness.golden("small.sonde"));
  await sortBy("Total");
  const byTotal = report.functions.toSorted((a, b) => b.total_ns - a.total_ns).map(({ qualname }) => qualname);
  const shown = await firstCells(page, "name");
  assert.equal(shown.length, byTotal.length);
  assert.equal(shown[0], byTotal[0]);
  await sortBy("Function");
  const words = await firstCells(page, "name");
  assert.deepEqual(words, words.toSorted());
  await sortBy("Function");
  assert.deepEqual(await firstCells(page, "name"), words.toReversed());
  const direction = page.locator("[role=columnheader][aria-sort]");
  assert.equal(await direction.getAttribute("aria-sort"), "descending");
  const again = await harness.open(small(harness), { hash: hash(page) });
  await settled(again);
  assert.deepEqual(await firstCells(again, "name"), words.toReversed(), "the URL has the order");
});

test("the URL alone brings everything back", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=flame" });
  await settled(page);
  await page.getByRole("button", { name: "Bottom-up" }).click();
  await clickAt(page, 0.1, 1);
  await page.keyboard.press("t");
  await page.locator("input[type=search]").fill("solve");
  await settled(page);
  const again = await harness.open(small(harness), { hash: hash(page) });
  await settled(again);
  assert.equal(await again.locator("nav [aria-current=page]").innerText(), "Flame");
  assert.equal(await again.locator(".choices [aria-pressed=true]").first().innerText(), "Bottom-up");
  assert.equal(await again.locator("input[type=search]").inputValue(), "solve");
  assert.match(await again.locator(".inspector h2").innerText(), /solve/);
  assert.equal(hash(again), hash(page));
});

test("a URL of nonsense shows the page", async (harness) => {
  for (const text of ["#view=nowhere&f=999999&t=5-1&thread=77&as=upside-down&color=plaid", "#f=-1&t=x-y", "#%%%"]) {
    const page = await harness.open(small(harness), { hash: text });
    await settled(page);
    for (const view of ["Flame", "Table"]) await goTo(page, view);
    assert.equal(await page.locator(".problem").count(), 0, text);
  }
});

test("by keyboard alone: a view, a function, its place in the flame, the whole, the help", async (harness) => {
  const page = await harness.open(small(harness));
  await page.waitForSelector(".bars li");
  await page.keyboard.press("?");
  assert.match(await page.locator(".help").innerText(), /search functions/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".help").count(), 0);
  // Tab reaches a function of the overview; Enter shows it.
  const button = page.locator(".bars button").first();
  for (let i = 0; i < 60 && !(await button.evaluate((one) => one === document.activeElement)); i++)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(hash(page), /f=\d+/);
  await page.keyboard.press("2");
  await settled(page);
  assert.equal(await page.locator("nav [aria-current=page]").innerText(), "Flame");
  for (const key of ["w", "d", "ArrowLeft", "ArrowDown", "ArrowUp", "s", "a", "Enter", "r", "i", "t", "c", "n", "N"]) {
    await page.keyboard.press(key);
    await settled(page);
  }
  await page.keyboard.press("/");
  await page.keyboard.type("visit");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  assert.equal(await page.locator("nav [aria-current=page]").innerText(), "Overview");
});

test("time or per cent by one key", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=table" });
  await settled(page);
  assert((await firstCells(page, "self")).every((text) => /s$/.test(text)));
  await page.keyboard.press("t");
  assert((await firstCells(page, "self")).every((text) => /%$/.test(text)));
});

test("light and dark: as the system says, by choice, remembered, pictures too", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=flame", colorScheme: "dark" });
  await settled(page);
  const night = await background(page);
  const picture = await page.locator("canvas").first().screenshot();
  await page.locator("header button[title='light or dark']").click();
  await settled(page);
  const day = await background(page);
  const bright = (color) => /\d+/g[Symbol.match](color).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
  assert(bright(night) < 200 && bright(day) > 600, `${night} ${day}`);
  assert(!picture.equals(await page.locator("canvas").first().screenshot()), "the picture has other colours");
  await page.reload();
  await settled(page);
  assert.equal(await background(page), day, "the choice is remembered");
  harness.faultsOf(page).length = 0; // the reload is this test's own navigation
});

test("reduced motion: a zoom is there at once", async (harness) => {
  const page = await harness.open(small(harness), { hash: "#view=flame", reducedMotion: "reduce" });
  await settled(page);
  await page.evaluate(() => {
    window.frames_ = 0;
    const draw = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (...words) {
      window.frames_++;
      return draw.apply(this, words);
    };
  });
  await clickAt(page, 0.1, 1);
  const drawn = await page.evaluate(() => window.frames_);
  assert(drawn > 0 && drawn <= 4, `${drawn} drawings`);
  const durations = await page.evaluate(() =>
    [...document.querySelectorAll("*")].map((one) => getComputedStyle(one).transitionDuration).filter((text) => !/^0s/.test(text)),
  );
  assert.deepEqual(durations, [], "nothing moves by CSS");
});
