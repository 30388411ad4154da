#!/usr/bin/env python3
"""What a line costs whose memory is measured, under sonde and memory_profiler: extra ns per line.

    bench/mem_lines.py [--pythons 3.12,3.13] [--rounds 5]

"simple" lines touch no memory; of "allocating" ones half allocate or free small blocks; "growing" ones keep
what they allocate, so that the resident size grows all the time and is read again and again, which takes a
call of the kernel each time.
"""

import json
import subprocess
import sys

import rounds

LOOPS = {"none": 100000, "sonde": 100000, "memory_profiler": 500}
CASES = ["simple", "allocating", "growing"]
LARGEST_NS = 1000


class Bench:
    def __init__(self, python, folder):
        self.python, self.folder = python, folder
        self.peer, _ = python.peer_environment(["memory_profiler"])

    def measure(self, tool, case):
        work = [self.folder / "mem_line_work.py", case, LOOPS[tool]]
        sonde = [rounds.interpreters.sonde_program(), "mem", "--lines", "--quiet", "--no-view"]
        command = {
            "none": [self.python.executable, *work],
            "sonde": [*sonde, "-o", self.folder / "bench.sonde", "--", self.python.executable, *work],
            "memory_profiler": [self.peer, "-W", "ignore", "-m", "memory_profiler", *work],
        }[tool]
        entered = self.python.enter(map(str, command), self.folder)
        done = subprocess.run(entered, cwd=self.folder, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} failed on {case}: {done.stderr.decode().strip()}")
        found = next(line for line in done.stdout.splitlines() if line.startswith(b"{"))
        return json.loads(found)["ns"]


def report(bench, count):
    """Prints a line for each case; whether all targets were met."""
    good = True
    tools = ["none", "sonde", *(["memory_profiler"] if bench.peer else [])]
    for case in CASES:
        found = rounds.best(lambda tool, case=case: bench.measure(tool, case), tools, count)
        ours = found["sonde"] - found["none"]
        theirs = found.get("memory_profiler", float("nan")) - found["none"]
        good &= ours <= LARGEST_NS
        print(
            f"{bench.python!r:8} {case:10} base {found['none']:6.1f}"
            f"  sonde {ours:+7.1f}  (at most {LARGEST_NS})"
            f"  memory_profiler {theirs:+9.1f}  ratio {ours / theirs:6.4f}",
            flush=True,
        )
    return good


def main():
    options = rounds.parser(__doc__).parse_args()
    found = rounds.pythons(options, "mem_line_work.py")
    good = [report(Bench(python, folder), options.rounds) for python, folder in found]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
