"""CONTRIBUTING.md's table of letters is what the program's option tables say."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / os.environ.get("SONDE_BUILD", "build") / "python/sonde/_bin/sonde"


def program_help(*command):
    return subprocess.run([SONDE, *command, "--help"], capture_output=True, text=True, check=True).stdout


def commands():
    listed = program_help().split("Options of every command")[0]
    return re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)


def letter_table():
    """One row for each letter: which long option it is, in which commands."""
    meanings = {}
    for command in commands():
        for letter, name in re.findall(r"^  -(\w), --([\w-]+)", program_help(command), re.MULTILINE):
            meanings.setdefault((letter, name), []).append(command)
    everywhere = len(commands())
    rows = ["| Letter | Means | In |", "|---|---|---|"]
    for (letter, name), where in sorted(meanings.items(), key=lambda row: (row[0][0].lower(), row[0])):
        place = "every command" if len(where) == everywhere else ", ".join(where)
        rows.append(f"| `-{letter}` | `--{name}` | {place} |")
    return "\n".join(rows) + "\n"


def test_letters_are_as_documented():
    expected = letter_table()
    assert expected in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), (
        "the table should be:\n" + expected
    )
