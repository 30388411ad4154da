#!/usr/bin/env python3
"""Runs commands and compares what they print with what was expected, exactly.

    tests/golden/run.py PROGRAM [--update] [CASE...]

A case is a file tests/golden/**/*.txt, written like a session at a terminal: a line "$ COMMAND", below it
what the command prints (standard output and error together), and "[exit N]" when it ends with N other than
0. Lines before the first command are a comment. Each case runs by `sh` in a copy of tests/golden/inputs of
its own, 80 columns wide, with PROGRAM as `sonde`. --update writes what was printed into the case instead of
comparing: read the difference before committing it.
"""

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 60


def parse(text):
    """The comment, and a list of [command, expected]."""
    comment, steps = "", []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append([line[2:].rstrip("\n"), ""])
        elif steps:
            steps[-1][1] += line
        else:
            comment += line
    return comment, steps


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SONDE_", "LC_"))}
    settings = {"COLUMNS": "80", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}
    return {**kept, **settings, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def run_step(command, folder):
    """What the command printed, in the form that a case has."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    options = {"cwd": folder / "inputs", "env": environment(folder), "timeout": TIMEOUT_S}
    try:
        done = subprocess.run(["sh", "-c", command], **streams, **options)
    except subprocess.TimeoutExpired:
        return f"[no end after {TIMEOUT_S} s]\n"
    printed = done.stdout.decode("utf-8", "backslashreplace")
    if printed and not printed.endswith("\n"):
        printed += "\n[no newline at the end]\n"
    return printed + (f"[exit {done.returncode}]\n" if done.returncode else "")


def run_case(path, program):
    """The case as it should be written according to the program."""
    comment, steps = parse(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(HERE / "inputs", folder / "inputs")
        (folder / "bin").mkdir()
        (folder / "bin/sonde").symlink_to(program)
        return comment + "".join(f"$ {command}\n{run_step(command, folder)}" for command, _ in steps)


def check(path, program, update):
    expected, found = path.read_text(encoding="utf-8"), run_case(path, program)
    name = path.relative_to(HERE).as_posix()
    if found == expected:
        return True
    if update:
        path.write_text(found, encoding="utf-8")
        print(f"updated {name}")
        return True
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), name, "printed", lineterm="")
    print("\n".join([*lines, f"FAILED {name}"]), flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description="Compare what commands print with what was expected.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--update", action="store_true", help="write what was printed into the cases")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="part of a case's name")
    options = parser.parse_args()
    program = options.program.resolve()
    if not os.access(program, os.X_OK):
        parser.error(f"{program} is not a program: build first")
    paths = sorted(path for path in HERE.rglob("*.txt") if HERE / "inputs" not in path.parents)
    chosen = [path for path in paths if not options.cases or any(case in str(path) for case in options.cases)]
    results = [check(path, program, options.update) for path in chosen]
    print(f"golden: {sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
