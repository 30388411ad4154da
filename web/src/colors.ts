// Colours of frames: one hue for each module, equal lightness and chroma, so that no module shouts.

const CODE_PYTHON = 1;
const CODE_LIBRARY = 1;

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 12)) >>> 0;
}

function channel(linear: number): number {
  const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, value)));
}

/** OKLCH (hue in degrees) → bytes of red, green, blue. */
export function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** A pixel as ImageData's memory has it on little-endian machines. */
export function pixel([red, green, blue]: [number, number, number]): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function css([red, green, blue]: [number, number, number]): string {
  return `rgb(${red} ${green} ${blue})`;
}

export function pixelCss(pixel: number): string {
  return css([pixel & 0xff, (pixel >>> 8) & 0xff, (pixel >>> 16) & 0xff]);
}

function luminance(color: number): number {
  const linear = (shift: number) => {
    const value = ((color >>> shift) & 0xff) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
}

/** How well two colours can be told apart: 1 to 21. */
export function contrast(one: number, other: number): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

export const READABLE = 4.5;
const INKS: [number, number, number][] = [
  [20, 22, 24],
  [244, 245, 247],
  [0, 0, 0],
  [255, 255, 255],
];

function bestInk(color: number): [number, number, number] {
  const readable = INKS.find((ink) => contrast(pixel(ink), color) >= READABLE);
  return readable ?? (luminance(color) > 0.179 ? INKS[2] : INKS[3]);
}

/** Of the colours seen; a picture asks for every name that it writes. */
const inks = new Map<number, [number, number, number]>();
const INKS_KEPT = 20_000;

/** Nearly black or nearly white where that can be read on the pixel, else black or white itself. */
export function textOn(color: number): [number, number, number] {
  let ink = inks.get(color);
  if (ink) return ink;
  if (inks.size > INKS_KEPT) inks.clear();
  inks.set(color, (ink = bestInk(color)));
  return ink;
}

/** The user's own code is the most saturated, native and C frames the least. */
export function frameColor(module: string, kind: number, flags: number, dark: boolean): [number, number, number] {
  const isOwn = kind === CODE_PYTHON && !(flags & CODE_LIBRARY);
  return colorOfName(module.split(".")[0], isOwn ? 0.09 : kind === CODE_PYTHON ? 0.05 : 0.02, dark);
}

function colorOfName(name: string, chroma: number, dark: boolean): [number, number, number] {
  const seed = hash(name);
  const lightness = (dark ? 0.5 : 0.82) + (((seed >>> 16) % 5) - 2) * 0.012;
  return oklch(lightness, chroma, seed % 360);
}

export function regionColor(name: string, dark: boolean): [number, number, number] {
  return colorOfName(name, 0.09, dark);
}

/** Chosen by search so that any two differ for everybody, also with red or green missing (tests/web/colors.test.mjs). */
export const THREAD_SHADES: [lightness: number, chroma: number, hue: number][] = [
  [0.74, 0.11, 240],
  [0.78, 0.14, 70],
  [0.66, 0.06, 210],
  [0.9, 0.13, 105],
  [0.52, 0.13, 260],
  [0.62, 0.16, 45],
  [0.66, 0.06, 105],
  [0.5, 0.14, 30],
];
const SHARED: [number, number, number][] = [
  [208, 210, 214],
  [70, 74, 80],
];

/** `place` among the busiest threads (-1 = none of them); the less of the time is that thread's (`part`), the greyer. */
export function threadColor(place: number, part: number, dark: boolean): [number, number, number] {
  const grey = SHARED[dark ? 1 : 0];
  const shade = THREAD_SHADES[place];
  if (!shade) return grey;
  const [lightness, chroma, hue] = shade;
  const own = oklch(dark ? lightness * 0.78 : lightness, chroma, hue);
  return own.map((channel, at) => Math.round(grey[at] + (channel - grey[at]) * part)) as [number, number, number];
}

/** Share 0…1 → heat: one hue, light to dark (dark to light at night). */
export function heatColor(share: number, dark: boolean): [number, number, number] {
  const strength = Math.sqrt(Math.min(1, Math.max(0, share)));
  const lightness = dark ? 0.3 + 0.42 * strength : 0.96 - 0.36 * strength;
  return oklch(lightness, 0.02 + 0.13 * strength, 55);
}

/** -1 (faster) … 1 (slower): blue through grey to orange-red. */
export function differenceColor(change: number, dark: boolean): [number, number, number] {
  const strength = Math.min(1, Math.abs(change));
  const lightness = dark ? 0.42 + 0.16 * strength : 0.88 - 0.2 * strength;
  return oklch(lightness, 0.015 + 0.135 * strength, change < 0 ? 250 : 45);
}
