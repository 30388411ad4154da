// The page as a file: its size, its policy, what is dropped on it, what it says when there is nothing to show.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";

import { drop, goTo, INPUTS, settled, test } from "./harness.mjs";

const LARGEST_BYTES = 1_500_000;

const bare = (harness) => harness.made("bare.html", (path) => harness.sonde("page", "-o", path));

test("the bare page is small", async (harness) => {
  const { size } = statSync(bare(harness));
  assert(size < LARGEST_BYTES, `${size} bytes`);
});

test("the bare page opens what is dropped on it, one after the other, and chosen files", async (harness) => {
  const page = await harness.open(bare(harness), { ready: ".welcome" });
  for (const name of ["small.sonde", "small.prof", "pyspy.json"]) {
    await drop(page, `${INPUTS}/${name}`);
    await page.waitForFunction((name) => document.querySelector("header .title")?.textContent.includes(name), name);
    await page.waitForSelector(".bars li");
    assert.equal(await page.locator(".problem").count(), 0);
  }
  const other = await harness.open(bare(harness), { ready: ".welcome" });
  await other.locator("input[type=file]").setInputFiles(`${INPUTS}/sampled.sonde`);
  await other.waitForSelector(".bars li");
});

test("a file that is no recording: the page says so and still opens the next", async (harness) => {
  const page = await harness.open(bare(harness), { ready: ".welcome" });
  for (const [name, text] of [["letter.txt", "Dear sonde,\n"], ["empty.sonde", ""], ["a.png", "\x89PNG\r\n\x1a\n\0\0"]]) {
    const path = harness.made(name, (path) => writeFileSync(path, text));
    await drop(page, path);
    await page.waitForSelector(".problem");
    assert((await page.locator(".problem").innerText()).length > 10);
  }
  await drop(page, `${INPUTS}/small.sonde`);
  await page.waitForSelector(".bars li");
  assert.equal(await page.locator(".problem").count(), 0);
});

test("a file that is no recording beside one, or after one: what can be read is shown, and stays", async (harness) => {
  const page = await harness.open(bare(harness), { ready: ".welcome" });
  const letter = harness.made("another-letter.txt", (path) => writeFileSync(path, "Dear page,\n"));
  await drop(page, letter, `${INPUTS}/small.sonde`);
  await page.waitForSelector(".bars li");
  assert.match(await page.locator(".problem").innerText(), /another-letter/);
  await page.getByRole("button", { name: "dismiss" }).click();
  await page.waitForSelector(".problem", { state: "detached" });
  await page.locator(".bars button").first().click(); // selects a function
  await drop(page, letter);
  await page.waitForSelector(".problem");
  await goTo(page, "Table");
  await page.locator(".butterfly .heart h3").waitFor(); // it still answers
  await drop(page, `${INPUTS}/sampled.sonde`);
  await page.waitForFunction(() => document.querySelector("header .title").textContent.includes("sampled"));
  assert.doesNotMatch(page.url(), /[#&]f=/, "another recording has other functions");
});

test("damaged and cut recordings: what is readable is shown, the rest is told", async (harness) => {
  const whole = readFileSync(`${INPUTS}/sampled.sonde`);
  const page = await harness.open(bare(harness), { ready: ".welcome" });
  for (let step = 0; step < 24; step++) {
    const bytes = Buffer.from(whole);
    const at = Math.floor((whole.length * (step + 1)) / 25);
    const cut = step % 2 === 0;
    if (!cut) bytes[at] ^= 0xff;
    const path = harness.made(`damaged-${step}.sonde`, (path) => writeFileSync(path, cut ? bytes.subarray(0, at) : bytes));
    await drop(page, path);
    await page.waitForFunction(
      (name) =>
        document.querySelector(".problem") ||
        (document.querySelector("header .title")?.textContent.includes(name) && document.querySelector(".findings, .facts dt")),
      `damaged-${step}`,
    );
    await settled(page);
  }
});

test("the policy is there and holds: nothing that is put into the page runs or leaves", async (harness) => {
  const page = await harness.open(harness.html(harness.golden("small.sonde")));
  const policy = await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
  for (const part of ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]) assert(policy.includes(part), policy);
  assert(!/unsafe-inline|script-src[^;]*unsafe-eval/.test(policy.replaceAll("wasm-unsafe-eval", "")), policy);
  const refused = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.injected = 1";
    document.body.append(script);
    const holder = document.createElement("div");
    holder.innerHTML = "<img src=x onerror='window.injected = 2'><form action='https://example.invalid/'></form>";
    document.body.append(holder);
    new Image().src = "https://example.invalid/leak.png";
    await fetch("https://example.invalid/leak").catch(() => {});
    setTimeout("window.injected = 3"); // runs outside of this function, which the debugger lets do more
    await new Promise((done) => setTimeout(done, 300));
    return { seen, injected: window.injected };
  });
  assert.equal(refused.injected, undefined);
  for (const directive of ["script-src-elem", "script-src-attr", "img-src", "connect-src", "script-src"])
    assert(refused.seen.includes(directive), `${directive} in ${refused.seen}`);
  harness.faultsOf(page).length = 0; // the refusals are on the console
});
