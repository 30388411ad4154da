#!/usr/bin/env python3
"""What following memory costs under sonde and memray: extra ns per block, on every Python found.

    bench/mem.py [--pythons 3.12,3.13] [--rounds 5]

A block is 2 KiB, made and freed two calls below a stack of the given depth (bench/mem_work.py); the clock is
the work's own. "kept" is the share of its speed that a program keeps under `sonde mem` as it is by default,
sampled. "memory" is by how much the process was larger; "file" the bytes per block that each event log takes.
"""

import json
import subprocess
import sys

import rounds
from rounds import interpreters

DEPTHS = {5: 0.15, 30: 0.15, 100: 0.3}  # the largest part of memray's extra time
NATIVE_RATIO = 0.4
PROGRAMS = ["json", "pickle", "words", "tree", "numpy"]
SMALLEST_SPEED = 0.97
BLOCKS = 50 * 2000  # of one run of mem_work.py


class Bench:
    def __init__(self, python, folder):
        self.python, self.folder, self.resident = python, folder, {}
        self.peer, self.no_peer = python.peer_environment(["memray"])
        self.numpy, _ = python.peer_environment(["numpy"])

    def command(self, tool, case):
        work = [self.folder / "mem_work.py", *case.split()]
        plain = self.numpy if case == "numpy" else self.python.executable
        ours, theirs = self.folder / "bench.sonde", self.folder / "bench.bin"
        mem = [interpreters.sonde_program(), "mem", "--quiet", "-o", ours]
        memray = [self.peer, "-m", "memray", "run", "-q", "-f", "-o", theirs]
        return {
            "none": [plain, *work],
            "sampled": [*mem, "--", plain, *work],
            "exact": [*mem, "--exact", "--", plain, *work],
            "native": [*mem, "--exact", "--native", "--no-finalize", "--", plain, *work],
            "python": [*mem, "--exact", "--python-allocators", "--", plain, *work],
            "log": [*mem, "--log", "--", plain, *work],
            "memray": [*memray, *work],
            "memray native": [*memray, "--native", *work],
            "memray python": [*memray, "--trace-python-allocators", *work],
        }[tool]

    def measure(self, tool, case):
        entered = self.python.enter([str(word) for word in self.command(tool, case)], self.folder)
        done = subprocess.run(entered, cwd=self.folder, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} failed on {case}: {done.stderr.decode().strip()}")
        found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith(b"{")))
        self.resident[tool] = found["resident"]
        return found["ns"]

    def best(self, tools, case, count):
        return rounds.best(lambda tool: self.measure(tool, case), tools, count)


def say_ratio(bench, case, name, ours, theirs, most):
    ratio = ours / theirs
    mark = f"  (at most {most})" + (" !" if ratio > most else "") if most else ""
    print(
        f"{bench.python!r:8} {case:10} {name:8} sonde {ours:+7.0f} ns  memray {theirs:+7.0f} ns"
        f"  ratio {ratio:5.2f}{mark}",
        flush=True,
    )


def report_blocks(bench, count):
    kinds = {"exact": "memray", "native": "memray native", "python": "memray python"}
    for depth, most in DEPTHS.items():
        case = f"depth {depth}"
        used = kinds if depth == 30 else {"exact": "memray"}
        found = bench.best(["none", *used, *used.values()], case, count)
        for name, peer in used.items():
            limit = {"exact": most, "native": NATIVE_RATIO}.get(name)
            say_ratio(bench, case, name, found[name] - found["none"], found[peer] - found["none"], limit)
    larger = {name: bench.resident[name] - bench.resident["none"] for name in ("exact", "memray")}
    print(f"{bench.python!r:8} memory     sonde {larger['exact']:+} KiB  memray {larger['memray']:+} KiB")


def report_file(bench):
    sizes = {}
    for tool, name in (("log", "bench.sonde"), ("memray", "bench.bin")):
        bench.measure(tool, "depth 30")
        sizes[tool] = (bench.folder / name).stat().st_size / BLOCKS
    each = "  ".join(f"{name} {size:.1f}" for name, size in sizes.items())
    print(f"{bench.python!r:8} file       bytes a block: {each}")


def report_programs(bench, count):
    for case in PROGRAMS:
        if case == "numpy" and not bench.numpy:
            continue
        found = bench.best(["none", "sampled"], case, count)
        kept = found["none"] / found["sampled"]
        mark = " !" if kept < SMALLEST_SPEED else ""
        print(f"{bench.python!r:8} {case:10} kept {kept:.3f}  (at least {SMALLEST_SPEED}){mark}", flush=True)


def main():
    options = rounds.parser(__doc__).parse_args()
    for python, folder in rounds.pythons(options, "mem_work.py"):
        bench = Bench(python, folder)
        if bench.peer:
            report_blocks(bench, options.rounds)
            report_file(bench)
        else:
            print(f"{python!r:8} not compared: {bench.no_peer}")
        report_programs(bench, options.rounds)


if __name__ == "__main__":
    main()
