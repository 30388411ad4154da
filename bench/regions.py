#!/usr/bin/env python3
"""What a region costs, in ns for begin and end together: sonde's beside PyOP2's timer, nvtx and VizTracer.

    bench/regions.py [--pythons 3.12,3.13] [--rounds 5]

Each round runs every tool once, one after the other, and of all rounds the best time counts. "off" is
SONDE_TIMERS=0; "timers" counts calls and times, as they always do; "recorded" is the same under
`sonde record` at 10 samples a second. PyOP2's package is not to be had from PyPI: its timer is written here
as it is described. nvtx has no tool that listens, so it shows what its annotation costs by itself;
VizTracer's log_event is timed while it traces, which costs the calls of the region, too. In C a zone of a
program that sonde did not start is the test of a pointer.
"""

import json
import subprocess
import sys

import rounds
from rounds import HERE, interpreters

PEERS = ["nvtx", "viztracer"]


class Bench:
    def __init__(self, python, folder):
        self.python, self.folder = python, folder
        self.peers = {name: python.peer_environment([name]) for name in PEERS}
        found = [name for name in PEERS if self.peers[name][0]]
        self.tools = ["off", "timers", "recorded", "pyop2", *found]
        self.record = [interpreters.sonde_program(), "record", "--quiet", "-r", "10"]
        self.record += ["-o", folder / "bench.sonde", "--"]

    def command(self, tool):
        work, package = self.folder / "region_work.py", interpreters.package_folder()
        if tool in PEERS:
            return [self.peers[tool][0], work, tool, package]
        ours = [self.python.executable, work, "pyop2" if tool == "pyop2" else "sonde", package]
        if tool == "off":
            return ["env", "SONDE_TIMERS=0", *ours]
        return [*self.record, *ours] if tool == "recorded" else ours

    def measure(self, tool):
        return run(self.python.enter(self.command(tool), self.folder), self.folder)


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{command} failed: {done.stderr.decode().strip()}")
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith(b"{")))["ns"]


def lost(folder):
    """Regions that were left out because the recorder could not keep up: they cost less."""
    info = [interpreters.sonde_program(), "info", "--json", folder / "bench.sonde"]
    (found,) = json.loads(subprocess.run(info, capture_output=True, check=True).stdout)
    return sum(note["count"] for note in found["notes"] if "left out" in note["text"])


def report_python(bench, number):
    found = rounds.best(bench.measure, bench.tools, number)
    words = ", ".join(f"{tool} {found[tool]:.0f}" for tool in bench.tools)
    left_out = lost(bench.folder)
    print(f"{bench.python!r:8} {words}" + (f" ({left_out} left out)" if left_out else ""), flush=True)
    for name, (peer, why) in bench.peers.items():
        if not peer:
            print(f"{bench.python!r:8} {name}: {why}")


def report_c(bench, number):
    program = bench.folder / "region_work"
    source = [HERE / "region_work.c", "-o", program, "-ldl"]
    subprocess.run(["gcc", "-O2", f"-I{HERE.parent / 'include'}", *source], check=True)
    commands = {"off": [program], "recorded": [*bench.record, program]}
    found = rounds.best(lambda tool: run(commands[tool], bench.folder), commands, number)
    print(f"{'C':8} off {found['off']:.2f}, recorded {found['recorded']:.0f} ({lost(bench.folder)} left out)")


def main():
    options = rounds.parser(__doc__).parse_args()
    print("ns for an empty region:")
    first = True
    for python, folder in rounds.pythons(options, "region_work.py"):
        bench = Bench(python, folder)
        if first:
            report_c(bench, options.rounds)
        report_python(bench, options.rounds)
        first = False


if __name__ == "__main__":
    main()
