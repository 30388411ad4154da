// Library frames hidden, a module chosen, rows grouped: what all views show of a chosen part.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { assertShown, goTo, pointAt, settled, test } from "./harness.mjs";

const STACKS = [
  ["main (/home/me/run.py:3)", "loads (/usr/lib/python3.12/json/__init__.py:299)", "decode (/usr/lib/python3.12/json/decoder.py:337)", 300],
  ["main (/home/me/run.py:3)", "loads (/usr/lib/python3.12/json/__init__.py:299)", "hook (/home/me/run.py:9)", 200],
  ["main (/home/me/run.py:5)", 500],
];

function recording(harness) {
  return harness.made("own.txt", (path) =>
    writeFileSync(path, STACKS.map((row) => `${row.slice(0, -1).join(";")} ${row.at(-1)}\n`).join("")),
  );
}

async function names(page) {
  await settled(page);
  return page.locator(".table .body .cell.name").allInnerTexts();
}

test("own code: libraries go, their time is their caller's, in every table", async (harness) => {
  const page = await harness.open(harness.html(recording(harness)), { hash: "#view=table" });
  assert.deepEqual((await names(page)).sort(), ["decode", "hook", "loads", "main"]);
  await page.keyboard.press("h");
  await page.waitForFunction(() => document.querySelectorAll(".table .body [role=row]").length === 2);
  const main = page.locator(".table .body [role=row]", { hasText: "main" });
  assertShown(await main.locator(".self").innerText(), 800e6, "main has what its libraries took");
  assertShown(await main.locator(".total").innerText(), 1000e6);
  await main.click();
  await settled(page);
  assert.match(await page.locator(".inspector section", { hasText: "Callees" }).innerText(), /hook/);
  assert.match(page.url(), /own=1/);
});

test("groups: a module opens to its functions", async (harness) => {
  const page = await harness.open(harness.html(recording(harness)), { hash: "#view=table&by=module" });
  await page.waitForSelector(".row.group");
  const json = page.locator(".row.group", { hasText: "json.decoder" });
  assertShown(await json.locator(".self").innerText(), 300e6);
  await json.click();
  await page.waitForSelector(".row.inside");
  assert.deepEqual(await page.locator(".row.inside .name").allInnerTexts(), ["decode"]);
});

test("a module is chosen in the table: every view follows, the URL has it, Back and Esc undo it", async (harness) => {
  const page = await harness.open(harness.html(recording(harness)), { hash: "#view=table&by=module" });
  await page.waitForSelector(".row.group");
  const truth = harness.report(recording(harness), "--module", "json");
  const total = (name) => truth.functions.find((one) => one.name === name).total_ns;
  assert.equal(total("main"), 500e6, "what passes through json");
  await page.locator(".row.group", { hasText: "json.decoder" }).hover();
  await page.locator(".row.group", { hasText: "json.decoder" }).getByRole("button", { name: "only" }).click();
  await settled(page);
  assert.match(page.url(), /module=json\.decoder/);
  assert.match(await page.locator(".filters").innerText(), /through json\.decoder/);
  assert.match(await page.locator(".status").innerText(), /per cent of 300 ms in the selection/);
  await goTo(page, "Flame");
  assert.match(await pointAt(page, 0.01, 1), /^main .* total 300 ms \(100 % of all\) · self 0 ns/);
  await goTo(page, "Overview");
  assert.deepEqual(await page.locator(".bars").first().locator(".name").allInnerTexts(), ["decode"]);
  await page.goBack();
  await page.goBack();
  await page.goBack();
  await page.waitForSelector(".filters", { state: "detached" });
  await page.goForward();
  await page.waitForSelector(".filters");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".filters", { state: "detached" });
  assert.doesNotMatch(page.url(), /module=/);
});

test("a package is chosen by key: its submodules and what they call, with and without library frames", async (harness) => {
  const page = await harness.open(harness.html(recording(harness)), { hash: "#view=table" });
  await page.locator(".table .body [role=row]", { hasText: "loads" }).click();
  await page.keyboard.press("m");
  await page.waitForSelector(".filters");
  await settled(page);
  const truth = harness.report(recording(harness), "--module", "json");
  for (const { name, self_ns, total_ns } of truth.functions) {
    const row = page.locator(".table .body [role=row]", { hasText: name });
    assertShown(await row.locator(".self").innerText(), self_ns, name);
    assertShown(await row.locator(".total").innerText(), total_ns, name);
  }
  await page.keyboard.press("h");
  await page.waitForFunction(() => document.querySelectorAll(".table .body [role=row]").length === 2);
  const main = page.locator(".table .body [role=row]", { hasText: "main" });
  assertShown(await main.locator(".self").innerText(), 300e6, "main has what json took");
});

test("a module that nothing passes through: what is empty says so", async (harness) => {
  const page = await harness.open(harness.html(recording(harness)), { hash: "#module=nowhere" });
  await page.waitForSelector(".nothing");
  assert.match(await page.locator(".nothing").innerText(), /No stack passes through the chosen modules/);
  await goTo(page, "Flame");
  assert.match(await page.locator("main").innerText(), /No stack passes through the chosen modules\. Esc/);
  await page.getByRole("button", { name: /through nowhere/ }).click();
  await settled(page);
  assert.match(await pointAt(page, 0.01, 0), /^all .*total 1\.00 s/);
});
