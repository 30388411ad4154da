#!/usr/bin/env python3
"""What several collectors in one run cost, beside the runs of one profiler after the other that they replace.

    bench/together.py [--pythons 3.12,3.13] [--rounds 5]

The work is that of bench/mem_work.py ("words" and "tree": dictionaries, objects, recursion); the clock is the
work's own. A row is how many times as long it takes as without a profiler. The peers are cProfile and memray
(as it is by default), which need a run each.
"""

import functools
import json
import subprocess
import sys

import rounds
from rounds import interpreters

CASES = ["words", "tree"]
TOGETHER = {
    "record": ["record"],
    "record, mem": ["record", "--with", "mem"],
    "record, mem, trace": ["record", "--with", "mem,trace"],
}


class Bench:
    def __init__(self, python, folder):
        self.python, self.folder = python, folder
        self.peer, self.no_peer = python.peer_environment(["memray"])

    def command(self, tool):
        work = [self.folder / "mem_work.py"]
        record = [interpreters.sonde_program(), *TOGETHER.get(tool, []), "--quiet"]
        return {
            "none": [self.python.executable, *work],
            "cProfile": [self.python.executable, "-m", "cProfile", "-o", self.folder / "x.prof", *work],
            "memray": [self.peer, "-m", "memray", "run", "-q", "-f", "-o", self.folder / "x.bin", *work],
        }.get(tool, [*record, "-o", self.folder / "x.sonde", "--", self.python.executable, *work])

    def measure(self, case, tool):
        words = [str(word) for word in (*self.command(tool), case)]
        entered = self.python.enter(words, self.folder)
        done = subprocess.run(entered, cwd=self.folder, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} failed on {case}: {done.stderr.decode().strip()}")
        return json.loads(next(line for line in done.stdout.splitlines() if line.startswith(b"{")))["ns"]


def main():
    options = rounds.parser(__doc__).parse_args()
    for python, folder in rounds.pythons(options, "mem_work.py"):
        bench = Bench(python, folder)
        tools = ["none", *TOGETHER, "cProfile", *(["memray"] if bench.peer else [])]
        for case in CASES:
            found = rounds.best(functools.partial(bench.measure, case), tools, options.rounds)
            times = (f"{tool} {found[tool] / found['none']:.2f}" for tool in tools[1:])
            print(f"{python!r:8} {case:6} {'; '.join(times)}", flush=True)
        if not bench.peer:
            print(f"{python!r:8} memray was not run: {bench.no_peer}")


if __name__ == "__main__":
    main()
