"""Makes texts part of the program:

    tools/embed.py OUTPUT FILE...

writes a C header with one string for each FILE, named like the header and the file's suffix: page.h and
page.css give page_css.
"""

import sys
from pathlib import Path


def literal(line):
    quoted = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'    "{quoted}\\n"'


def main():
    output, *inputs = map(Path, sys.argv[1:])
    lines = []
    for path in inputs:
        lines.append(f"static const char {output.stem}_{path.suffix[1:]}[] =")
        lines += [literal(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines[-1] += ";"
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
