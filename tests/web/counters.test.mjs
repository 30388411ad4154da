// Counters over time: CPU and memory of each process in the timeline and the strip, with the figures that `sonde report --json`
// has; no spike is too short to be seen; mprof's files, also dropped on the bare page.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { drop, INPUTS, settled, test } from "./harness.mjs";

const PROGRAM = `
import time
block = bytearray(b"x" * (64 << 20))
end = time.process_time() + 0.3
while time.process_time() < end: pass
del block
time.sleep(0.2)
`;

const recorded = (harness, command) =>
  harness.made(`counters-${command}.sonde`, (path) =>
    harness.sonde(command, "--quiet", "-o", path, harness.made("counters.py", (script) => writeFileSync(script, PROGRAM))),
  );

const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, CPUs: 1 };

/** "64.1 MiB" or "0.98 CPUs" as a number. */
function amount(text) {
  const found = /([\d.]+) (B|[KMG]iB|CPUs)/.exec(text);
  assert(found, text);
  return Number(found[1]) * SIZES[found[2]];
}

function assertAmount(text, expected) {
  const got = amount(text);
  assert(Math.abs(got - expected) <= Math.abs(expected) * 0.006 + 0.006, `"${text}" is not ${expected}`);
}

const track = (page, title) => page.locator(".tracks .counter", { has: page.locator("b", { hasText: new RegExp(`^${title}$`) }) });

async function tipAt(page, title, share) {
  const [row, picture] = [await track(page, title).boundingBox(), await page.locator("main canvas").first().boundingBox()];
  await page.mouse.move(picture.x + share * picture.width, row.y + row.height / 2);
  await page.waitForSelector(".tip");
  return page.locator(".tip").innerText();
}

for (const command of ["record", "trace"])
  test(`counters of sonde ${command}: the timeline's figures are the report's, on the track and below the mouse`, async (harness) => {
    const recording = recorded(harness, command);
    const { counters } = harness.report(recording);
    const page = await harness.open(harness.html(recording), { hash: "#view=timeline" });
    await page.waitForSelector(".tracks .counter");
    await settled(page);
    for (const [name, title] of [["rss", "RSS"], ["cpu", "CPU"]]) {
      const figures = counters.find((one) => one.name === name);
      const [highest, mean] = await track(page, title).locator("small").allInnerTexts();
      assertAmount(highest, figures.most);
      assertAmount(mean, figures.mean);
      const tip = await tipAt(page, title, 0.4);
      assertAmount(/highest\s+([^\n]*)/.exec(tip)[1], figures.most);
      const value = /value\s+([^\n]*)/.exec(tip)[1];
      assert(amount(value) <= figures.most * 1.006 && amount(value) >= figures.least * 0.994, `${value} of ${JSON.stringify(figures)}`);
    }
    const legend = await page.locator(".strip .legend").innerText();
    assertAmount(/RSS, highest ([^\n]*)/.exec(legend)[1], counters.find((one) => one.name === "rss").most);
    if (command === "trace") assert.match(legend, /CPU/);
  });

/** Values of many points with one spike in the middle. */
function spike(harness) {
  return harness.made("spike.dat", (path) => {
    const rows = Array.from({ length: 30_000 }, (_, i) => `MEM ${i === 15_000 ? "90.0" : "10.0"} ${(1.7e9 + i / 100).toFixed(4)}`);
    writeFileSync(path, `CMDLINE x\n${rows.join("\n")}\n`);
  });
}

/** How many columns of the track's picture are green at shares of its height. */
function filled(page, title, ...shares) {
  return track(page, title).evaluate((name, shares) => {
    const canvas = document.querySelector("main canvas");
    const [row, picture] = [name.getBoundingClientRect(), canvas.getBoundingClientRect()];
    const scale = canvas.width / picture.width;
    const height = (row.height - 6) * scale; // below it is a gap
    const { data } = canvas.getContext("2d").getImageData(0, Math.round((row.top - picture.top) * scale), canvas.width, height);
    return shares.map((share) => {
      const start = 4 * canvas.width * Math.round(height * (1 - share));
      let count = 0;
      for (let i = start; i < start + 4 * canvas.width; i += 4) count += data[i + 1] > data[i] + 10 && data[i + 1] > data[i + 2] + 10;
      return count;
    });
  }, shares);
}

for (const [hash, least, most] of [
  ["", 1, 3],
  ["&w=149900000000-150100000000", 30, 60],
])
  test(`a spike of one point in 30,000 is drawn${hash ? ", zoomed in as wide as it lasted" : ""}`, async (harness) => {
    const page = await harness.open(harness.html(spike(harness)), { hash: `#view=timeline${hash}` });
    await page.waitForSelector(".tracks .counter");
    await settled(page);
    const [low, high] = await filled(page, "RSS", 0.05, 0.8);
    assert(low > 700, `the level is there all the time: ${low}`);
    assert(high >= least && high <= most, `${high} columns of the spike`);
  });

test("a .dat file of mprof: dropped on the bare page it shows its memory, its children and its peak", async (harness) => {
  const bare = harness.made("counters-bare.html", (path) => harness.sonde("page", "-o", path));
  const page = await harness.open(bare, { ready: ".welcome" });
  await drop(page, `${INPUTS}/small.dat`);
  await page.waitForSelector("header .title:not(:empty)");
  await settled(page);
  const overview = await page.locator("main").innerText();
  assert.match(overview, /14\.0 MiB RSS at most, at 250 ms/);
  assert.doesNotMatch(overview, /nothing to show/i);
  assert.match(await page.locator(".marks b").innerText(), /peak 14\.0 MiB/);
  await page.getByRole("button", { name: "Show the timeline" }).click();
  await page.waitForSelector(".tracks .counter");
  const highest = await page.locator(".tracks .counter small:nth-of-type(1)").allInnerTexts();
  assert.deepEqual(highest, ["highest 10.0 MiB", "highest 4.00 MiB"]);
});

/** Two functions of an mprof file, one inside the other, in a run of two seconds. */
function bracketed(harness) {
  return harness.made("bracketed.dat", (path) => {
    const at = (s) => (1.7e9 + s).toFixed(4);
    const values = [0, 0.5, 1, 1.5, 2].map((s) => `MEM ${10 + s} ${at(s)}`);
    const calls = [["outer", 0.2, 1.6], ["inner", 0.4, 1.0], ["<i>late</i>", 1.7, 1.9]];
    const functions = calls.map(([name, from, to]) => `FUNC ${name} 10.0 ${at(from)} 11.0 ${at(to)}`);
    writeFileSync(path, `CMDLINE x\n${[...values, ...functions].join("\n")}\n`);
  });
}

test("regions are a track: one inside another lies below it, with its times", async (harness) => {
  const page = await harness.open(harness.html(bracketed(harness)), { hash: "#view=timeline" });
  const title = page.locator(".tracks .region");
  await title.waitFor();
  await settled(page);
  const [row, picture] = [await title.boundingBox(), await page.locator("main canvas").boundingBox()];
  const told = async (seconds, level) => {
    await page.mouse.move(picture.x + (picture.width * seconds) / 2, row.y + 8 + 16 * level);
    await settled(page);
    return page.locator(".tip").innerText();
  };
  assert.match(await told(0.7, 0), /^outer[^]*lasts\s+1\.40 s[^]*from\s+200 ms/);
  assert.match(await told(0.7, 1), /^inner[^]*lasts\s+600 ms[^]*from\s+400 ms/);
  assert.match(await told(1.8, 0), /^<i>late<\/i>/);
  assert.equal(await page.locator(".tip i").count(), 0);
});
