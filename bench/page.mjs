// Opens one page in Chromium and says, as one line of JSON, how long it took and what it costs:
//
//     node bench/page.mjs URL VIEWER
//
// VIEWER names a row of VIEWERS: how to tell that its picture is there, and what zooms. Figures: first_ms (from the start of the
// navigation until the picture is drawn), longest_ms (the longest time in which the page did not react until then),
// frame_ms (p95 of the time that one frame takes while the picture is zoomed and moved, without waiting for the
// screen's rate), pss_mb (the browser's largest process), requests (to other places than the page's own).

import { existsSync, readFileSync, readdirSync } from "node:fs";

import { chromium } from "../web/node_modules/playwright-core/index.mjs";

const LIMIT_MS = 180_000;
const FRAMES = 150;
// What holds when the picture is there; the element to zoom in, where the wheel does that.
const VIEWERS = {
  sonde: { there: () => document.querySelector("main canvas") && !document.querySelector("progress.busy"), picture: "main canvas" },
  speedscope: { there: () => /Time Order/.test(document.body?.innerText ?? ""), picture: "canvas" },
  snakeviz: { there: () => document.querySelector("#chart svg rect, #chart svg path"), picture: null },
  viztracer: {
    there: () => document.querySelector(".pf-track, .track") && !document.querySelector(".pf-omnibox--message-mode"),
    picture: "canvas",
  },
};
const [url, name] = process.argv.slice(2);
const viewer = VIEWERS[name];

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

/** Runs in the page before its own scripts: notes when the picture is there and when nothing moved for long. */
function watch(there) {
  const holds = new Function(`return (${there})()`);
  window.bench = { longest: 0, first: 0 };
  let last = 0;
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const now = performance.now();
    window.bench.longest = Math.max(window.bench.longest, now - last);
    last = now;
    if (!window.bench.first) setTimeout(() => channel.port2.postMessage(0), 5);
  };
  channel.port2.postMessage(0);
  const look = () => {
    if (document.body && holds()) requestAnimationFrame(() => setTimeout(() => (window.bench.first = performance.now())));
    else setTimeout(look, 10);
  };
  look();
}

/** Time of each frame while the picture is zoomed in and out and moved. */
function frames([selector, count]) {
  const box = document.querySelector(selector).getBoundingClientRect();
  const at = { clientX: box.x + box.width * 0.4, clientY: box.y + box.height * 0.3 };
  const target = document.elementFromPoint(at.clientX, at.clientY);
  const turn = (words) => target.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, ...at, ...words }));
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
      const part = times.length % 50;
      turn(part < 20 ? { deltaY: -60 } : part < 30 ? { deltaX: 40 } : { deltaY: 60 });
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

const executablePath = [process.env.SONDE_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
const args = ["--no-sandbox", "--disable-gpu-vsync", "--disable-frame-rate-limit", "--js-flags=--max-old-space-size=8192"];
const browser = await chromium.launch({ executablePath, args });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, bypassCSP: true });
const origin = new URL(url).origin;
let requests = 0;
page.on("request", (request) => {
  if (!/^(file|blob|data|about):/.test(request.url()) && !request.url().startsWith(origin)) requests++;
});
await page.addInitScript(`(${watch})(${JSON.stringify(String(viewer.there))})`);
const result = { first_ms: null, longest_ms: null, frame_ms: null, pss_mb: null, requests: 0 };
try {
  await page.goto(url, { waitUntil: "commit", timeout: LIMIT_MS });
  await page.waitForFunction(() => window.bench?.first, null, { timeout: LIMIT_MS, polling: 50 });
  Object.assign(result, await page.evaluate(() => ({ first_ms: window.bench.first, longest_ms: window.bench.longest })));
  result.pss_mb = largestPss();
  const times = viewer.picture ? (await page.evaluate(frames, [viewer.picture, FRAMES])).slice(2).sort((a, b) => a - b) : [];
  result.frame_ms = times[Math.floor(times.length * 0.95)] ?? null;
} catch (error) {
  result.error = String(error).split("\n")[0];
}
result.requests = requests;
await browser.close();
console.log(JSON.stringify(result));
