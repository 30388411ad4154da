#!/usr/bin/env python3
"""What a call costs under sonde, cProfile and VizTracer: extra ns per call, on every Python found.

    bench/run.py [--pythons 3.12,3.13] [--cases fib,wide] [--rounds 5] [--pin]

Each round runs every tool once, one after the other, and of all rounds the best time counts: what disturbs
the machine disturbs all alike. The clock is the work program's own (bench/calls.py). Targets are ratios to
cProfile's extra time. "C calls" counts calls of C functions, the other cases calls of Python functions.
"empty" is a profile function in C that does nothing: what CPython itself asks for telling of calls that way.
"""

import json
import os
import subprocess
import sys

import rounds
from rounds import interpreters

CASES = ["fib", "mixed", "wide", "long", "C calls"]
TOOLS = ["none", "sonde", "sonde, no C", "cProfile", "VizTracer", "empty"]


def targets(numbers):
    """The largest allowed ratio of sonde's extra time to cProfile's: with C calls, without."""
    if numbers >= (3, 12):
        return {"sonde": 0.5, "sonde, no C": 0.35}
    return {"sonde": 0.8 if numbers == (3, 11) else 0.6, "sonde, no C": 0.35}


class Bench:
    def __init__(self, python, folder, pin):
        self.python, self.folder, self.pin = python, folder, pin
        self.script = folder / "calls.py"
        self.viztracer, self.no_viztracer = python.peer_environment(["viztracer"])

    def command(self, tool, case):
        """The command line, or None when the tool is not there."""
        python, work = self.python.executable, [self.script, case]
        trace = [interpreters.sonde_program(), "trace", "--quiet", "-o", self.folder / "bench.sonde"]
        viztracer = ["-m", "viztracer", "--quiet", "-o", self.folder / "bench.json"]
        return {
            "none": [python, *work],
            "sonde": [*trace, "--", python, *work],
            "sonde, no C": [*trace, "--no-c-calls", "--", python, *work],
            "cProfile": [python, "-m", "cProfile", "-o", self.folder / "bench.prof", *work],
            "VizTracer": [self.viztracer, *viztracer, *work] if self.viztracer else None,
            "empty": [python, *work, "empty"],
        }[tool]

    def measure(self, tool, case):
        command = self.command(tool, case)
        if command is None:
            return None
        pin = (lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})) if self.pin else None
        entered = self.python.enter(command, self.folder)
        done = subprocess.run(entered, cwd=self.folder, capture_output=True, preexec_fn=pin, check=False)
        if done.returncode:
            sys.exit(f"{tool} failed on {case}: {done.stderr.decode().strip()}")
        return json.loads(done.stdout.splitlines()[0])

    def best(self, case, count):
        """{tool: its best result}."""
        found = {}
        for _ in range(count):
            for tool in TOOLS:
                result = self.measure(tool, case)
                if result and (tool not in found or result["ns"] < found[tool]["ns"]):
                    found[tool] = result
        return found


def extra(found, tool):
    return found[tool]["ns"] - found["none"]["ns"] if tool in found else None


def cell(found, tool, limit):
    """+ns and the ratio to cProfile, marked where it is over the target."""
    ours, theirs = extra(found, tool), extra(found, "cProfile")
    if ours is None:
        return f"{'-':>22}"
    if tool == "cProfile":
        return f"{ours:>+9.1f}{'':13}"
    mark = "" if limit is None else f" <={limit:g}" + ("!" if ours / theirs > limit else " ")
    return f"{ours:>+9.1f} {ours / theirs:>5.2f}{mark:7}"


def print_row(case, found, limits):
    cells = "".join(
        cell(found, tool, limits.get(tool) if case != "C calls" or tool == "sonde" else None)
        for tool in TOOLS[1:]
    )
    own = (found["sonde"]["own_kib"] - found["none"]["own_kib"]) / 1024
    parent = found["sonde"]["parent_kib"] / 1024
    print(
        f"{case:8}{found['none']['calls']:>8}{found['none']['ns']:>8.1f} {cells} {own:>6.1f} {parent:>6.1f}",
        flush=True,
    )


def print_python(python, folder, options):
    bench = Bench(python, folder, options.pin)
    print(f"\nPython {python!r} {python.executable} {bench.no_viztracer or ''}")
    heads = "".join(f"{tool:>14}{'':8}" for tool in TOOLS[1:])
    print(f"{'case':8}{'calls':>8}{'base':>8} {heads} target  sonde")
    for case in options.cases.split(","):
        print_row(case, bench.best(case, options.rounds), targets(python.numbers))


def parse():
    parser = rounds.parser("Extra time per call of sonde and its peers.")
    parser.add_argument("--cases", default=",".join(CASES), help="default: %(default)s")
    parser.add_argument("--pin", action="store_true", help="everything on one core, as MPI ranks are")
    return parser.parse_args()


def main():
    options = parse()
    print(f"Extra ns per call (best of {options.rounds}) and the ratio to cProfile's (! = over the target).")
    print("Last two columns, in MiB: what the target's peak grew by under sonde, and sonde's own peak.")
    print("Known: on 3.10 CPython looks up the line of every event, step by step from the function's start,")
    print("before it calls a profile function: in long functions an empty one is over the target already.")
    for python, folder in rounds.pythons(options, "calls.py"):
        print_python(python, folder, options)


if __name__ == "__main__":
    main()
