"""What is made of regions: their times in the report, a part by --region, a summary of ranks."""

import csv
import io
import json
import os
import re
import shutil
import subprocess

import interpreters
import pytest

# `pack` only runs inside `assembly`; `spin` runs everywhere, and `other` outside of all.
PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
from sonde import timed_region
def spin(): other_work(.05)
def other_work(s):
    end = time.perf_counter() + s
    while time.perf_counter() < end: pass
def packed(): other_work(.04)
for turn in range(4):
    with timed_region("assembly"):
        spin()
        with timed_region("pack"): packed()
def solve(depth):
    with timed_region("solve"):
        spin()
        if depth: solve(depth - 1)
solve(2)
def other(): other_work(.15)
other()
"""


def recorded(launch, command):
    path = launch.folder / "out.sonde"
    script = launch.folder / "program.py"
    script.write_text(PROGRAM)
    words = [launch.sonde, *command.split(), "--quiet", "-o", path, "--"]
    done = launch.run([*words, launch.python.executable, script, interpreters.package_folder()])
    assert done.returncode == 0, done.stderr.decode()
    return path


def report(launch, path, *options):
    done = subprocess.run([launch.sonde, "report", *options, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def functions(launch, path, *options):
    return {row["name"]: row for row in json.loads(report(launch, path, *options, "--json"))["functions"]}


@pytest.mark.parametrize("command", ["record", "trace"])
def test_times(launch, command):
    path = recorded(launch, command)
    rows = {row["name"]: row for row in json.loads(report(launch, path, "--json"))["regions"]}
    assert {name: row["calls"] for name, row in rows.items()} == {"assembly": 4, "pack": 4, "solve": 3}
    assembly, pack, solve = rows["assembly"], rows["pack"], rows["solve"]
    assert assembly["self_ns"] + pack["total_ns"] == assembly["total_ns"], "pack is in nothing else"
    assert pack["self_ns"] == pack["total_ns"] >= 4 * 40e6 and pack["min_ns"] >= 40e6
    assert solve["self_ns"] == solve["total_ns"] == solve["max_ns"], "a region inside itself counts once"
    assert solve["min_ns"] < solve["max_ns"]
    text = report(launch, path, "--regions", "--csv")
    told = {row["region"]: row for row in csv.DictReader(io.StringIO(text))}
    assert {name: int(row["total_ns"]) for name, row in told.items()} == {
        name: row["total_ns"] for name, row in rows.items()
    }
    assert re.search(r"^ +4 .* pack$", report(launch, path, "--regions"), re.MULTILINE)


@pytest.mark.parametrize("command", ["record -r 500", "trace --timeline"])
def test_part(launch, command):
    path = recorded(launch, command)
    whole = functions(launch, path)
    part = functions(launch, path, "--region", "pack")
    assert "other" in whole and "spin" in whole
    assert 0 < part["packed"]["total_ns"] <= whole["packed"]["total_ns"] * (1 + 1e-6)
    if command.startswith("record"):  # of single calls some are lost where the recorder has no CPU
        assert part["packed"]["total_ns"] == whole["packed"]["total_ns"]
    assert "other" not in part and "spin" not in part and "solve" not in part
    graph = subprocess.run([launch.sonde, "graph", "--region", "pack", path], capture_output=True, text=True)
    assert "packed" in graph.stdout and "spin" not in graph.stdout
    stacks = ["export", "--format", "collapsed", "--region", "solve", path]
    text = subprocess.run([launch.sonde, *stacks], capture_output=True, text=True).stdout
    assert "solve" in text and "spin" in text and "packed" not in text and "other " not in text
    alone = path.with_name("alone.sonde")
    subprocess.run([launch.sonde, "export", "--region", "pack", "-o", alone, path], check=True)
    assert set(functions(launch, alone)) == set(part), "the part as a recording of its own"


def test_what_cannot_be_told(launch):
    path = recorded(launch, "trace")
    for options, words in [
        (["--region", "pack"], "trace --timeline"),
        (["--region", "pakc"], "report --regions"),
    ]:
        done = subprocess.run([launch.sonde, "report", *options, path], capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr


RANK = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from sonde import timed_region
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
for turn in range(rank + 1):
    with timed_region("uneven"): time.sleep(.1)
if rank == 1:
    with timed_region("one rank's"): pass
"""


@pytest.mark.parametrize("name", ["ranks.%r.sonde", "ranks.sonde"])
def test_ranks(name, modern_launch, tmp_path):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    sonde, python = modern_launch.sonde, modern_launch.python
    words = ["mpirun", *as_root, "--oversubscribe", "-n", "3"]
    words += [sonde, "trace", "--quiet", "-o", tmp_path / name, "--"]
    words += [python.executable, script, interpreters.package_folder()]
    done = modern_launch.run(words, environment={"SONDE_PRINT_SUMMARY": "1"}, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    own, all_ranks = done.stdout.decode().split("**** sonde timings summary, 3 of 3 ranks ****")
    assert "**** sonde timings summary ****" in own and re.search(r"uneven \| .* \| +1 \|", own)
    row = next(line for line in all_ranks.splitlines() if line.endswith("uneven"))
    assert row.split()[0] == "6" and re.search(r"\(0\) .*\(2\)", row), "the first took least, the last most"
    assert len(list(tmp_path.glob("ranks*.sonde*"))) == 3


def test_chrome_trace(modern_launch):
    path = recorded(modern_launch, "record")
    words = [modern_launch.sonde, "export", "--format", "chrome", path]
    events = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["traceEvents"]
    begins = {event["id"]: event for event in events if event["ph"] == "b"}
    ends = {event["id"]: event for event in events if event["ph"] == "e"}
    names = sorted(event["name"] for event in begins.values())
    assert names == ["assembly"] * 4 + ["pack"] * 4 + ["solve"] * 3
    assert begins.keys() == ends.keys()
    for number, begin in begins.items():
        length_us = ends[number]["ts"] - begin["ts"]
        assert length_us >= {"assembly": 60e3, "pack": 40e3, "solve": 20e3}[begin["name"]]
    assert {"rss", "cpu"} <= {event["name"] for event in events if event["ph"] == "C"}
