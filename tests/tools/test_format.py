"""docs/format.md says what src/store/record.h, gather.c and decode.c do."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/format.md").read_text(encoding="utf-8")
HEADER = (ROOT / "src/store/record.h").read_text(encoding="utf-8")
GATHER = (ROOT / "src/store/gather.c").read_text(encoding="utf-8")
DECODE = (ROOT / "src/store/decode.c").read_text(encoding="utf-8")


def listed(macro):
    """{name: number} of an X-macro list."""
    body = re.search(rf"#define {macro}\(X\)(.*?)\n\n", HEADER, re.DOTALL).group(1)
    return {name: int(number) for name, number in re.findall(r"X\((\w+), (\d+)\)", body)}


def documented(columns):
    """{name: (number, last cell)} of the page's tables that have so many columns and begin with a number."""
    rows = re.findall(r"^\| (\d+) \| ([A-Z_]+) \|" + r"([^|\n]*)\|" * (columns - 2) + "$", PAGE, re.MULTILINE)
    return {row[1]: (int(row[0]), row[-1].strip()) for row in rows}


def column_types(cell):
    return "".join(re.findall(r"\w+ ([uwszdt])(?:,|$)", cell))


def test_kinds_are_documented():
    kinds = listed("RECORD_KINDS")
    assert len(kinds) > 10
    assert {name: number for name, (number, _) in documented(3).items()} == kinds


def test_tags_are_documented():
    tags = listed("RECORD_TAGS")
    assert len(tags) > 30
    assert {name: number for name, (number, _) in documented(4).items()} == tags


def test_numbers_are_used_once():
    for macro in ("RECORD_KINDS", "RECORD_TAGS"):
        numbers = listed(macro).values()
        assert len(numbers) == len(set(numbers))


def test_columns_read_are_those_documented():
    tables = re.findall(r'\{RECORD_(\w+), "([uwszdt]+)", \w+\}', DECODE)
    assert len(tables) >= 10
    for name, types in tables:
        assert column_types(documented(4)[name][1]) == types, name


def test_columns_written_are_those_documented():
    shapes = dict(re.findall(r'\{RECORD_(\w+), RECORD_KIND_\w+, COLUMNS\("([uwszdt]+)"\)\}', GATHER))
    assert len(shapes) >= 12
    assert shapes.pop("STRINGS") == shapes.pop("SOURCE") == "s"  # not numbers
    for name, types in shapes.items():
        assert column_types(documented(4)[name][1]) == types, name


def test_version_is_documented():
    major = re.search(r"#define RECORD_MAJOR (\d+)", HEADER).group(1)
    minor = re.search(r"#define RECORD_MINOR (\d+)", HEADER).group(1)
    assert f"# The .sonde file, version {major}.{minor}\n" in PAGE
