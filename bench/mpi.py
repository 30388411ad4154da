#!/usr/bin/env python3
"""What `--mpi` costs, in ns for each call of MPI: a ping-pong and an Allreduce of two ranks, one to nobody.

    bench/mpi.py [--pythons 3.12,3.13] [--rounds 5] [--calls 200000]

Each round runs the program plain, under `sonde record -r 10` and under the same with --mpi, and of all rounds
the best batch of 200 calls counts. A send to MPI_PROC_NULL does nothing in the library: what --mpi adds to it
is what counting costs. In a ping-pong a rank waits for what the other one's call costs, too. mpiP and IPM,
which count the same without Python's stacks, are not packaged; the figures stand alone.
"""

import json
import subprocess
import sys

import rounds
from rounds import interpreters

TOOLS = {"plain": None, "record": [], "record --mpi": ["--mpi"]}
WORKS = {"pingpong": "ping-pong", "allreduce": "Allreduce", "nobody": "to nobody"}


def command(tool, python, world, folder, calls):
    options = TOOLS[tool]
    ours = [interpreters.sonde_program(), "record", "--quiet", "-r", "10", "-o", folder / "run"]
    record = [] if options is None else [*ours, *options, "--"]
    return [*world.words(2), *record, python, folder / "mpi_work.py", calls]


def run(world, words, folder):
    done = world.run(words, folder, expect=None)
    if done.returncode:
        sys.exit(f"{words} failed: {done.stderr.strip()}")
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def lost(folder):
    """Single rows that were left out, of how many calls."""
    found = 0
    for path in sorted(folder.glob("run*/rank-*.sonde")):
        info = [interpreters.sonde_program(), "info", "--json", path]
        (file,) = json.loads(subprocess.run(info, capture_output=True, check=True).stdout)
        found += sum(note["count"] for note in file["notes"] if "left out" in note["text"])
    return found


def report(name, world, folder, options):
    best = {tool: {} for tool in TOOLS}
    for _ in range(options.rounds):
        for tool in TOOLS:
            for path in folder.glob("run*"):
                subprocess.run(["rm", "-rf", path], check=True)
            measured = run(world, command(tool, world.python, world, folder, options.calls), folder)
            for work, ns in measured.items():
                best[tool][work] = min(ns, best[tool].get(work, ns))
    print(f"\n{name}: ns for each call, best batch of {options.rounds} rounds of {options.calls} calls")
    print(f"{'':14}" + "".join(f"{tool:>14}" for tool in TOOLS) + f"{'--mpi adds':>14}")
    for work, title in WORKS.items():
        figures = [best[tool][work] for tool in TOOLS]
        print(f"{title:14}" + "".join(f"{ns:14.0f}" for ns in [*figures, figures[2] - figures[1]]))
    print(f"single rows left out in the last round: {lost(folder)}")


def main():
    parser = rounds.parser(__doc__, rounds=3)
    parser.add_argument("--calls", type=int, default=200000)
    options = parser.parse_args()
    import mpi_worlds

    for python, folder in rounds.pythons(options, "mpi_work.py"):
        if python.root:
            continue
        report(f"Open MPI, Python {python}", mpi_worlds.openmpi(python), folder, options)
        report(f"MPICH, Python {python}", mpi_worlds.mpich(python, folder), folder, options)


if __name__ == "__main__":
    main()
