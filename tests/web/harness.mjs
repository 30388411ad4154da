// What every test of the page has: recordings, pages made of them, and a browser that notices what it must not see:
// an error or warning on the console, a request that leaves the page, a dialog, a navigation, a frame.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const INPUTS = join(ROOT, "tests/golden/inputs");
const WAIT_MS = 60_000; // what has not come by then does not come; a busy machine may take half of it
const BROWSERS = [process.env.SONDE_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const tests = [];
export const test = (name, act) => tests.push({ name, act });

/** Nanoseconds, bytes, counts and shares as the page writes them ("1.23 ms", "17.0 KiB", "1,234", "45.6 %"), as numbers. */
export function value(text) {
  const found = /^([−-]?[\d,.]+)\s*(h|min|s|ms|µs|ns|B|KiB|MiB|GiB|TiB|%)?/.exec(text.trim());
  assert(found, `not a number: ${text}`);
  const unit = { h: 3.6e12, min: 6e10, s: 1e9, ms: 1e6, "µs": 1e3, ns: 1, "%": 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }[found[2] ?? ""] ?? 1;
  return Number(found[1].replaceAll(",", "").replace("−", "-")) * unit;
}

/** Equal to the three digits that are shown. */
export function assertShown(text, expected, message) {
  const got = value(text);
  assert(Math.abs(got - expected) <= Math.abs(expected) * 0.006 + 0.006, `${message ?? ""}: "${text}" is not ${expected}`);
}

/** Waits until `check` gives something true. */
export async function until(check, words) {
  for (const end = performance.now() + WAIT_MS; performance.now() < end; ) {
    const found = await check();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`never: ${words}`);
}

export class Harness {
  static async start(program, folder) {
    const harness = new Harness();
    harness.program = program;
    harness.folder = folder;
    harness.maker = join(dirname(program), "../../../tests/web/make_hard_recording");
    const executablePath = BROWSERS.find((path) => path && existsSync(path));
    assert(executablePath, "no Chromium: tools/setup test");
    harness.browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    harness.opened = [];
    harness.started = [];
    return harness;
  }

  async stop() {
    await this.browser.close();
  }

  sonde(...words) {
    const options = { cwd: this.folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] };
    return execFileSync(this.program, words, options).toString();
  }

  /** Path of a recording that is made once: `make` gets the path and makes it. */
  made(name, make) {
    const path = join(this.folder, name);
    if (!existsSync(path)) make(path);
    return path;
  }

  /** A folder for the test's own files. */
  folderOf(name) {
    const path = join(this.folder, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  hard(kind, ...more) {
    return this.made(`${[kind, ...more].join("-")}.sonde`, (path) =>
      writeFileSync(path, execFileSync(this.maker, [kind, ...more], { maxBuffer: 1 << 28 })),
    );
  }

  golden(name) {
    return this.made(name, (path) => writeFileSync(path, readFileSync(join(INPUTS, name))));
  }

  example(name) {
    return join(ROOT, "examples", name);
  }

  /** What the program says of the same recording: the truth for the page. */
  report(recording, ...options) {
    return JSON.parse(this.sonde("report", "--json", ...options, recording));
  }

  html(...recordings) {
    return this.made(`${recordings.map((path) => path.replace(/.*\//, "")).join("+")}.html`, (path) =>
      this.sonde("view", "-o", path, ...recordings),
    );
  }

  /** Starts the program beside the test; it is ended with it. */
  start(...words) {
    const child = spawn(this.program, words, { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    this.started.push(child);
    return child;
  }

  /** Address of a page that `sonde view` serves. */
  serve(...recordings) {
    const server = this.start("view", "--no-browser", ...recordings);
    return new Promise((done, fail) => {
      let text = "";
      const take = (bytes) => {
        text += bytes;
        const found = /http:\/\/[\w.[\]:]+\/\S*/.exec(text);
        if (found) done(found[0]);
      };
      server.stdout.on("data", take);
      server.stderr.on("data", take);
      server.on("exit", () => fail(new Error(text)));
    });
  }

  /** A page in a context of its own; whatever it does wrong is found by finish(). */
  async open(address, { hash = "", ready = "header .title:not(:empty)", network = false, ...context } = {}) {
    const made = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...context });
    if (!network) await made.setOffline(true);
    await made.addInitScript(countPending);
    const page = await made.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const faults = [];
    this.watch(page, faults, network ? new URL(address).origin : null);
    this.opened.push({ page, made, faults });
    await page.goto((address.includes("://") ? address : pathToFileURL(address)) + hash);
    if (ready) await page.waitForSelector(ready);
    return page;
  }

  watch(page, faults, origin) {
    const own = page.mainFrame();
    let navigations = 0;
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
    });
    page.on("crash", () => faults.push("the page's process ended"));
    page.on("pageerror", (error) => faults.push(`thrown: ${error.stack}`));
    page.on("dialog", (dialog) => {
      faults.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("popup", () => faults.push("a window was opened"));
    page.on("frameattached", () => faults.push("a frame was added"));
    page.on("request", (request) => {
      const url = request.url();
      if (request.isNavigationRequest() && request.frame() === own && ++navigations > 1) faults.push(`navigation to ${url}`);
      if (!/^(file|blob|data):/.test(url) && !(origin && url.startsWith(`${origin}/`))) faults.push(`request: ${url}`);
    });
  }

  /** Closes what was opened; fails when a page did what it must not. Faults that a test wants it takes away itself. */
  async finish() {
    const opened = this.opened.splice(0);
    for (const { made } of opened) await made.close();
    this.endStarted();
    assert.deepEqual(opened.flatMap(({ faults }) => faults), [], "what the page must not do");
  }

  endStarted() {
    for (const child of this.started.splice(0)) child.kill();
  }

  /** After a failure: says what the pages did wrong and what they show. */
  async abandon() {
    this.endStarted();
    for (const { page, made, faults } of this.opened.splice(0)) {
      for (const fault of [...faults, await shown(page)]) console.log(`    ${fault}`);
      await made.close().catch(() => {});
    }
  }

  faultsOf(page) {
    return this.opened.find((one) => one.page === page).faults;
  }
}

/** Where a page is and the first words on it, or that it does not answer: then it hangs. */
async function shown(page) {
  const words = page.locator("body").innerText({ timeout: 5_000 }).catch((error) => error.message);
  const late = new Promise((done) => setTimeout(done, 5_000, "does not answer"));
  const text = (await Promise.race([words, late])).replaceAll(/\s+/g, " ").slice(0, 300);
  return `${page.url().replace(/.*\//, "")}: ${text}`;
}

/** Counts, in the page, the frames and the short waits that it has asked for: effects, motions, redraws, what rests first. */
function countPending() {
  const LONG_MS = 300; // longer ones are retries and what goes away by itself
  const pending = new Set();
  const frame = window.requestAnimationFrame.bind(window);
  const counted = (kind, real, clear, isCounted) => {
    const [make, end] = [window[real].bind(window), window[clear].bind(window)];
    window[real] = (act, ...more) => {
      if (typeof act !== "function" || !isCounted(...more)) return make(act, ...more); // text is for the policy to refuse
      const id = make((...given) => {
        pending.delete(kind + id);
        act(...given);
      }, ...more);
      pending.add(kind + id);
      return id;
    };
    window[clear] = (id) => {
      pending.delete(kind + id);
      end(id);
    };
  };
  counted("frame", "requestAnimationFrame", "cancelAnimationFrame", () => true);
  counted("wait", "setTimeout", "clearTimeout", (ms = 0) => ms <= LONG_MS);
  window.settling_ = { frame, isBusy: () => pending.size > 0 || !!document.querySelector("progress.busy") };
}

/** Nothing is under way: no query, no motion, no redraw, no effect that is still to come; and what came is drawn. */
export async function settled(page) {
  await page.evaluate(
    () =>
      new Promise((done) => {
        const { frame, isBusy } = window.settling_;
        const rest = () => (isBusy() ? look() : done());
        const look = () => frame(isBusy() ? look : () => frame(rest));
        look();
      }),
  );
}

export async function goTo(page, name) {
  await page.locator("nav button", { hasText: new RegExp(`^${name}$`, "i") }).click();
  await settled(page);
}

/** Drops files as a hand would: a DataTransfer made in the page, the events that a browser sends. */
export async function drop(page, ...paths) {
  const files = paths.map((path) => ({ name: path.replace(/.*\//, ""), text: readFileSync(path).toString("base64") }));
  await page.evaluate((files) => {
    const transfer = new DataTransfer();
    for (const { name, text } of files) {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      transfer.items.add(new File([bytes], name));
    }
    for (const type of ["dragenter", "dragover", "drop"])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, files);
}

/** Middle of row `row` of a canvas, at a share of its width. */
export async function place(page, share, row, which = 0) {
  const box = await page.locator("canvas").nth(which).boundingBox();
  return [box.x + share * box.width, box.y + row * 20 + 10];
}

/** What the line below the picture says of the frame there. */
export async function pointAt(page, share, row, which = 0) {
  await settled(page);
  const [x, y] = await place(page, share, row, which);
  await page.mouse.move(x, y + 1); // a mouse that rests says nothing to a picture that is new
  await page.mouse.move(x, y);
  await settled(page);
  await page.waitForFunction(() => document.querySelector(".status b"));
  return (await page.locator(".status").innerText()).replaceAll(/\s+/g, " ");
}

export async function clickAt(page, share, row, which = 0) {
  await settled(page);
  await page.mouse.click(...(await place(page, share, row, which)));
  await settled(page);
}
