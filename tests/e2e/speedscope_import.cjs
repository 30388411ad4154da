// speedscope_import NODE_MODULES FILE: gives FILE to speedscope's own program, as its command line does, in a page
// that has no screen, and prints what speedscope understood: the document that it saves on Ctrl+S.
"use strict";
const fs = require("fs");
const path = require("path");
const [modules, file] = process.argv.slice(2);
const { JSDOM, VirtualConsole } = require(path.join(modules, "jsdom"));
const release = path.join(modules, "speedscope", "dist", "release");
const program = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));

function fail(words) {
    process.stderr.write(words + "\n");
    process.exit(1);
}

// It draws with WebGL, which a page without a screen does not have; what was imported is there nevertheless.
process.on("uncaughtException", (error) => {
    if (!/Setup failure/.test(String(error)))
        fail(String(error));
});
const page = new JSDOM("<!DOCTYPE html><body></body>", {
    url: "http://localhost/#localProfilePath=none.js",
    runScripts: "outside-only",
    pretendToBeVisual: true,
    virtualConsole: new VirtualConsole(),
});
const window = page.window;
Object.assign(window, { TextDecoder, TextEncoder, alert: fail });
window.matchMedia = () => ({ matches: false, addEventListener() {}, addListener() {} });
window.ResizeObserver = class { observe() {} disconnect() {} };
window.HTMLCanvasElement.prototype.getContext = () => null;
window.Element.prototype.scrollIntoView = () => undefined;
window.URL.createObjectURL = (blob) => {
    const reader = new window.FileReader();
    reader.addEventListener("loadend", () => fs.writeSync(1, reader.result));
    reader.addEventListener("loadend", () => process.exit(0));
    reader.readAsText(blob);
    return "blob:none";
};
window.eval(fs.readFileSync(path.join(release, program), "utf8"));

function wait(until, then) {
    if (until())
        then();
    else
        setTimeout(() => wait(until, then), 20);
}

setTimeout(() => fail("speedscope did not show the file"), 30000);
wait(() => window.speedscope, () => {
    window.speedscope.loadFileFromBase64(path.basename(file), fs.readFileSync(file).toString("base64"));
    wait(() => / - speedscope$/.test(window.document.title), () => {
        window.dispatchEvent(new window.KeyboardEvent("keydown", { key: "s", ctrlKey: true }));
    });
});
