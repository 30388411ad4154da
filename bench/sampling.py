#!/usr/bin/env python3
"""What sampling costs: the speed that a program keeps under sonde, py-spy and CPython's own sampler (3.15).

    bench/sampling.py [--pythons 3.12,3.13] [--depths 5,100] [--rounds 5] [--tools sonde,py-spy]

Each round runs every tool once, one after the other; of all rounds the best slice counts (bench/sampled.py).
Everything is done twice: free to use all cores, and pinned to one, as MPI ranks are. The sampler's own CPU is
what all processes but the program used, in per cent of the run.
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import rounds
from rounds import interpreters

SECONDS = 1.5  # of work in each run
ATTACH_SECONDS = 1  # after which a tool is there
# The least share of its speed that the program is to keep.
TARGETS = {"sonde 1 kHz": 0.97, "sonde --native 1 kHz": 0.95, "sonde -p 100 Hz": 0.99}


class Bench:
    def __init__(self, python, folder, py_spy, realtime):
        self.python, self.folder, self.py_spy, self.realtime = python, folder, py_spy, realtime
        self.script = folder / "sampled.py"

    def commands(self, depth):
        """{tool: (command line, attached)}: it runs the work, or takes the process id of work that runs."""
        work = [self.python.executable, self.script, depth, SECONDS]
        record = [interpreters.sonde_program(), "record", "-o", self.folder / "bench.sonde"]
        spy = [self.py_spy, "record", "-o", self.folder / "bench.raw", "-f", "raw", "-d", "3600"]
        found = {"none": (work, False)}
        for name, rate in (("1 kHz", 1000), ("10 kHz", 10000)):
            found[f"sonde {name}"] = ([*record, "-r", rate, "--", *work], False)
        native = [*record, "--native", "--no-finalize", "-r", 1000]
        found["sonde --native 1 kHz"] = ([*native, "--", *work], False)
        for name, rate in (("100 Hz", 100), ("1 kHz", 1000)):
            found[f"sonde -p {name}"] = ([*record, "-r", rate, "-p"], True)
        if self.py_spy:
            for name, more in (("", []), (" --nonblocking", ["--nonblocking"]), (" --native", ["--native"])):
                found[f"py-spy{name} 1 kHz"] = ([*spy, "-r", 1000, *more, "--", *work], False)
        if self.python.numbers >= (3, 15):
            own = ["-m", "profiling.sampling", "run", "-r", "1000", "-o", self.folder / "bench.own"]
            found["profiling.sampling 1 kHz"] = ([work[0], *own, *work[1:]], False)
        return found

    def measure(self, command, attached, depth, pinned):
        """One run: the work's own line, and the CPU that the rest of it used; None when the tool failed."""
        def prepare():
            if pinned:
                os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            elif self.realtime:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        options = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.folder,
            "preexec_fn": prepare,
        }
        work = [self.python.executable, self.script, depth, SECONDS, "wait"]
        entered = self.python.enter([str(word) for word in (work if attached else command)], self.folder)
        before, start = os.times(), time.monotonic()
        with subprocess.Popen(entered, **options) as process:
            tool = None
            if attached:
                process.stdout.readline()
                words = self.python.enter([*map(str, command), str(process.pid)], self.folder)
                tool = subprocess.Popen(words, **options)
                time.sleep(ATTACH_SECONDS)
            out, err = process.communicate(b"\n")
            if tool:
                err = tool.communicate()[1]
        line = next((line for line in out.decode().splitlines() if line.startswith('{"best"')), None)
        if process.returncode or not line or (tool and tool.returncode):
            return None
        return {**json.loads(line), "own": self.own_cpu(before, err, json.loads(line)["cpu"], start)}

    def own_cpu(self, before, err, of_work, start):
        """sonde's sampler is no child that anybody waits for: its part is in what sonde says."""
        elapsed, after = time.monotonic() - start, os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        said = re.search(rb"sampler ([0-9.]+)%", err)
        return max(0, used - of_work) / elapsed + (float(said[1]) / 100 if said else 0)


@functools.cache
def find_py_spy():
    """One program for every Python. None = it is not to be had."""
    cached = interpreters.cache() / "py-spy"
    install = [sys.executable, "-m", "pip", "install", "--ignore-installed", "--prefix", cached, "py-spy"]
    program = cached / "bin" / "py-spy"
    return program if program.exists() or interpreters.succeeds(install) else None


def copy_py_spy(folder):
    """Into the folder, which a chroot sees too."""
    return pathlib.Path(shutil.copy(find_py_spy(), folder)) if find_py_spy() else None


def better(old, new):
    if not old or not new:
        return old or new
    return {key: min(old[key], new[key]) for key in old}


def compare(bench, depth, count, chosen, pinned):
    """{tool: its best, None where it failed}."""
    commands = {
        name: command
        for name, command in bench.commands(depth).items()
        if name == "none" or any(word in name for word in chosen)
    }
    found = dict.fromkeys(commands)
    for _ in range(count):
        for name, (command, attached) in commands.items():
            found[name] = better(found[name], bench.measure(command, attached, depth, pinned))
    return found


def print_rows(title, found):
    base = found.pop("none")
    print(f"\n{title}: {base['best'] * 1000:.2f} ms for a slice")
    print(f"{'':28}{'keeps':>8}{'middle':>8}{'own CPU':>9}")
    for name, result in found.items():
        if not result:
            print(f"{name:28}{'-':>8}{'':8}{'':9}  not here, or it failed")
            continue
        kept, target = base["best"] / result["best"], TARGETS.get(name)
        mark = f"  >={target:g}" + ("" if kept >= target else " !") if target else ""
        middle = base["middle"] / result["middle"]
        print(f"{name:28}{kept:8.3f}{middle:8.3f}{result['own'] * 100:8.1f}%{mark}", flush=True)


def parse():
    parser = rounds.parser("The speed that a program keeps while it is sampled.")
    parser.add_argument("--depths", default="5,100", help="of the recursion; default %(default)s")
    parser.add_argument("--tools", default="sonde,py-spy,profiling", help="words in their names; default all")
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="on a busy machine, as root: run before everything else; for the runs on all cores only",
    )
    parser.add_argument("--free", action="store_true", help="leave out the runs pinned to one core")
    return parser.parse_args()


def main():
    options = parse()
    print(f"Speed kept under a sampler (best of {options.rounds} rounds; ! = below the target).")
    for python, folder in rounds.pythons(options, "sampled.py"):
        bench = Bench(python, folder, copy_py_spy(folder), options.realtime)
        for depth in options.depths.split(","):
            for pinned in (False,) if options.free else (False, True):
                title = f"Python {python!r}, depth {depth}" + (", one core" if pinned else "")
                found = compare(bench, depth, options.rounds, options.tools.split(","), pinned)
                print_rows(title, found)


if __name__ == "__main__":
    main()
