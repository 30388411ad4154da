"""The formats of parallel profilers: what TAU wrote is read, and what sonde writes is read by Hatchet,
otf2-print and sonde itself, with the same numbers for each rank."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import interpreters
import peer_programs
import pytest
from conftest import read

DATA = pathlib.Path(__file__).parents[1] / "data" / "tau"
PROGRAMS = pathlib.Path(__file__).parent / "programs"
RANKS = 3
ROOT = ".TAU application"
ROW = re.compile(r'^"(.*)" (\S+) (\S+) (\S+) (\S+) 0 GROUP="(.*)" *$')

HATCHET = """
import json, sys, hatchet
frame = getattr(hatchet.GraphFrame, sys.argv[1])(sys.argv[2])
# Not node.path(): the reader of Caliper's files tells nodes their children, and not their parents.
paths, waiting = {}, [(root, []) for root in frame.graph.roots]
while waiting:
    node, above = waiting.pop()
    paths[id(node)] = path = [*above, node.frame["name"]]
    waiting += [(child, path) for child in node.children]
rows = []
for key, row in frame.dataframe.iterrows():
    key = key if isinstance(key, tuple) else (key,)
    path = paths[id(key[0])]
    place = dict(zip(frame.dataframe.index.names, key))
    count = row["Calls"] if "Calls" in row else row["count"]
    rows.append([path, place.get("rank", 0), place.get("thread", 0), row["time"], row["time (inc)"], count])
print(json.dumps(rows))
"""


def rows_of(path):
    """name → (calls, subroutines, exclusive, inclusive, groups), as TAU's file has them."""
    found = {}
    for line in path.read_text().splitlines():
        row = ROW.match(line)
        if row:
            found[row[1].strip()] = (*(float(value) for value in row.groups()[1:5]), row[6])
    return found


def paths_of(folder):
    """(path, rank, thread) → (calls, exclusive, inclusive) of all files in a folder."""
    found = collections.Counter()
    for file in folder.iterdir():
        rank, _, thread = (int(part) for part in file.name.split(".")[1:])
        for name, (calls, _, own, total, _) in rows_of(file).items():
            if " => " in name:
                found[tuple(name.split(" => ")), rank, thread] = (calls, own, total)
    return found


@pytest.fixture(scope="module")
def run(sonde, modern, tmp_path_factory):
    """A run of three ranks, each recorded with its timeline: the folder, its files."""
    folder = tmp_path_factory.mktemp("ranks")
    shutil.copy(PROGRAMS / "ranked.py", folder)
    for rank in range(RANKS):
        command = [sonde, "trace", "--quiet", "--timeline", "-o", folder / f"r{rank}.sonde", "--"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "SONDE_RANK": str(rank)}
        done = subprocess.run(
            [*command, modern.executable, "-I", "ranked.py"], cwd=folder, env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.fixture
def export(sonde, run, tmp_path):
    def export(output, *inputs, **options):
        inputs = inputs or sorted(run.glob("r?.sonde"))
        done = subprocess.run(
            [sonde, "export", "-o", tmp_path / output, *inputs], capture_output=True, text=True, **options
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / output

    return export


@pytest.fixture(scope="module")
def hatchet():
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = peer_programs.cache(f"hatchet-{version}")
    install = [sys.executable, "-m", "pip", "install", "--only-binary", ":all:", "--target", folder]
    with interpreters.installing():
        if not (folder / "hatchet").exists() and not interpreters.succeeds([*install, "llnl-hatchet"]):
            pytest.skip("Hatchet cannot be installed")

    def hatchet(reader, path):
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        command = [sys.executable, "-c", HATCHET, reader, path]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return hatchet


def test_hatchet_reads_tau(hatchet, run, export):
    folder = export("run.tau")
    assert sorted(file.name for file in folder.iterdir()) == [
        f"profile.{rank}.0.{thread}" for rank in range(RANKS) for thread in (0, 1)
    ]
    read_by_hatchet, sums = collections.Counter(), collections.Counter()
    for path, rank, thread, own, total, calls in hatchet("from_tau", folder):
        if len(path) > 1 and total == total:
            read_by_hatchet[tuple(path), rank, thread, calls, own, total] += 1
            sums[rank, "calls"] += calls
            sums[rank, "ns"] += round(own * 1000)
    for rank in range(RANKS):
        rows = read(run / f"r{rank}.sonde")["calls"]
        assert (sums[rank, "calls"], sums[rank, "ns"]) == (sum(rows["calls"]), sum(rows["self_ns"]))
    written = collections.Counter()
    for (path, rank, thread), values in paths_of(folder).items():
        names = tuple(re.sub(r" \[\{.*", "", name) for name in path)
        written[names, rank, thread, values[0], values[1], values[2]] += 1
    filled = {key for key in read_by_hatchet if key[3:] == (0, 0, 0)}  # ranks that a path is missing in
    assert {key: count for key, count in read_by_hatchet.items() if key not in filled} == dict(written)


def test_hatchet_reads_caliper(hatchet, export):
    tau = collections.Counter()
    for (path, rank, _), (calls, own, total) in paths_of(export("run.tau")).items():
        names = tuple(re.sub(r" \[\{.*", "", name) for name in path[1:])
        old = tau[names, rank] or (0, 0, 0)
        tau[names, rank] = (old[0] + calls, old[1] + own, old[2] + total)
    caliper = collections.Counter()
    for path, rank, _, own, total, calls in hatchet("from_caliper", export("run.cali.json")):
        names = tuple(re.sub(r" \(.*", "", name) for name in path)
        old = caliper[names, rank] or (0, 0, 0)
        if calls or total:
            caliper[names, rank] = (old[0] + calls, old[1] + own * 1e6, old[2] + total * 1e6)
    ours = ("<module>", "main", "descend", "descend", "spin")
    for rank in range(RANKS):
        assert caliper[ours, rank] == pytest.approx(tau[ours, rank], abs=1e-3)
        assert caliper[ours, rank][0] == 5 * (rank + 1)
    whole = sum(own for _, own, _ in tau.values())
    assert sum(own for _, own, _ in caliper.values()) == pytest.approx(whole)
    assert {rank for (path, rank) in caliper if path[-1] == "only_on_odd_ranks"} == {1}


@pytest.mark.parametrize("name", ["again.tau", "again.ppk"])
def test_what_was_written_reads_back(export, name):
    first = export("first.tau")
    again = export("second.tau", export(name))
    for file in first.iterdir():
        assert rows_of(again / file.name) == rows_of(file), file.name


def test_samples(sonde, modern_launch, export):
    loop = "def f():\n    for _ in range(4000000): pass\nf()\n"
    out = modern_launch.folder / "s.sonde"
    program = [modern_launch.python.executable, "-c", loop]
    command = [sonde, "record", "--quiet", "-r", "2000", "-o", out, "--", *program]
    assert modern_launch.run(command).returncode == 0
    rows = rows_of(export("s.tau", out) / "profile.0.0.0")
    calls, _, own, total, groups = rows["f [{<string>} {1}]"]
    assert calls == rows[f"{ROOT} => <module> [{{<string>}} {{1}}]"][0] > 20
    assert own == total > 0 and groups == "TAU_PYTHON"


def report(sonde, *arguments):
    done = subprocess.run([sonde, "report", "--json", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_tau_wrote(sonde, export):
    """Whole call paths give the same rows again, for each rank and thread."""
    again = export("real.tau", DATA / "paths")
    files = sorted((DATA / "paths").iterdir())
    assert [file.name for file in files] == sorted(file.name for file in again.iterdir())
    for file in files:
        plain = {re.sub(r" C (\[\{)", r" \1", name): values for name, values in rows_of(file).items()}
        plain = {
            re.sub(r"\{(\d+),\d+\}-\{\d+,\d+\}", r"{\1}", name): values for name, values in plain.items()
        }
        for name, values in rows_of(again / file.name).items():
            if name != ROOT and not name.startswith(f"{ROOT} => {ROOT}"):
                assert plain[name][:4] == pytest.approx(values[:4]), name


@pytest.mark.parametrize("folder", ["pairs", "multi"])
def test_what_tau_wrote_without_call_paths(export, folder):
    """Own times and calls of each function stay, for each thread, whatever is known of who called whom."""
    again = export("flat.tau", DATA / folder)
    files = DATA / folder / "MULTI__TIME" if folder == "multi" else DATA / folder
    for file in files.iterdir():
        rows = rows_of(again / file.name)
        for name, (calls, _, own, _, _) in rows_of(file).items():
            if " => " in name:
                continue
            name = re.sub(r"\{(\d+),\d+\}-\{\d+,\d+\}", r"{\1}", name).replace(" C [{", " [{")
            got = [values for row, values in rows.items() if row == name and row != ROOT]
            assert name == ROOT or [(values[0], values[2]) for values in got] == [(calls, own)], name


def test_one_file_of_tau(sonde):
    """Alone, a file without whole call paths is a flat profile with TAU's own inclusive times."""
    file = DATA / "pairs" / "profile.0.0.0"
    rows = {row["name"]: row for row in report(sonde, file)["functions"]}
    calls, _, own, total, _ = rows_of(file)["MPI_Sendrecv()"]
    row = rows["MPI_Sendrecv()"]
    assert (row["calls"], row["self_ns"], row["total_ns"]) == (calls, own * 1000, total * 1000)


@pytest.mark.parametrize("folder", ["paths", "multi"])
def test_page_of_a_folder_of_tau(sonde, tmp_path, folder):
    page = tmp_path / "x.html"
    subprocess.run(
        [sonde, "view", "--quiet", "-o", page, DATA / folder], check=True, stdin=subprocess.DEVNULL
    )
    assert page.read_text().count("<html") == 1


@pytest.mark.parametrize("damage", ["cut", "numbers", "metric", "empty"])
def test_bad_profiles(sonde, tmp_path, damage):
    text = (DATA / "paths" / "profile.0.0.0").read_text()
    bad = {
        "cut": text[: len(text) // 2].rsplit("\n", 1)[0] + "\n",
        "numbers": text.replace(" 1 0 ", " one 0 "),
        "metric": text.replace("_MULTI_TIME", "_MULTI_PAPI_FP_OPS"),
        "empty": "",
    }[damage]
    for rank in (0, 1):
        (tmp_path / f"profile.{rank}.0.0").write_text(bad if rank else text)
    done = subprocess.run([sonde, "report", tmp_path], capture_output=True, text=True)
    assert done.returncode == 2 and "profile.1.0.0" in done.stderr, done.stderr


def test_bad_packed(sonde, export, tmp_path):
    packed = export("whole.ppk").read_bytes()
    (tmp_path / "half.ppk").write_bytes(packed[: len(packed) // 2])
    done = subprocess.run([sonde, "report", tmp_path / "half.ppk"], capture_output=True, text=True)
    assert done.returncode == 2 and "half.ppk" in done.stderr


def test_folder_that_is_taken(sonde, run, tmp_path):
    (tmp_path / "theirs.txt").write_text("not ours")
    command = [sonde, "export", "-f", "tau", "-o", tmp_path, run / "r0.sonde"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "not empty" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["theirs.txt"]


@pytest.fixture
def otf2_print():
    """It comes with the library that sonde needs for this format."""
    if not shutil.which("otf2-print"):
        pytest.skip("otf2-print is not installed (Debian: otf2-tools)")
    return count_events


def count_events(archive):
    """(event, location) → how many there are, as otf2-print sees them."""
    printed = subprocess.run(["otf2-print", archive / "traces.otf2"], capture_output=True, text=True)
    assert printed.returncode == 0 and "warning" not in printed.stderr, printed.stderr
    words = [line.split()[:2] for line in printed.stdout.splitlines()]
    return collections.Counter(tuple(pair) for pair in words if len(pair) == 2 and pair[1].isdigit())


def test_otf2(otf2_print, run, export):
    counts = otf2_print(export("run.otf2"))
    expected = sorted(len(read(run / f"r{rank}.sonde")["call_events"]["node"]) for rank in range(RANKS))
    entered = [count for (event, _), count in sorted(counts.items()) if event == "ENTER"]
    left = [count for (event, _), count in sorted(counts.items()) if event == "LEAVE"]
    assert entered == left and len(entered) == 2 * RANKS
    assert sorted(entered[i] + entered[i + 1] for i in range(0, 2 * RANKS, 2)) == expected


MESSAGES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
room = bytearray(8)
for _ in range(4):
    pending = world.Irecv(room, source=1 - world.rank, tag=7)
    world.Send(bytes(8), dest=1 - world.rank, tag=7)
    pending.Wait()
    world.Barrier()
"""


def test_messages_in_otf2(otf2_print, sonde, export, tmp_path):
    launcher = shutil.which("mpirun.openmpi") or pytest.skip("no Open MPI")
    if not interpreters.succeeds(["/usr/bin/python3", "-c", "import mpi4py"]):
        pytest.skip("no mpi4py for /usr/bin/python3")
    (tmp_path / "messages.py").write_text(MESSAGES)
    head = [
        launcher,
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        "2",
        sonde,
        "trace",
        "--timeline",
        "--mpi",
    ]
    command = [*head, "--quiet", "-o", tmp_path / "mpi", "--", "/usr/bin/python3", tmp_path / "messages.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    counts = otf2_print(export("mpi.otf2", tmp_path / "mpi"))
    for rank in "01":
        events = ["MPI_SEND", "MPI_RECV", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END"]
        assert [counts[event, rank] for event in events] == [4, 4, 4, 4]
        assert counts["ENTER", rank] == counts["LEAVE", rank]
