#!/usr/bin/env python3
"""Records a busy program for long, and tells whether anything grows that should not.

    bench/soak.py [MINUTES] [WAY]

WAY is record (samples) or mem (every allocation); without it, one after the other, for MINUTES each.

Looked at every few seconds: the memory and the descriptors of sonde, of the program and of the sampler, and
the size of the file. The first fifth is for warming up; after that, memory may grow by a twentieth and 2 MiB,
descriptors not, but for threads that live just then; the file must not grow faster in the second half than in
the first. The last column is by how much memory grows in a minute, all but the first minute taken together.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))

import interpreters  # noqa: E402

MEMORY_SLACK_KIB = 2048
WAYS = {"record": (["record"], 3), "mem": (["mem", "--exact"], 2)}  # words, processes that are looked at
DESCRIPTORS_SLACK = 16  # the sampler has two for each thread that lives just now


def resident_kib(pid, kind):
    """RssAnon is a process's own; RssShmem are the rings, which the program and sonde share."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(text.split(kind + ":")[1].split()[0])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def family(sonde):
    """{name: process id} of sonde, the program and its sampler."""
    found = {"sonde": sonde}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[1]) == sonde:
            found["sampler" if name == "sonde-sampler" else "program"] = int(path.parent.name)
    return found


def look(pids, file):
    """One row: {what: number}. The sampler's memory is the program's."""
    row = {"seconds": time.monotonic(), "file KiB": file.stat().st_size / 1024}
    for name, pid in pids.items():
        if name != "sampler":
            row[f"{name} KiB"] = resident_kib(pid, "RssAnon")
            row[f"{name} shared KiB"] = resident_kib(pid, "RssShmem")
        row[f"{name} descriptors"] = descriptors(pid)
    return row


def watch(process, folder, seconds, processes):
    rows, pids = [], {}
    interval = max(1.0, seconds / 300)
    while process.poll() is None:
        time.sleep(interval)
        try:
            if len(pids) < processes:
                pids = family(process.pid)
                continue
            rows.append(look(pids, folder / "soak.sonde"))
        except (OSError, IndexError):
            continue  # it has just ended
    return rows


def growth(rows, what):
    """The middle value of the second fifth and of the last."""
    fifth = len(rows) // 5
    early = statistics.median(row[what] for row in rows[fifth : 2 * fifth])
    return early, statistics.median(row[what] for row in rows[-fifth:])


def file_rates(rows):
    """KiB a second, in the first and the second half."""
    begin, middle, end = rows[len(rows) // 5], rows[len(rows) * 3 // 5], rows[-1]
    return [
        (late["file KiB"] - early["file KiB"]) / (late["seconds"] - early["seconds"])
        for early, late in ((begin, middle), (middle, end))
    ]


def slope(rows, what):
    """What is added in a minute, by the line that fits best; None when there is too little to tell."""
    late = [row for row in rows if row["seconds"] > rows[0]["seconds"] + 60]
    if len(late) < 15:
        return None
    minutes = [row["seconds"] / 60 for row in late]
    values = [row[what] for row in late]
    middle, mean = statistics.mean(minutes), statistics.mean(values)
    spread = sum((minute - middle) ** 2 for minute in minutes)
    return sum((minute - middle) * (value - mean) for minute, value in zip(minutes, values)) / spread


def judge(rows):
    """Prints the table; how many rows of it are wrong."""
    wrong = 0
    print(f"{'':24}{'early':>10}{'late':>10}{'a minute':>10}")
    for what in rows[0]:
        if what == "seconds":
            continue
        if what == "file KiB":
            early, late = file_rates(rows)
            grown, name = late > 1.25 * early + 1, "file KiB a second"
        else:
            early, late = growth(rows, what)
            slack = early * 0.05 + MEMORY_SLACK_KIB if what.endswith("KiB") else DESCRIPTORS_SLACK
            grown, name = late > early + slack, what
        wrong += grown
        added = slope(rows, what) if what.endswith("KiB") and what != "file KiB" else None
        told = "" if added is None else f"{added:+.1f}"
        print(f"{name:24}{early:>10.1f}{late:>10.1f}{told:>10}{'  grows!' if grown else ''}")
    return wrong


def soak(way, minutes, python):
    """How many things grow."""
    words, processes = WAYS[way]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record = [interpreters.sonde_program(), *words, "-o", folder / "soak.sonde", "--"]
        command = [*record, python.executable, "-W", "ignore", HERE / "soaked.py", str(minutes * 60)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        rows = watch(process, folder, minutes * 60, processes)
        out, err = process.communicate()
    turns = out.decode().strip()
    print(f"{' '.join(words)}: Python {python!r}, {minutes:g} minutes, {turns} turns, {len(rows)} looks")
    print(err.decode().strip())
    if process.returncode or len(rows) < 15:
        sys.exit(f"the run failed: exit code {process.returncode}, {len(rows)} looks")
    return judge(rows)


def main():
    minutes = float(sys.argv[1]) if sys.argv[1:] else 30
    usable, _ = interpreters.find()
    local = [one for one in usable if not one.free_threaded and not one.root]
    if not interpreters.sonde_program() or not local:
        sys.exit("sonde is not built, or no Python was found: run make")
    wrong = sum(soak(way, minutes, local[-1]) for way in sys.argv[2:] or WAYS)
    print(f"soak: {'nothing grows' if not wrong else f'{wrong} grow'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
