// Sunburst, timeline and the strip of the run: their figures, and the range that every view then shows.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { assertShown, goTo, settled, test, value } from "./harness.mjs";

const sampled = (harness) => harness.golden("sampled.sonde");
const hash = (page) => new URL(page.url()).hash;
const cells = (page, column) => page.locator(`.table .body .cell.${column}`).allInnerTexts();

/** Self time of each function as the table has it now. */
async function selfs(page) {
  const [names, times] = [await cells(page, "name"), await cells(page, "self")];
  return Object.fromEntries(names.map((name, index) => [name, value(times[index])]).filter(([, self]) => self));
}

const listed = (page, list) =>
  page.locator(".callstack ol").nth(list).locator("li").evaluateAll((rows) =>
    rows.map((row) => [row.querySelector("button").textContent, row.querySelector(".figure").textContent]),
  );

test("sunburst: the call stack and what the centre calls, in figures; a click makes a centre and a selection", async (harness) => {
  const recording = harness.golden("small.sonde");
  const report = harness.report(recording);
  const page = await harness.open(harness.html(recording), { hash: "#view=sunburst" });
  await page.waitForSelector(".callstack li");
  assertShown((await listed(page, 0))[0][1], report.total_ns, "the whole");
  const total = (name) => report.functions.find((one) => one.qualname === name).total_ns;
  for (const [name, figure] of await listed(page, 1)) assertShown(figure, total(name), name);
  for (const name of ["<module>", "solve", "Tree.visit"]) {
    await page.locator(".callstack ol").nth(1).getByRole("button", { name, exact: true }).click();
    await settled(page);
    const [last, figure] = (await listed(page, 0)).at(-1);
    assert.equal(last, name);
    assertShown(figure, total(name), name);
    assert.match(await page.locator(".inspector h2").innerText(), new RegExp(name));
  }
  await page.goBack();
  await settled(page);
  assert.match(await page.locator(".inspector h2").innerText(), /solve/, "Back takes the selection back");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.equal((await listed(page, 0)).length, 1);
});

test("sunburst: rings are drawn around the centre, in another colour by night", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("small.sonde")), { hash: "#view=sunburst" });
  await page.waitForSelector(".callstack li");
  await settled(page);
  const colors = () =>
    page.locator("main canvas").first().evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
  assert((await colors()) > 4, "a picture has colours");
  const box = await page.locator("main canvas").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForSelector(".tip");
});

test("timeline: a track for each thread, exact figures below the mouse", async (harness) => {
  const recording = sampled(harness);
  const page = await harness.open(harness.html(recording), { hash: "#view=timeline" });
  await page.waitForSelector(".tracks .name");
  await settled(page);
  const names = (await page.locator(".tracks .name .label").allInnerTexts()).join("\n");
  for (const { name, tid } of harness.report(recording).threads) {
    assert(names.includes(name), `${name} in ${names}`);
    assert(names.includes(String(tid)), `${tid} in ${names}`);
  }
  const first = page.locator(".tracks .name", { has: page.locator(".label", { hasText: "4200" }) });
  const box = await first.boundingBox();
  const picture = await page.locator("main canvas").first().boundingBox();
  await page.mouse.move(picture.x + 20, box.y + 20);
  await page.waitForSelector(".tip");
  const tip = await page.locator(".tip").innerText();
  assert.match(tip, /<module>/);
  assert.match(tip, /lasts\s+180 ms/, tip); // 18 samples of 10 ms before it is idle
});

test("a range in the URL narrows every view to its samples", async (harness) => {
  // From 1.0 s on the main thread spends 8 samples of 10 ms in solve, then 4 more; the others begin later.
  const page = await harness.open(harness.html(sampled(harness)), { hash: "#view=table&t=1000000000-1040000000" });
  await settled(page);
  const narrow = await selfs(page);
  assert.deepEqual(narrow, { solve: 4e7 });
  await goTo(page, "Flame");
  await page.mouse.move(300, 300);
  await goTo(page, "Sunburst");
  assertShown((await listed(page, 0))[0][1], 4e7, "the centre of the sunburst");
  await goTo(page, "Table");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.doesNotMatch(hash(page), /t=\d/);
  assert((await selfs(page)).worker > 0);
});

test("the strip: a drag selects a range for all views, keys move its ends, a double click forgets it", async (harness) => {
  const page = await harness.open(harness.html(sampled(harness)), { hash: "#view=table" });
  await settled(page);
  const all = await selfs(page);
  const box = await page.locator(".strip .course").boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + from * box.width, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + to * box.width, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    await settled(page);
  };
  await drag(0.02, 0.3);
  const [, begin, end] = /t=(\d+)-(\d+)/.exec(hash(page)).map(Number);
  assert(begin >= 1e9 && end > begin && end < 5.6e9, hash(page));
  const part = await selfs(page);
  const sum = (table) => Object.values(table).reduce((total, self) => total + self, 0);
  assert(sum(part) > 0 && sum(part) < sum(all), `${sum(part)} of ${sum(all)}`);
  await page.locator(".strip [role=slider]").nth(1).focus();
  await page.keyboard.press("ArrowLeft");
  await settled(page);
  assert(Number(/t=\d+-(\d+)/.exec(hash(page))[1]) < end);
  await page.goBack();
  await settled(page);
  assert.equal(Number(/t=\d+-(\d+)/.exec(hash(page))[1]), end, "Back takes the move back");
  await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
  await settled(page);
  assert.deepEqual(await selfs(page), all);
});

test("timeline: a range is selected on the axis, a thread by its name", async (harness) => {
  const page = await harness.open(harness.html(sampled(harness)), { hash: "#view=timeline" });
  await page.waitForSelector(".tracks .name");
  const box = await page.locator("main canvas").first().boundingBox();
  await page.mouse.move(box.x + 100, box.y + 60);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await settled(page);
  assert.match(hash(page), /t=\d+-\d+/);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.doesNotMatch(hash(page), /t=\d/);
  await page.locator(".tracks .name .label", { hasText: "4202" }).click();
  await goTo(page, "Table");
  assert.deepEqual(Object.keys(await selfs(page)), ["worker"]);
});

test("a search: its share of the time, once for each stack; n and N go to its places, largest first", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("small.sonde")), { hash: "#view=flame" });
  await settled(page);
  await page.locator("input[type=search]").fill("<module>|worker");
  await page.waitForFunction(() => /of the time/.test(document.querySelector("header output").textContent));
  assert.match(await page.locator("header output").innerText(), /, 100 % of the time$/, "every stack holds one of them");
  await page.locator("input[type=search]").blur();
  await page.keyboard.press("n");
  await settled(page);
  assert.match(await page.locator(".status").innerText(), / 1 of \d+/);
  const first = await page.locator(".inspector h2").innerText();
  await page.keyboard.press("n");
  await settled(page);
  assert.match(await page.locator(".status").innerText(), / 2 of \d+/);
  assert.notEqual(await page.locator(".inspector h2").innerText(), first);
  await page.keyboard.press("N");
  await settled(page);
  assert.equal(await page.locator(".inspector h2").innerText(), first);
});

test("the flame is saved as SVG that holds the names, and as PNG", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("small.sonde")), { hash: "#view=flame" });
  await settled(page);
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
    assert.equal(download.suggestedFilename(), `small-top-down.${name.toLowerCase()}`);
    return readFileSync(await download.path());
  };
  const svg = (await saved("SVG")).toString();
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.match(svg, /<title>&#60;module&#62;<\/title>/, "names are text, and escaped");
  const drawn = await page.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    return [parsed.querySelectorAll("parsererror").length, parsed.querySelectorAll("rect").length];
  }, svg);
  assert.equal(drawn[0], 0);
  assert(drawn[1] > 5);
  assert.equal((await saved("PNG")).subarray(1, 4).toString(), "PNG");
});

test("the window of time is in the URL, the same in time order and timeline; a link brings it back", async (harness) => {
  const file = harness.html(sampled(harness));
  const page = await harness.open(file, { hash: "#view=timeline" });
  await page.waitForSelector(".tracks .name");
  await settled(page);
  const entries = await page.evaluate(() => history.length);
  for (let i = 0; i < 3; i++) await page.keyboard.press("w");
  await page.waitForFunction(() => /[#&]w=\d+-\d+/.test(location.hash));
  const wanted = /w=\d+-\d+/.exec(hash(page))[0];
  assert.equal(await page.evaluate(() => history.length), entries, "moving makes no entries");
  await page.evaluate(() => (location.hash = `${location.hash}&view=flame&as=time`.replace("view=timeline&", "")));
  await settled(page);
  assert.match(hash(page), new RegExp(wanted), "time order shows the same");
  const again = await harness.open(file, { hash: `#view=timeline&${wanted}` });
  await again.waitForSelector(".tracks .name");
  await settled(again);
  assert.match(hash(again), new RegExp(wanted));
  await again.keyboard.press("Escape");
  await again.waitForFunction(() => !/[#&]w=/.test(location.hash));
});

test("pictures lie on whole pixels: between them each frame would be scaled and blurred", async (harness) => {
  const page = await harness.open(harness.html(sampled(harness)), { hash: "#view=flame", viewport: { width: 1283, height: 777 } });
  for (const view of ["view=flame", "view=flame&as=time", "view=sunburst", "view=timeline", "view=timeline&t=1-999999999999"]) {
    await page.evaluate((hash) => (location.hash = hash), view);
    await page.waitForSelector("main canvas");
    await settled(page);
    const places = await page.locator("canvas").evaluateAll((all) =>
      all.map((one) => {
        const { x, y, width, height } = one.getBoundingClientRect();
        return { place: [x, y, width, height], pixels: [one.width, one.height] };
      }),
    );
    for (const { place, pixels } of places) {
      assert(place.every(Number.isInteger), `${view}: ${place}`);
      assert.deepEqual(place.slice(2), pixels, view);
    }
  }
});
