"""Adding up .prof files: `sonde merge` beside pstats.Stats.add, on the same files, one after the other.

bench/bench_merge.py [--files 1000] [--functions 300] [--large 3000] [--rounds 3]
"""

import argparse
import marshal
import os
import pathlib
import pstats
import random
import resource
import subprocess
import sys
import tempfile
import time

SONDE = (
    os.environ.get("SONDE") or pathlib.Path(__file__).resolve().parents[1] / "build/python/sonde/_bin/sonde"
)


def label(number):
    return (
        f"/usr/lib/python3/site-packages/package_{number % 40}/module_{number % 97}.py",
        number,
        f"work_{number}",
    )


def make_profile(path, functions, seed):
    """A profile as a program of that many functions leaves it: each called from up to four others. Ranks run
    the same program, so only the numbers depend on the seed."""
    program, chance = random.Random(0), random.Random(seed)
    labels = [label(number) for number in range(functions)]
    stats = {}
    for function in labels:
        callers = {
            program.choice(labels): (chance.randrange(1, 900), 1, chance.random(), chance.random())
            for _ in range(program.randrange(5))
        }
        calls = sum(numbers[0] for numbers in callers.values()) or 1
        stats[function] = (calls, calls, chance.random(), chance.random(), callers)
    path.write_bytes(marshal.dumps(stats))


def add_in_python(paths, output):
    stats = pstats.Stats(str(paths[0]))
    for path in paths[1:]:
        stats.add(str(path))
    stats.dump_stats(output)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command):
    """Wall and CPU seconds of one run."""
    start, used = time.perf_counter(), cpu_seconds()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start, cpu_seconds() - used


def compare(title, paths, folder, rounds):
    """Every tool once in a round, so that what disturbs the machine disturbs all alike; the best counts."""
    files = [str(path) for path in paths]
    commands = {
        "sonde merge": [SONDE, "merge", *files, "-o", folder / "ours.prof"],
        "sonde merge into .sonde": [SONDE, "merge", *files, "-o", folder / "ours.sonde"],
        "pstats.Stats.add": [sys.executable, __file__, "--python", folder / "theirs.prof", *files],
    }
    runs = [{tool: measure(command) for tool, command in commands.items()} for _ in range(rounds)]
    best = {tool: [min(run[tool][i] for run in runs) for i in (0, 1)] for tool in commands}
    print(f"\n{title:32} {'wall ms':>10} {'CPU ms':>10} {'ratio of CPU':>14}")
    for tool, (wall, cpu) in best.items():
        ratio = cpu / best["pstats.Stats.add"][1]
        print(f"{tool:32} {wall * 1e3:10.1f} {cpu * 1e3:10.1f} {ratio:14.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--large", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        parts = [folder / f"cpu_{rank}.prof" for rank in range(options.files)]
        for rank, path in enumerate(parts):
            make_profile(path, options.functions, rank)
        compare(f"{options.files} files of {options.functions} functions", parts, folder, options.rounds)
        large = folder / "large.prof"
        make_profile(large, options.large, 0)
        compare(f"1 file of {options.large} functions", [large], folder, options.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--python"]:
        add_in_python(sys.argv[3:], sys.argv[2])
    else:
        main()
