// Names of functions and files where space is short: a path is cut in its middle, a function's name is not.

import type { JSX } from "preact";

import type { Codes } from "./recording";

/** Nobody reads more of one name; what is longer loses its middle. */
const LONGEST = 160;

export function shortName(name: string, length = LONGEST): string {
  if (name.length <= length) return name;
  const half = Math.floor((length - 1) / 2);
  return `${name.slice(0, half)}…${name.slice(-half)}`;
}

/** A function's name, or words for a name that cannot be seen. */
export function functionName(codes: Codes, code: number): string {
  return shortName(codes.name(code)).trim() || "(no name)";
}

/** The folder gives way, the file's name stays. */
export function Path({ path, line }: { path: string; line?: number }): JSX.Element {
  const end = path.lastIndexOf("/") + 1;
  return (
    <span class="path" title={shortName(line ? `${path}:${line}` : path, 1000)}>
      <bdi class="folder">{shortName(path.slice(0, end))}</bdi>
      <bdi class="base">
        {shortName(path.slice(end))}
        {line ? `:${line}` : ""}
      </bdi>
    </span>
  );
}

/** Where a function is written. */
export function Place({ codes, code }: { codes: Codes; code: number }): JSX.Element | null {
  const file = codes.file(code);
  if (!file || file === "~") return null;
  return <Path path={file} line={codes.line[code]} />;
}
