"""Runs of many ranks without a cluster: merging them, alone and together, looking at the result, packing.

bench/scale.py [--ranks 64,256,1024,4096] [--paths 5000] [--processes 1,2,4] [--rounds 3]

The rank files come from tests/e2e/native/make_ranks.c. Each figure is the best of the rounds; memory is the
largest that any process of the command had resident. With --check the exit status tells whether every merge
was the same to the byte, and memory and time per rank stayed flat.
"""

import argparse
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parents[1] / "build"
SONDE = pathlib.Path(os.environ.get("SONDE") or BUILD / "python/sonde/_bin/sonde")
MAKE_RANKS = BUILD / "tests/e2e/native/make_ranks"
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
LAUNCHERS = {
    "Open MPI": ["mpirun.openmpi", *AS_ROOT, "--oversubscribe"],
    "MPICH": ["mpirun.mpich"],
}


def measure(command):
    """Seconds and MiB of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    words = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{words}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def best(command, rounds):
    runs = [measure(command) for _ in range(rounds)]
    return min(seconds for seconds, _ in runs), max(mebibytes for _, mebibytes in runs)


def part_of(run, count, folder):
    """The first ranks of the run, without copying them."""
    part = folder / f"run.{count}"
    part.mkdir()
    for path in sorted(run.iterdir())[:count]:
        os.link(path, part / path.name)
    return part


def merge_sizes(parts, folder, rounds):
    print(f"{'ranks':>8}{'seconds':>10}{'ms per rank':>13}{'MiB resident':>14}{'MB of result':>14}")
    rows = []
    for count, part in parts.items():
        output = folder / f"{count}.sonde"
        seconds, mebibytes = best([SONDE, "merge", "--quiet", "--alone", part, "-o", output], rounds)
        rows.append((seconds / count, mebibytes))
        size = output.stat().st_size / 1e6
        print(f"{count:8}{seconds:10.2f}{1e3 * seconds / count:13.2f}{mebibytes:14.1f}{size:14.1f}")
    return rows


def merge_together(part, result, alone, folder, processes, rounds):
    """Whether all results were the same. `alone` is how long one process takes without MPI."""
    print(f"\n{'':10}{'processes':>10}{'seconds':>10}{'of alone':>10}{'MiB each':>10}   the same file")
    same = True
    for name, words in LAUNCHERS.items():
        if not shutil.which(words[0]):
            print(f"{name:10}{'not installed':>20}")
            continue
        for count in processes:
            output = folder / "together.sonde"
            command = [*words, "-n", count, SONDE, "merge", "--quiet", part, "-o", output]
            seconds, mebibytes = best(command, rounds)
            equal = filecmp.cmp(output, result, shallow=False)
            same = same and equal
            print(
                f"{name:10}{count:10}{seconds:10.2f}{seconds / alone:10.2f}{mebibytes:10.1f}   "
                f"{'yes' if equal else 'NO'}"
            )
    return same


def look(result, totals, folder):
    print(f"\n{'looking at it':34}{'seconds':>10}{'MiB':>10}")
    for title, words in {
        "sonde report": ["report", result],
        "sonde view -o (one HTML file)": ["view", result, "-o", folder / "page.html"],
        "sonde merge --totals": ["merge", "--quiet", "--alone", "--totals", result, "-o", totals],
    }.items():
        seconds, mebibytes = measure([SONDE, *words])
        print(f"{title:34}{seconds:10.2f}{mebibytes:10.1f}")


def carry(part, folder):
    """Whether the files came back as they were."""
    names = [path.name for path in part.iterdir()]
    size = sum((part / name).stat().st_size for name in names)
    pack, archive = folder / "run.sondepack", folder / "run.tar.zst"
    commands = {"sonde pack": ([SONDE, "pack", part, "-o", pack], pack)}
    if shutil.which("zstd"):
        line = f"tar c -C '{part.parent}' '{part.name}' | zstd -q -f --long=27 -o '{archive}'"
        commands["tar | zstd --long"] = (["sh", "-c", line], archive)
    print(f"\n{'carrying it home':34}{'seconds':>10}{'MB':>10}   of {size / 1e6:.1f} MB")
    for title, (command, output) in commands.items():
        seconds, _ = measure(command)
        packed = output.stat().st_size
        print(f"{title:34}{seconds:10.2f}{packed / 1e6:10.1f}{packed / size:11.1%}")
    seconds, _ = measure([SONDE, "unpack", pack, "-o", folder / "unpacked"])
    _, differing, missing = filecmp.cmpfiles(part, folder / "unpacked", names, shallow=False)
    same = not differing and not missing
    print(f"{'sonde unpack':34}{seconds:10.2f}   {'the same files' if same else 'OTHER FILES'}")
    return same


def numbers(text):
    return [int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=numbers, default=[64, 256, 1024, 4096])
    parser.add_argument("--processes", type=numbers, default=[1, 2, 4])
    parser.add_argument("--paths", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-scale-") as name:
        folder = pathlib.Path(name)
        run = folder / "run"
        run.mkdir()
        print(f"{max(options.ranks)} ranks of {options.paths} call paths each, on {os.cpu_count()} cores")
        subprocess.run([MAKE_RANKS, run, str(max(options.ranks)), str(options.paths)], check=True)
        parts = {count: part_of(run, count, folder) for count in options.ranks}
        rows = merge_sizes(parts, folder, options.rounds)
        largest = max(options.ranks)
        result = folder / f"{largest}.sonde"
        alone = rows[-1][0] * largest
        same = merge_together(parts[largest], result, alone, folder, options.processes, options.rounds)
        look(result, folder / "totals.sonde", folder)
        same = carry(parts[largest], folder) and same
    if options.check and not same:
        sys.exit("results differ")
    if options.check and (rows[-1][0] > 2 * rows[0][0] or rows[-1][1] > 4 * rows[0][1]):
        sys.exit("time per rank or memory grows with the number of ranks")


if __name__ == "__main__":
    main()
