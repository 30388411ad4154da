// A table of 100,000 rows, of which the page has only those in sight.

import assert from "node:assert/strict";

import { assertShown, settled, test } from "./harness.mjs";

const ROW = 24;

/** Cells of the row with this number, brought into sight: {column: text}. */
async function rowAt(page, index) {
  await page.locator(".table .body").evaluate((body, top) => (body.scrollTop = top), index * ROW - 100);
  const row = page.locator(`.table .body [role=row][aria-rowindex="${index + 1}"]`);
  return row.evaluate((found) =>
    Object.fromEntries([...found.querySelectorAll("[role=cell]")].map((cell) => [cell.classList[1], cell.textContent])),
  );
}

async function sortBy(page, title) {
  await page.locator(".table [role=columnheader]", { hasText: title }).getByRole("button").click();
  await settled(page);
}

const PLACES = [0, 1, 41, 4_999, 50_000, 99_990, 100_007];

test("a table of 100,000 rows: the row at any place is the report's", async (harness) => {
  const recording = harness.hard("functions");
  const { functions } = harness.report(recording);
  const page = await harness.open(harness.html(recording), { hash: "#view=table" });
  await settled(page);
  assert.equal(functions.length, 100_008);
  assert.equal(await page.locator(".table [role=table]").getAttribute("aria-rowcount"), "100008");
  const compare = async (truth, column, field) => {
    for (const index of PLACES) {
      const row = await rowAt(page, index);
      if (field) assertShown(row[column], truth[index][field], `${column} of row ${index}`);
      else assert.equal(row.name, truth[index].qualname, `row ${index}`);
      assert((await page.locator(".table .body [role=row]").count()) < 100, "only the rows in sight are in the page");
    }
  };
  await compare(functions.toSorted((a, b) => b.self_ns - a.self_ns), "self", "self_ns");
  await sortBy(page, "Total");
  await compare(functions.toSorted((a, b) => b.total_ns - a.total_ns), "total", "total_ns");
  await sortBy(page, "Total");
  await compare(functions.toSorted((a, b) => a.total_ns - b.total_ns), "total", "total_ns");
  await sortBy(page, "Function");
  const byName = functions.toSorted((a, b) => (a.qualname < b.qualname ? -1 : a.qualname > b.qualname ? 1 : 0));
  await compare(byName, "name");
  await page.locator("input[type=search]").fill("Handler7\\.");
  await settled(page);
  const found = byName.filter(({ qualname }) => /Handler7\./.test(qualname));
  assert.equal(await page.locator(".table [role=table]").getAttribute("aria-rowcount"), String(found.length));
  assert.equal((await rowAt(page, found.length - 1)).name, found.at(-1).qualname);
});
