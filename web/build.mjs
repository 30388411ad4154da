// Makes the page, one file that needs nothing else:  node build.mjs CORE.WASM PAGE.HTML [DEPFILE]

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build, transformSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, output, depfile] = process.argv.slice(2);
const inputs = new Set();

async function bundle(name) {
  const result = await build({
    entryPoints: [join(here, "src", name)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    absWorkingDir: here,
  });
  for (const input of Object.keys(result.metafile.inputs)) inputs.add(join(here, input));
  // A closing tag in a string would end the page's script.
  return result.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
}

const packed = (bytes) => gzipSync(bytes, { level: 9, mtime: 0 }).toString("base64");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const script = await bundle("main.tsx");
const style = transformSync(readFileSync(join(here, "page.css"), "utf8"), { loader: "css", minify: true }).code.trim();
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  "img-src data: blob:",
  "connect-src 'self' data:", // the decoder of zstd comes as such an address
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const parts = {
  POLICY: policy,
  STYLE: style,
  WASM: packed(readFileSync(wasm)),
  WORKER: packed(await bundle("worker.ts")),
  GRAPHVIZ: packed(await bundle("graphviz.ts")),
  HIGHLIGHT: packed(await bundle("highlight.ts")),
  SCRIPT: script,
};
const template = readFileSync(join(here, "page.html"), "utf8");
writeFileSync(output, template.replace(/@([A-Z]+)@/g, (_, name) => parts[name]));
if (depfile) writeFileSync(depfile, `${output}: ${[...inputs].join(" ")}\n`);
