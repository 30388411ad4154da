"""CONTRIBUTING.md's table of letters is what the program's option tables say."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / os.environ.get("SONDE_BUILD", "build") / "python/sonde/_bin/sonde"


def test_letters_are_as_documented():
    table = subprocess.run([SONDE, "help", "--letters"], capture_output=True, text=True, check=True).stdout
    assert "`-h` | `--help` | every command" in table
    documented = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert documented.endswith("\n" + table), "run tools/letters"
