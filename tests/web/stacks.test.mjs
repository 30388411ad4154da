// What pictures of stacks can be told: colours, order, depth, direction, recursion; zoom and back; copies and files.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

import { assertShown, clickAt, goTo, place, pointAt, settled, test, value } from "./harness.mjs";

const hash = (page) => new URL(page.url()).hash;
/** Opens what is folded where there is no room for all choices. */
const unfold = async (page) => {
  const opener = page.locator(".choices .opener");
  if ((await opener.isVisible()) && (await opener.getAttribute("aria-expanded")) === "false") await opener.click();
};
const choose = async (page, label, option) => {
  await unfold(page);
  await page.locator(".choices label", { hasText: label }).locator("select").selectOption(option);
  await settled(page);
};
/** Height of the axis above time order. */
const AXIS = 22;

/** Pixel of the canvas at a share of its width, in a row: "r,g,b". */
async function colorAt(page, share, row, above = 0) {
  return page.locator("main canvas").first().evaluate(
    (canvas, [share, y]) => {
      const copy = document.createElement("canvas"); // reading the page's own often is worth a warning
      const context = copy.getContext("2d");
      context.drawImage(canvas, Math.floor(share * canvas.width), y, 1, 1, 0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).join(",");
    },
    [share, above + row * 20 + 2],
  );
}

/** Names of the frames of a row, left to right, by pointing along it. */
async function rowNames(page, row, steps = 16) {
  const names = [];
  const box = await page.locator("main canvas").first().boundingBox();
  for (let step = 0; step < steps; step++) {
    await page.mouse.move(box.x + ((step + 0.5) / steps) * box.width, box.y + row * 20 + 10);
    await settled(page);
    const name = await page.evaluate(() => document.querySelector(".status b")?.textContent ?? "");
    if (name && name !== names.at(-1)) names.push(name);
  }
  return names;
}

// Three threads: 5 parts in one's work, 3 in another's, and idle() shared half and half.
const THREADS = {
  $schema: "https://www.speedscope.app/file-format-schema.json",
  shared: { frames: ["work", "rest", "shared", "zebra", "alpha"].map((name) => ({ name, file: "/home/me/run.py", line: 1 })) },
  profiles: [
    { type: "sampled", name: "first", unit: "milliseconds", startValue: 0, endValue: 9, samples: [[0], [2, 3], [2, 4]], weights: [5, 2, 2] },
    { type: "sampled", name: "second", unit: "milliseconds", startValue: 0, endValue: 7, samples: [[1], [2, 4]], weights: [3, 4] },
  ],
};
const threads = (harness) => harness.made("threads.json", (path) => writeFileSync(path, JSON.stringify(THREADS)));

test("colour by thread: each has its own, what they share is between; not offered where there is one", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=flame&name=1" });
  await settled(page);
  await choose(page, "colour", "thread");
  assert.deepEqual((await page.locator(".choices .legend").innerText()).split(/\s{2,}|\n/).map((text) => text.trim().split(" ")[0]), ["first", "second", "others,"]);
  // By name: rest 3, shared 8, work 5 of 16.
  const [rest, shared, work] = [await colorAt(page, 0.1, 1), await colorAt(page, 0.4, 1), await colorAt(page, 0.9, 1)];
  assert.equal(new Set([rest, shared, work]).size, 3, `${rest} ${shared} ${work}`);
  const legend = await page.locator(".choices .legend i").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  const css = (color) => `rgb(${color.replaceAll(",", ", ")})`;
  assert.equal(css(work), legend[0]);
  assert.equal(css(rest), legend[1]);
  await page.mouse.move(...(await place(page, 0.9, 1)));
  assert.match((await page.locator(".tip").innerText()).replaceAll("\n", " "), /thread first \d+ · 100 % of it/);
  await page.mouse.move(...(await place(page, 0.4, 1)));
  assert.match((await page.locator(".tip").innerText()).replaceAll("\n", " "), /thread (first|second) \d+ · 50\.0 % of it/);
  for (const as of ["Bottom-up", "Time order"]) {
    await page.getByRole("button", { name: as }).click();
    await settled(page);
    const color = as === "Bottom-up" ? await colorAt(page, 0.47, 1) : await colorAt(page, 0.02, 0, AXIS); // rest; work
    assert.equal(css(color), legend[as === "Bottom-up" ? 1 : 0], as);
  }
  const alone = await harness.open(harness.html(harness.hard("one")), { hash: "#view=flame&color=thread" });
  await settled(alone);
  assert.equal(await alone.locator("option[value=thread]").count(), 0);
  assert.equal(await alone.locator(".choices .legend").count(), 0);
});

test("another arrangement is painted in the frame that its canvas comes in", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=flame&name=1" });
  await settled(page);
  const blank = await page.evaluate(async () => {
    const isBlank = (canvas) => {
      const context = document.createElement("canvas").getContext("2d");
      context.drawImage(canvas, Math.floor(canvas.width / 2), 10, 1, 1, 0, 0, 1, 1);
      return context.getImageData(0, 0, 1, 1).data[3] === 0;
    };
    const buttons = [...document.querySelectorAll(".choices button")];
    let [seen, found] = [null, 0];
    for (const title of ["Bottom-up", "Time order", "Top-down"]) {
      buttons.find((button) => button.textContent === title).click();
      for (const end = performance.now() + 400; performance.now() < end; ) {
        await new Promise((done) => window.settling_.frame(done));
        const shown = document.querySelector("main canvas.stacks");
        if (shown && shown === seen && isBlank(shown)) found++; // it was there before the last frame was painted
        seen = shown;
      }
    }
    return found;
  });
  assert.equal(blank, 0, "frames with an empty canvas");
});

test("order by name or by time; both in the URL", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=flame" });
  await settled(page);
  assert.deepEqual(await rowNames(page, 1), ["shared", "work", "rest"]);
  await choose(page, "order", "name");
  assert.deepEqual(await rowNames(page, 1), ["rest", "shared", "work"]);
  assert.deepEqual(await rowNames(page, 2), ["alpha", "zebra"]);
  assert.match(hash(page), /name=1/);
  await page.goBack();
  await settled(page);
  assert.deepEqual(await rowNames(page, 1), ["shared", "work", "rest"]);
});

test("depth leaves deeper rows out, cutoff greys the small, upwards turns the picture", async (harness) => {
  const page = await harness.open(harness.html(harness.hard("deep", "50")), { hash: "#view=flame" });
  await settled(page);
  assert.match(await pointAt(page, 0.5, 12), /^descend/);
  await choose(page, "depth", "5");
  const ground = await colorAt(page, 0.5, 20);
  assert.notEqual(await colorAt(page, 0.5, 5), ground);
  assert.equal(await colorAt(page, 0.5, 6), ground, "the sixth row is empty");
  await unfold(page);
  await page.getByRole("button", { name: "Upwards" }).click();
  await settled(page);
  assert.equal(await colorAt(page, 0.5, 1), ground, "the program is at the bottom");
  const other = await harness.open(harness.html(threads(harness)), { hash: "#view=flame&name=1" });
  await settled(other);
  const [small, large] = [await colorAt(other, 0.1, 1), await colorAt(other, 0.4, 1)];
  await other.evaluate(() => (location.hash = `${location.hash}&cut=0.25`));
  await settled(other);
  assert.notEqual(await colorAt(other, 0.1, 1), small, "3 of 16 are below a quarter");
  assert.equal(await colorAt(other, 0.4, 1), large);
});

test("all choices are in one line, or behind a button that says how many are not as usual", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=flame" });
  for (const width of [1280, 1440, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    for (const as of ["Top-down", "Time order", "Bottom-up", "Sandwich"]) {
      await page.getByRole("button", { name: as }).click();
      await settled(page);
      const { height } = await page.locator(".choices").boundingBox();
      assert(height < 45, `${as} at ${width}: ${height} pixels`);
    }
    assert.equal(await page.locator(".choices .opener").isVisible(), width < 1500, `${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "Top-down" }).click();
  await choose(page, "order", "name");
  assert.match(await page.locator(".choices .opener").innerText(), /\(1\)/);
  await page.keyboard.press("Escape");
  assert(!(await page.locator(".choices label", { hasText: "order" }).isVisible()), "Escape folds them again");
  assert.match(hash(page), /name=1/);
});

test("time order has an axis that counts from the begin; a drag along it selects a range", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=flame&as=time" });
  await settled(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG", exact: true }).click()]);
  const svg = readFileSync(await download.path()).toString();
  for (const label of ["0 ms", "2 ms", "8 ms"]) assert(svg.includes(`>${label}</text>`), `${label} in ${svg.slice(0, 2000)}`);
  const box = await page.locator("main canvas").first().boundingBox();
  const point = async (share) => {
    const { x, y, width } = await page.locator("main canvas").first().boundingBox();
    await page.mouse.move(x + share * width, y + AXIS + 10);
    return page.locator(".status b").innerText();
  };
  // 9 ms: work 5, then shared 4.
  assert.deepEqual([await point(0.5), await point(0.6)], ["work", "shared"]);
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.9 * box.width, box.y + 8, { steps: 3 });
  await page.mouse.up();
  await settled(page);
  const [from, to] = /t=(\d+)-(\d+)/.exec(hash(page)).slice(1).map(Number);
  assert(Math.abs((to - from) / 2.7e6 - 1) < 0.02, `${to - from} ns`);
  assert.equal(await point(0.1), "shared", "the range fills the picture");
});

test("recursion is merged in every arrangement", async (harness) => {
  const text = "main (/m.py:1);walk (/m.py:5);step (/m.py:9);walk (/m.py:5);step (/m.py:9) 100\nmain (/m.py:1) 20\n";
  const file = harness.made("recursive.txt", (path) => writeFileSync(path, text));
  for (const [as, row, before, after] of [["", 4, ["walk"], ["step"]], ["bottom-up", 3, ["step"], ["main"]]]) {
    const page = await harness.open(harness.html(file), { hash: `#view=flame&as=${as}` });
    await settled(page);
    const shownBefore = await rowNames(page, as ? 3 : 4, 8);
    assert.deepEqual(shownBefore, before, as);
    await page.keyboard.press("r");
    await settled(page);
    if (as) assert.deepEqual(await rowNames(page, row, 8), after);
    else assert.deepEqual([await rowNames(page, 3, 8), await rowNames(page, 4, 8)], [["step"], []], "step below walk, and no more");
  }
});

test("zoom is in the URL: Back goes out again, a link shows what its sender saw", async (harness) => {
  const file = harness.html(threads(harness));
  const page = await harness.open(file, { hash: "#view=flame" });
  await settled(page);
  await clickAt(page, 0.1, 1);
  assert.deepEqual(await rowNames(page, 1, 8), ["shared"]);
  await clickAt(page, 0.1, 2);
  assert.deepEqual(await rowNames(page, 2, 8), ["alpha"]);
  const again = await harness.open(file, { hash: hash(page) });
  await settled(again);
  assert.deepEqual(await rowNames(again, 2, 8), ["alpha"], "the link");
  await page.goBack();
  await settled(page);
  assert.deepEqual(await rowNames(page, 2, 8), ["alpha", "zebra"]);
  await page.goBack();
  await settled(page);
  assert.deepEqual(await rowNames(page, 1), ["shared", "work", "rest"]);
  await page.goForward();
  await settled(page);
  assert.deepEqual(await rowNames(page, 1, 8), ["shared"]);
});

test("the stack of the selection is copied, from flame and sunburst", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=flame", permissions: ["clipboard-read", "clipboard-write"] });
  await settled(page);
  await clickAt(page, 0.1, 2);
  const copied = async () => {
    await page.keyboard.press("c");
    await page.mouse.move(5, 5);
    await page.waitForFunction(() => /clipboard/.test(document.querySelector(".status").textContent));
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.equal(await copied(), "shared /home/me/run.py:1\nalpha /home/me/run.py:1");
  await goTo(page, "Sunburst");
  await page.locator(".callstack").getByRole("button", { name: "work" }).click();
  await settled(page);
  assert.equal(await copied(), "work /home/me/run.py:1");
});

test("sunburst saved as SVG: an arc for each frame, names as text, angles as the times are; and as PNG", async (harness) => {
  const page = await harness.open(harness.html(threads(harness)), { hash: "#view=sunburst&name=1" });
  await page.waitForSelector(".callstack li");
  await settled(page);
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
    assert.equal(download.suggestedFilename(), `threads-sunburst.${name.toLowerCase()}`);
    return readFileSync(await download.path());
  };
  const svg = (await saved("SVG")).toString();
  const drawn = await page.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    const arcs = [...parsed.querySelectorAll("path")];
    const size = Number(parsed.documentElement.getAttribute("width"));
    // "rest" is 3 of 16 from the top on, with the clock; "work" the last 5.
    const inside = (name, turn) => {
      const path = new Path2D(arcs.find((one) => one.previousSibling.textContent === name).getAttribute("d"));
      const context = document.createElement("canvas").getContext("2d");
      const angle = (turn - 0.25) * 2 * Math.PI;
      return context.isPointInPath(path, Math.cos(angle) * size * 0.25, Math.sin(angle) * size * 0.25);
    };
    return {
      errors: parsed.querySelectorAll("parsererror, script").length,
      names: arcs.map((one) => one.previousSibling.textContent),
      places: [inside("rest", 0.1), inside("rest", 0.3), inside("work", 0.9), inside("work", 0.6)],
    };
  }, svg);
  assert.deepEqual(drawn, { errors: 0, names: ["rest", "shared", "work", "alpha", "zebra"], places: [true, false, true, false] });
  assert.match(svg, />a<\/text>/, "letters are text");
  assert.equal((await saved("PNG")).subarray(1, 4).toString(), "PNG");
  assertShown(await page.locator(".callstack .figure").first().innerText(), 16e6);
  assert.equal(value("16 ms"), 16e6);
});
