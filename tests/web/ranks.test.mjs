// A run of several ranks: what the page shows of each is what the reports say.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assertShown, goTo, settled, test } from "./harness.mjs";

// Ranks as launchers make them, without one: what they say to one another comes from a recording of mpirun below.
const PROGRAM = `
import os, time
rank = int(os.environ["SONDE_RANK"])
def work(n):
    return sum(i * i for i in range(n))
def _xypix():
    work(1000)
def smooth():
    work(500)
for turn in range(20):
    smooth()
    if rank < 5:
        for _ in range(1 + 3 * (rank == 3)):
            _xypix()
`;
const RANKS = 8;

function run(harness) {
  return harness.made("ranks.sonde", (path) => {
    const script = join(harness.folder, "ranks.py");
    writeFileSync(script, PROGRAM);
    const parts = [];
    for (let rank = 0; rank < RANKS; rank++) {
      const part = join(harness.folder, `part-${rank}.sonde`);
      const env = { ...process.env, SONDE_RANK: String(rank), SONDE_SIZE: String(RANKS) };
      const done = spawnSync(harness.program, ["trace", "--quiet", "-o", part, script], { env, encoding: "utf8" });
      assert.equal(done.status, 0, done.stderr);
      parts.push(part);
    }
    harness.sonde("merge", ...parts, "-o", path);
  });
}

const csv = (text) => {
  const [head, ...rows] = text.trim().split("\n").map((line) => line.split(","));
  return rows.map((row) => Object.fromEntries(row.map((cell, at) => [head[at], cell])));
};

test("ranks: one function on each is what the report says; who has none is told", async (harness) => {
  const path = run(harness);
  const truth = csv(harness.sonde("report", "--ranks-of", "_xypix", "--csv", path));
  const page = await harness.open(harness.html(path), { hash: "#view=ranks" });
  const row = page.locator(".heat .rows .row", { hasText: "_xypix" }).first();
  await row.waitFor();
  assert.match(await row.innerText(), /5\/8/);
  await row.getByRole("button").click();
  await page.getByRole("button", { name: "One function" }).click();
  await settled(page);
  const shown = page.locator(".across .rows .row");
  assert.equal(await shown.count(), RANKS);
  for (const [place, { rank, total_ns, calls }] of truth.entries()) {
    const cells = await shown.nth(place).locator("span[role=cell]").allInnerTexts();
    assert.equal((await shown.nth(place).getByRole("button").innerText()).trim(), `rank ${rank}`);
    assertShown(cells[0], Number(total_ns));
    assert.equal(cells[2], calls);
  }
  assert.deepEqual(truth.map(({ calls }) => Number(calls)), [20, 20, 20, 80, 20, 0, 0, 0]);
  assert.match(await page.locator(".across .spread").innerText(), /on 5 of 8 ranks/);
});

test("ranks: one of them alone in every view, in the URL, and back", async (harness) => {
  const path = run(harness);
  const page = await harness.open(harness.html(path), { hash: "#view=ranks&ranks-as=bars" });
  await page.locator(".parts .rows .row", { hasText: "rank 3" }).getByRole("button").click();
  await goTo(page, "Table");
  await settled(page);
  assert.match(page.url(), /ranks=3/);
  const truth = harness.report(path, "--rank", "3").functions.find(({ name }) => name === "_xypix");
  const row = page.locator(".table .body [role=row]", { hasText: "_xypix" }).first();
  assert.match((await row.innerText()).replaceAll(/\s+/g, " "), new RegExp(`\\b${truth.calls}\\b`));
  await page.keyboard.press("Escape");
  await page.waitForSelector(".filters", { state: "detached" });
});

test("ranks: the overview begins with what they share badly, and leads there", async (harness) => {
  const path = run(harness);
  const truth = harness.report(path).findings.find(({ text }) => text.includes("_xypix")).text;
  const page = await harness.open(harness.html(path));
  const first = page.locator(".findings li", { hasText: truth }).getByRole("button");
  await first.click();
  await page.locator(".across .rows .row").first().waitFor();
  assert.match(await page.locator(".across .spread b").innerText(), /_xypix/);
});

test("ranks: keys walk through the functions, a heading orders them", async (harness) => {
  const page = await harness.open(harness.html(run(harness)), { hash: "#view=ranks" });
  const row = (at) => page.locator(".heat .rows .row").nth(at);
  await row(0).getByRole("button").waitFor();
  const selectedRows = () => page.locator(".heat .rows .row").evaluateAll((rows) => rows.flatMap((one, at) => (/selected/.test(one.className) ? [at] : [])));
  for (const [keys, at] of [["ArrowDown ArrowDown ArrowDown ArrowUp", 1], ["End Home", 0]]) {
    for (const key of keys.split(" ")) await page.keyboard.press(key);
    await settled(page);
    assert.deepEqual(await selectedRows(), [at], keys);
  }
  await page.getByRole("button", { name: "imbalance", exact: true }).click();
  await settled(page);
  const [first, second] = await page.locator(".heat .rows .row").evaluateAll((rows) => rows.slice(0, 2).map((one) => one.children[3].textContent));
  assert(parseFloat(first) >= parseFloat(second), `${first} before ${second}`);
  assert.match(page.url(), /ranks-order=imbalance/);
});

test("ranks: two of them are compared", async (harness) => {
  const page = await harness.open(harness.html(run(harness)), { hash: "#view=compare&before=0&later=3" });
  await page.locator(".compare .totals").waitFor();
  const row = page.locator(".compare [role=row]", { hasText: "_xypix" }).first();
  await row.waitFor();
  assert.equal(await page.locator(".ranks-input").count(), 2);
});

test("ranks: a recording without any has no such view, nor its key", async (harness) => {
  const page = await harness.open(harness.html(harness.made("plain.sonde", (path) => harness.sonde("trace", "--quiet", "-o", path, "-c", "print()"))), {});
  assert.equal(await page.locator("nav button", { hasText: "Ranks" }).count(), 0);
});

const MPI_PROGRAM = `
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
def ring():
    data = array("d", [0]) * (100 * (world.rank + 1))
    world.Sendrecv(data, (world.rank + 1) % world.size, recvbuf=array("d", [0]) * 1000, source=(world.rank - 1) % world.size)
for turn in range(3):
    ring()
`;

test("messages: the matrix is the report's, and lines join the tracks", async (harness) => {
  const launcher = ["/usr/bin/mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"];
  const has = existsSync(launcher[0]) && spawnSync("/usr/bin/python3", ["-c", "import mpi4py.MPI"]).status === 0;
  if (!has) return console.log("       not looked at: Open MPI or its mpi4py is not installed (tools/setup)");
  const folder = join(harness.folder, "mpi-run");
  const script = join(harness.folder, "ring.py");
  writeFileSync(script, MPI_PROGRAM);
  const done = spawnSync(launcher[0], [...launcher.slice(1), harness.program, "record", "--mpi", "-o", folder, "--", "/usr/bin/python3", script], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  const cells = csv(harness.sonde("report", "--mpi", "messages", "--csv", folder));
  assert.deepEqual(cells.map(({ from, to, count, size_bytes }) => [from, to, count, size_bytes].map(Number)), [
    [0, 1, 3, 2400],
    [1, 2, 3, 4800],
    [2, 0, 3, 7200],
  ]);
  const page = await harness.open(harness.html(folder), { hash: "#view=ranks&ranks-as=traffic" });
  const matrix = page.locator(".matrix canvas");
  await matrix.waitFor();
  await settled(page);
  const box = await matrix.boundingBox();
  const side = Math.min(box.width, box.height);
  await page.mouse.move(box.x + side * 0.9, box.y + side * 0.5); // from 1 to 2
  await page.locator(".tip").waitFor();
  const tip = (await page.locator(".tip").innerText()).replaceAll(/\s+/g, " ");
  assert.match(tip, /rank 1 to rank 2 messages 3 size 4.69 KiB/);
  await goTo(page, "Timeline");
  await settled(page);
  assert.match((await page.locator(".tracks .process").allInnerTexts()).join(), /rank 0.*rank 1/s);
});
