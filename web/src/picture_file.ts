// A picture as a file: SVG of what is in sight, with text that stays text, or PNG of the canvas.

import type { Tick } from "./axis";
import { saveFile } from "./files";
import { runsOf, type Band } from "./rectangles";

export function escaped(text: string): string {
  // Characters that XML does not allow are left out.
  return text
    .replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD]/g, "")
    .replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

export function colorText(pixel: number): string {
  return `#${[0, 8, 16].map((shift) => ((pixel >>> shift) & 0xff).toString(16).padStart(2, "0")).join("")}`;
}

const LETTER = 7;

/** One rectangle of at least a pixel; its whole name is its tooltip. */
function shape(band: Band, rectangle: number, left: number, width: number, top: number): string {
  const { look } = band;
  const name = look.label(rectangle);
  const fill = look.color(rectangle);
  const box = `<rect x="${left}" y="${top}" width="${Math.max(1, width - 1)}" height="${look.rowHeight - 1}" fill="${colorText(fill)}"/>`;
  const letters = Math.floor((width - 6) / LETTER);
  if (letters < 2) return `<g><title>${escaped(name)}</title>${box}</g>`;
  const text = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
  const place = `x="${left + 3}" y="${top + look.rowHeight * 0.68}" fill="${look.textColor(fill)}"`;
  return `<g><title>${escaped(name)}</title>${box}<text ${place}>${escaped(text)}</text></g>`;
}

/** A line and its label, in the band above the rectangles. */
function tick({ window, top, look }: Band, { value, label }: Tick, width: number, height: number): string {
  const x = Math.round(((value - window.from) / (window.to - window.from)) * width);
  const ink = look.textColor(look.background);
  const text = x + 4 + label.length * LETTER > width ? "" : `<text x="${x + 4}" y="${top * 0.68}" fill="${ink}">${escaped(label)}</text>`;
  return `<rect x="${x}" width="1" height="${height}" fill="${ink}" opacity="0.2"/>${text}`;
}

/** All levels, also those scrolled out of sight. */
function svgOf(band: Band, width: number, title: string, ticks: Tick[] = []): string {
  const { layout, look } = band;
  const levels = layout.level.length - 1;
  const height = band.top + levels * look.rowHeight;
  const parts: string[] = ticks.map((one) => tick(band, one, width, height));
  for (let level = 0; level < levels; level++) {
    const top = look.upwards ? height - (level + 1) * look.rowHeight : band.top + level * look.rowHeight;
    for (const { rectangle, left, right } of runsOf(layout, level, band.window, width))
      parts.push(shape(band, rectangle, left, right - left, top));
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    ` font-family="${escaped(look.font)}" font-size="12"><title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="${colorText(look.background)}"/>`,
    ...parts,
    "</svg>",
  ].join("\n");
}

export function saveSvg(band: Band, width: number, name: string, ticks: Tick[] = []): void {
  saveFile(`${name}.svg`, new Blob([svgOf(band, width, name, ticks)], { type: "image/svg+xml" }));
}

export function savePng(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => blob && saveFile(`${name}.png`, blob), "image/png");
}
