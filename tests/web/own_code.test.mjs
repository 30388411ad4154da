// Library frames hidden, rows grouped: what the tables show of a chosen part.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { assertShown, settled, test } from "./harness.mjs";

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
