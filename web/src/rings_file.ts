// A sunburst as a file: SVG, an arc for each frame of at least a pixel, with text that stays text.

import { saveFile } from "./files";
import { colorText, escaped } from "./picture_file";
import { runsOf, type Layout } from "./rectangles";
import type { RingsLook, Sight } from "./rings";

export interface RingsPicture {
  layout: Layout;
  sight: Sight;
  look: RingsLook;
  /** In the centre, the first line larger; and their colour. */
  words: string[];
  ink: string;
  /** From side to side, in CSS pixels. */
  size: number;
}

const FULL = 2 * Math.PI;
const EDGE = 6;
const CENTRE = 48;
const LETTER = 7;

function point(turn: number, radius: number): string {
  return `${(Math.cos(turn) * radius).toFixed(2)} ${(Math.sin(turn) * radius).toFixed(2)}`;
}

/** A part of a ring; once around it is two halves, because an arc from a point to itself is nothing. */
function arc(from: number, to: number, inner: number, outer: number): string {
  if (to - from >= FULL - 1e-6) {
    const middle = (from + to) / 2;
    return arc(from, middle, inner, outer) + arc(middle, to, inner, outer);
  }
  const far = to - from > FULL / 2 ? 1 : 0;
  const [begin, end] = [point(from, outer), point(to, outer)];
  const [back, home] = [point(to, inner), point(from, inner)];
  return `M${begin}A${outer} ${outer} 0 ${far} 1 ${end}L${back}A${inner} ${inner} 0 ${far} 0 ${home}Z`;
}

/** The name along the middle of the arc, where it has room; in the lower half the other way round. */
function nameOn(name: string, from: number, to: number, radius: number, fill: string): string {
  const room = Math.floor(((to - from) * radius - 8) / LETTER);
  if (room < 3) return "";
  const text = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  const middle = (from + to) / 2;
  const isBelow = Math.sin(middle) > 0;
  const turned = (middle * 360) / FULL + (isBelow ? -90 : 90);
  return [...text]
    .map((letter, index) => {
      const step = ((isBelow ? -1 : 1) * LETTER * (index - (text.length - 1) / 2)) / radius;
      const degrees = turned + (step * 360) / FULL;
      const [x, y] = point(middle + step, radius).split(" ");
      return letter === " " ? "" : `<text transform="translate(${x} ${y}) rotate(${degrees.toFixed(1)})" fill="${fill}">${escaped(letter)}</text>`;
    })
    .join("");
}

function ringOf(picture: RingsPicture, ring: number, inner: number, width: number): string[] {
  const { layout, sight, look, size } = picture;
  const columns = Math.ceil(FULL * (size / 2));
  const turn = (column: number) => (column / columns) * FULL - FULL / 4;
  return runsOf(layout, sight.level + ring, { ...sight, top: 0 }, columns).map(({ rectangle, left, right }) => {
    const isSmall = layout.size[rectangle] < look.least;
    const fill = isSmall ? look.rest : look.color(rectangle);
    const [from, to] = [turn(left), turn(right)];
    const name = isSmall ? "" : nameOn(look.label(rectangle), from, to, inner + width / 2, look.textColor(fill));
    return `<g><title>${escaped(look.label(rectangle))}</title><path d="${arc(from, to, inner, inner + width)}" fill="${colorText(fill)}" stroke="${colorText(look.background)}" stroke-width="0.5"/>${name}</g>`;
  });
}

function centreOf({ look, words, ink }: RingsPicture, radius: number): string[] {
  const letters = Math.max(3, Math.floor((radius * 1.75) / LETTER));
  const lines = words.map((words, index) => {
    const text = words.length > letters ? `${words.slice(0, letters - 1)}…` : words;
    return `<text y="${(index - 1) * 17}" fill="${ink}"${index ? "" : ' font-weight="600"'}>${escaped(text)}</text>`;
  });
  return [`<circle r="${radius}" fill="${colorText(look.centre)}"/>`, ...lines];
}

function ringsSvg(picture: RingsPicture, title: string): string {
  const { layout, sight, look, size } = picture;
  const centre = Math.min(CENTRE, size / 6);
  const width = (size / 2 - EDGE - centre) / sight.depth;
  const parts: string[] = [];
  for (let ring = 1; ring <= sight.depth && sight.level + ring + 1 < layout.level.length; ring++)
    parts.push(...ringOf(picture, ring, centre + (ring - 1) * width, width));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="${-size / 2} ${-size / 2} ${size} ${size}"`,
    ` font-family="${escaped(look.font)}" font-size="12" text-anchor="middle" dominant-baseline="central"><title>${escaped(title)}</title>`,
    `<rect x="${-size / 2}" y="${-size / 2}" width="${size}" height="${size}" fill="${colorText(look.background)}"/>`,
    ...parts,
    ...centreOf(picture, centre),
    "</svg>",
  ].join("\n");
}

export function saveRings(picture: RingsPicture, name: string): void {
  saveFile(`${name}.svg`, new Blob([ringsSvg(picture, name)], { type: "image/svg+xml" }));
}
