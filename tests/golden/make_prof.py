#!/usr/bin/env python3
"""Writes inputs/small.prof: a cProfile file with round numbers, made by hand so that it never changes."""

import marshal
from pathlib import Path

MAIN = ("/home/me/project/run.py", 1, "<module>")
SOLVE = ("/home/me/project/solver/step.py", 10, "solve")
VISIT = ("/home/me/project/solver/step.py", 40, "visit")
LOADS = ("/usr/lib/python3.12/json/__init__.py", 299, "loads")
EXEC = ("~", 0, "<built-in method builtins.exec>")
LEN = ("~", 0, "<built-in method builtins.len>")

# Function: (primitive calls, calls, self, total, {caller: (calls, primitive calls, self, total)}).
STATS = {
    EXEC: (1, 1, 0.0, 4.0, {}),
    MAIN: (1, 1, 0.25, 4.0, {EXEC: (1, 1, 0.25, 4.0)}),
    SOLVE: (400, 400, 2.0, 3.25, {MAIN: (400, 400, 2.0, 3.25)}),
    VISIT: (400, 2000, 0.75, 1.25, {SOLVE: (400, 400, 0.25, 1.25), VISIT: (1600, 400, 0.5, 1.0)}),
    LEN: (500000, 500000, 0.5, 0.5, {VISIT: (500000, 500000, 0.5, 0.5)}),
    LOADS: (2, 2, 0.5, 0.5, {MAIN: (2, 2, 0.5, 0.5)}),
}

if __name__ == "__main__":
    (Path(__file__).parent / "inputs/small.prof").write_bytes(marshal.dumps(STATS, 2))
