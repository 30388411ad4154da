// Opens one page in Chromium and says, as one line of JSON, how long it took and what it costs:
//
//     node bench/page.mjs URL VIEWER WIDTHxHEIGHT [ROUNDS VIEW...]
//
// VIEWER names a row of VIEWERS: how to tell that its picture is there, and what zooms. Figures: first_ms (from the start of the
// navigation until the picture is drawn), longest_ms (the longest task of the page until then: so long it does not react; the
// browser tells of those over 50 ms, 0 = there were none), frame_ms (p95 of the time that one frame takes while the picture is
// zoomed and moved, without waiting for the screen's rate), pss_mb (the browser's largest process), requests (to other places than
// the page's own). With VIEWs of sonde's (what stands behind # in their address) of each its frame_ms, the best of ROUNDS, as
// frames, and of the table sort_ms, the longest time from a click on a column to the sorted rows, and jump_ms, as frame_ms
// where every row is another in each frame; then switch_ms, the longest task while all of the page's views were gone through.
//
// The browser has drawn something before: one that somebody uses has, and the first canvas of a fresh one waits for its GPU process.

import { existsSync, readFileSync, readdirSync } from "node:fs";

import { chromium } from "../web/node_modules/playwright-core/index.mjs";

const LIMIT_MS = 180_000;
const FRAMES = 100;
// Pixels that rows are scrolled by in a frame: a step of a wheel, and so many that none stays in sight.
const WHEEL = 120;
const PAGE = 2000;
// What holds when the picture is there; the element to zoom in, where the wheel does that.
const VIEWERS = {
  sonde: { there: () => document.querySelector("main canvas, .table .body") && !document.querySelector("progress.busy"), picture: "main canvas" },
  speedscope: { there: () => /Time Order/.test(document.body?.innerText ?? ""), picture: "canvas" },
  snakeviz: { there: () => document.querySelector("#chart svg rect, #chart svg path"), picture: null },
  viztracer: {
    there: () => document.querySelector(".pf-track, .track") && !document.querySelector(".pf-omnibox--message-mode"),
    picture: "canvas",
  },
};
const [url, name, size, rounds = "1", ...views] = process.argv.slice(2);
// All of them, as a hand goes from one to the next.
const TOUR = ["overview", "flame", "sunburst", "table", "source", "timeline", "flame&as=bottom-up", "flame&as=time", "overview"];
const viewer = VIEWERS[name];
const [width, height] = size.split("x").map(Number);

function pssOf(pid) {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]) / 1024;
  } catch {
    return 0;
  }
}

/** The largest process of the browser that this program started. */
function largestPss() {
  const parents = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      parents.set(Number(pid), Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]));
    } catch {
      // It has ended.
    }
  const ours = (pid) => pid > 1 && (parents.get(pid) === process.pid || ours(parents.get(pid) ?? 0));
  return Math.max(0, ...[...parents.keys()].filter(ours).map(pssOf));
}

/** Runs in the page before its own scripts: notes when the picture is there, and tasks that take long. */
function watch(there) {
  const holds = new Function(`return (${there})()`);
  window.bench = { longest: 0, first: 0 };
  const note = (list) => {
    for (const { duration } of list.getEntries()) window.bench.longest = Math.max(window.bench.longest, duration);
  };
  new PerformanceObserver(note).observe({ type: "longtask", buffered: true });
  const look = () => {
    if (document.body && holds()) requestAnimationFrame(() => setTimeout(() => (window.bench.first = performance.now())));
    else setTimeout(look, 10);
  };
  look();
}

/** Time of each frame while a picture is zoomed in and out and moved, rings are walked through, or rows scrolled. */
function frames([selector, count, jump]) {
  const box = document.querySelector(selector).getBoundingClientRect();
  const at = { clientX: box.x + box.width * 0.4, clientY: box.y + box.height * 0.3 };
  const target = document.elementFromPoint(at.clientX, at.clientY);
  const turn = (words) => target.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, ...at, ...words }));
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const rows = document.querySelector(".table .body");
  const move = (number) => {
    const part = number % 50;
    if (rows) rows.scrollTop += (part < 30 ? 1 : -0.7) * jump;
    else if (document.querySelector(".sunburst")) number % 12 || press(part < 25 ? "ArrowDown" : "ArrowUp");
    else turn(part < 20 ? { deltaY: -60 } : part < 30 ? { deltaX: 40 } : { deltaY: 60 });
  };
  // Something changes in every frame: one without changes waits for the screen.
  const spot = document.body.appendChild(document.createElement("div"));
  Object.assign(spot.style, { position: "fixed", left: 0, top: 0, width: "2px", height: "2px", zIndex: 1e6 });
  return new Promise((done) => {
    const times = [];
    let last = performance.now();
    const step = () => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      if (times.length >= count) return done(times);
      spot.style.background = times.length % 2 ? "#000" : "#fff";
      move(times.length);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

/** The longest time from a click on a column's head until the rows are in its order and drawn. */
async function slowestSort() {
  const first = () => document.querySelector(".table .body [role=row] .name")?.textContent;
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  let longest = 0;
  for (const column of ["name", "total", "place", "module", "self", "name"]) {
    const before = first();
    const start = performance.now();
    document.querySelector(`.table .heads .${column} button`).click();
    do await drawn();
    while (first() === before && performance.now() - start < 5000);
    longest = Math.max(longest, performance.now() - start);
  }
  return longest;
}

/** The longest task while the page's views are gone through. */
async function longestOfTour() {
  await page.evaluate(() => (window.bench.longest = 0));
  for (const view of TOUR) {
    await page.evaluate((hash) => (location.hash = hash), `view=${view}`);
    await page.waitForTimeout(200);
    await page.waitForFunction(() => !document.querySelector("progress.busy"), null, { timeout: LIMIT_MS });
    await page.waitForTimeout(100);
  }
  return page.evaluate(() => window.bench.longest);
}

const p95 = (times) => times.slice(2).sort((a, b) => a - b)[Math.floor((times.length - 2) * 0.95)] ?? null;

async function measureView(view) {
  await page.evaluate((hash) => (location.hash = hash), view);
  await page.waitForTimeout(300);
  await page.waitForFunction(viewer.there, null, { timeout: LIMIT_MS });
  // The outermost rings of this recording are whole: there is more to draw further in.
  if (view.startsWith("view=sunburst")) for (let i = 0; i < 14; i++) await page.keyboard.press("ArrowDown");
  const isTable = view.startsWith("view=table");
  if (isTable) result.sort_ms = await page.evaluate(slowestSort);
  const picture = isTable ? ".table .body" : viewer.picture;
  result.frames[view] = await bestFrames(picture, WHEEL);
  if (isTable) result.jump_ms = await bestFrames(picture, PAGE);
}

async function bestFrames(picture, jump) {
  const found = [];
  for (let round = 0; round < Number(rounds); round++) found.push(p95(await page.evaluate(frames, [picture, FRAMES, jump])));
  return Math.min(...found);
}

const executablePath = [process.env.SONDE_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
const args = ["--no-sandbox", "--disable-gpu-vsync", "--disable-frame-rate-limit", "--js-flags=--max-old-space-size=8192"];
const browser = await chromium.launch({ executablePath, args });
const page = await browser.newPage({ viewport: { width, height }, bypassCSP: true });
const origin = new URL(url).origin;
let requests = 0;
page.on("request", (request) => {
  if (!/^(file|blob|data|about):/.test(request.url()) && !request.url().startsWith(origin)) requests++;
});
await page.addInitScript(`(${watch})(${JSON.stringify(String(viewer.there))})`);
const result = { first_ms: null, longest_ms: null, frame_ms: null, frames: {}, pss_mb: null, requests: 0 };
try {
  await page.evaluate(() => document.createElement("canvas").getContext("2d").fillRect(0, 0, 1, 1));
  await page.waitForTimeout(300);
  await page.goto(url, { waitUntil: "commit", timeout: LIMIT_MS });
  await page.waitForFunction(() => window.bench?.first, null, { timeout: LIMIT_MS, polling: 50 });
  Object.assign(result, await page.evaluate(() => ({ first_ms: window.bench.first, longest_ms: window.bench.longest })));
  result.pss_mb = largestPss();
  if (!views.length && viewer.picture && (await page.$(viewer.picture))) result.frame_ms = p95(await page.evaluate(frames, [viewer.picture, FRAMES]));
  for (const view of views) await measureView(view);
  if (views.length) result.switch_ms = await longestOfTour();
} catch (error) {
  result.error = String(error).split("\n")[0];
}
result.requests = requests;
await browser.close();
console.log(JSON.stringify(result));
