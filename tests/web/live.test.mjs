// A recording that is still being written: the page follows it, and keeps its place.

import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { clickAt, goTo, pointAt, settled, test, until, value } from "./harness.mjs";

const PROGRAM = `import time
def spin(until):
    while time.perf_counter() < until:
        sum(range(2000))
def inner(until):
    spin(until)
def outer():
    while True:
        inner(time.perf_counter() + 0.1)
        spin(time.perf_counter() + 0.005)
outer()
`;

/** A program that is recorded until the test kills it; the path of its recording. */
async function recorded(harness) {
  const script = harness.made("growing.py", (path) => writeFileSync(path, PROGRAM));
  const path = join(harness.folder, "growing.sonde");
  const child = harness.start("record", "--quiet", "-r", "500", "-o", path, "--", "python3", script);
  await until(() => existsSync(path) && statSync(path).size > 1000, "the first checkpoint");
  return { path, child };
}

const samples = async (page, name) => {
  const row = page.locator(".table .body [role=row]", { has: page.locator(".name", { hasText: new RegExp(`^${name}$`) }) });
  return (await row.count()) ? value(await row.locator(".seen").innerText()) : 0;
};

test("a growing recording: figures grow without a reload; selection and zoom stay", async (harness) => {
  const { path, child } = await recorded(harness);
  const page = await harness.open(await harness.serve(path), { hash: "#view=table", network: true });
  await page.evaluate(() => (window.loadedOnce = true));
  assert.match(await page.locator("header .facts").innerText(), /being recorded/);
  const before = await until(() => samples(page, "inner"), "inner is seen");
  await page.locator(".table .body .name", { hasText: /^inner$/ }).click();
  await until(async () => (await samples(page, "inner")) > before, "its samples grow");
  assert.equal(await page.locator(".inspector h2").innerText(), "inner");

  await goTo(page, "Flame");
  await settled(page);
  await clickAt(page, 0.3, 3); // <module>, outer, inner
  assert.match(await pointAt(page, 0.97, 3), /^inner/, "it is as wide as the picture");
  const total = async () => value(/total ([^(]+)/.exec(await pointAt(page, 0.97, 3))[1]);
  const [first, url] = [await total(), page.url()];
  await until(async () => (await total()) > first, "the frame's time grows");
  assert.match(await pointAt(page, 0.97, 3), /^inner/, "and it still fills the width");
  assert.equal(page.url(), url);

  child.kill("SIGINT");
  await page.waitForFunction(() => !/being recorded/.test(document.querySelector("header .facts").textContent));
  await goTo(page, "Table");
  assert.equal(await page.locator(".inspector h2").innerText(), "inner");
  const truth = harness.report(path).functions.find(({ name }) => name === "inner");
  await until(async () => (await samples(page, "inner")) === truth.total_samples, "the last figures are the file's");
  assert(await page.evaluate(() => window.loadedOnce), "it was never loaded again");
});
