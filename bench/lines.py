#!/usr/bin/env python3
"""What a timed line costs under sonde and line_profiler: extra ns per line, on every Python found.

    bench/lines.py [--pythons 3.12,3.13] [--rounds 5]

Each round runs every tool once, one after the other, and of all rounds the best time counts: what disturbs
the machine disturbs all alike. The clock is the work program's own (bench/line_work.py). "far lines" are
beyond line 256, where the numbers of lines are objects that must be made; in "calls" one line in six calls a
function. "not chosen" is a function that is not timed, where another is: its share of full speed; with one
call in six lines, and with nothing but calls. "empty" is a trace function in C that does nothing: what
tracing costs at least before 3.12, where sonde has probes in the byte code instead.

Where the memory of a process happens to lie makes up to five per cent, in a loop of few instructions. So each
process lies elsewhere (by the kernel, and by the size of its environment), and functions that are not chosen,
where two such times are all that is compared, are measured in four times as many, of which the median counts.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))

import interpreters  # noqa: E402

CASES = ["simple", "far lines", "calls"]
NOT_CHOSEN = ["not chosen", "not chosen, calls", "not chosen, calls alone"]
LARGEST_RATIO, SMALLEST_SPEED = 0.15, 0.98
LAYOUTS = 4  # times as many rounds


class Bench:
    def __init__(self, python, folder):
        self.python, self.folder = python, folder
        self.peer, self.no_peer = python.peer_environment(["line_profiler"])

    def command(self, tool, case):
        work = [self.folder / "line_work.py", case]
        output = ["-o", self.folder / "bench.sonde"]
        line = [interpreters.sonde_program(), "line", "--quiet", "--hot", "0", *output]
        return {
            "none": [self.python.executable, *work],
            "empty": [self.python.executable, *work, "empty"],
            "sonde": [*line, "--", self.python.executable, *work],
            "line_profiler": [
                *(self.peer, "-m", "kernprof", "-q", "-l", "-o", self.folder / "bench.lprof"),
                *work,
            ],
        }[tool]

    def measure(self, tool, case, layout):
        entered = self.python.enter(self.command(tool, case), self.folder)
        environment = {**os.environ, "SONDE_BENCH_LAYOUT": "." * (layout * 97 % 4096)}
        done = subprocess.run(entered, cwd=self.folder, env=environment, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} failed on {case}: {done.stderr.decode().strip()}")
        found = next(line for line in done.stdout.splitlines() if line.startswith(b"{"))
        return json.loads(found)["ns"]

    def times(self, tools, case, rounds):
        """{tool: [ns]}, the tools by turns."""
        found = {tool: [] for tool in tools}
        for layout in range(rounds):
            for tool in tools:
                found[tool].append(self.measure(tool, case, layout))
        return found

    def best(self, tools, case, rounds):
        return {tool: min(times) for tool, times in self.times(tools, case, rounds).items()}

    def usual(self, tools, case, rounds):
        """The best of many layouts is luck, which one side has and the other has not."""
        return {tool: statistics.median(times) for tool, times in self.times(tools, case, rounds).items()}


def report(bench, rounds):
    """Prints a line for each case; whether all targets were met."""
    good = True
    tools = ["none", "sonde", *(["line_profiler"] if bench.peer else [])]
    if bench.python.numbers < (3, 12):
        tools.append("empty")
    for case in CASES:
        found = bench.best(tools, case, rounds)
        ours = found["sonde"] - found["none"]
        theirs = found.get("line_profiler", float("nan")) - found["none"]
        good &= not ours / theirs > LARGEST_RATIO
        floor = (found["empty"] - found["none"]) / theirs if "empty" in found else None
        print(
            f"{bench.python!r:8} {case:10} base {found['none']:6.1f}  sonde {ours:+7.1f}"
            f"  line_profiler {theirs:+7.1f}  ratio {ours / theirs:5.2f}  (at most {LARGEST_RATIO})"
            + (f"  empty {floor:5.2f}" if floor is not None else ""),
            flush=True,
        )
    for case in NOT_CHOSEN:
        found = bench.usual(["none", "sonde"], case, rounds * LAYOUTS)
        speed = found["none"] / found["sonde"]
        good &= speed >= SMALLEST_SPEED
        line = f"{bench.python!r:8} {case}: {speed:.3f} of full speed  (at least {SMALLEST_SPEED})"
        print(line, flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pythons", help="versions, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    wanted = options.pythons.split(",") if options.pythons else None
    found, _ = interpreters.find()
    good = True
    for python in found:
        if python.free_threaded or (wanted and not any(repr(python).startswith(name) for name in wanted)):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sonde-lines-", dir="/tmp"))
        try:
            shutil.copy(HERE / "line_work.py", folder)
            good &= report(Bench(python, folder), options.rounds)
        finally:
            shutil.rmtree(folder)
            python.leave()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
