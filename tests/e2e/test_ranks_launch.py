"""Ranks under real launchers: one run folder, the right rank in each file, whole after a violent end."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import interpreters
import pytest
from conftest import read

import mpi

COUNTED = """
import os, sys
def work():
    pass
rank = next(int(os.environ[name]) for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if name in os.environ)
for turn in range(rank + 1):
    work()
with open("/proc/self/maps") as maps:
    print("rank", rank, "has agent" if "libsonde_agent" in maps.read() else "is alone", flush=True)
"""
# Rank 1 ends the run when all have worked, by its own means, or somebody else does. The last calls are made
# when the first ones have long been written, so that only a recorder that closes its file has them.
ENDED = """
import glob, os, sys, time
def work():
    pass
how = sys.argv[1]
if how == "abort":
    from mpi4py import MPI
rank = next(int(os.environ[name]) for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if name in os.environ)
work()
time.sleep(1)
for turn in range(999):
    work()
open(f"ready.{rank}", "w").close()
while len(glob.glob("ready.*")) < 3:
    time.sleep(0.01)
if rank == 1 and how == "abort":
    MPI.COMM_WORLD.Abort(3)
if rank == 1 and how == "segfault":
    import ctypes
    ctypes.string_at(0)
time.sleep(60)
"""


def environment(launch):
    return {**launch.environment, "PATH": f"{launch.environment['PATH']}:{os.environ['PATH']}"}


def start(launch, words):
    return subprocess.Popen(
        words,
        cwd=launch.folder,
        env=environment(launch),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def launched(launch, words):
    with start(launch, words) as process:
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output


def the_folder(launch):
    folders = [path for path in launch.folder.iterdir() if (path / "run.json").exists()]
    assert len(folders) == 1, folders
    return folders[0]


def calls_of(data, name):
    """How often functions of that name were called; data: a recording's columns."""
    wanted = {code for code, text in enumerate(data["codes"]["name"]) if data["strings"][text] == name}
    codes = data["nodes"]["code"]
    return sum(
        calls for calls, node in zip(data["calls"]["calls"], data["calls"]["node"]) if codes[node] in wanted
    )


@pytest.mark.parametrize("ranks", [1, 2, 8])
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_one_folder_for_each_run(name, ranks, modern_launch):
    script = modern_launch.write("sim.py", COUNTED)
    python = modern_launch.python.executable
    code, output = launched(
        modern_launch, [*mpi.launcher(name, ranks), modern_launch.sonde, "trace", "--", python, script]
    )
    assert code == 0, output
    assert output.count("has agent") == ranks
    if ranks == 1:
        (path,) = modern_launch.folder.glob("sim.*.sonde")
        assert set(read(path)["processes"]["rank"][1:]) == {2**32 - 1}
        return
    folder = the_folder(modern_launch)
    assert re.fullmatch(r"sim\.\d{8}-\d{6}-\d+", folder.name)
    assert sorted(path.name for path in folder.glob("*.sonde")) == [f"rank-{i}.sonde" for i in range(ranks)]
    assert output.count("sonde: ") == 1, "only the first rank speaks"
    assert f"sonde report {folder.name})" in output
    for rank in range(ranks):
        recording = read(folder / f"rank-{rank}.sonde")
        assert list(recording["processes"]["rank"][1:]) == [rank]
        assert calls_of(recording, "work") == rank + 1
        info = recording["meta"]
        assert (info["rank"], info["ranks"], info["local_rank"]) == (str(rank), str(ranks), str(rank))
        assert info["run_id"] == folder.name[4:]
        assert info["rank_from"] == {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[name]


def test_shells_between_launcher_and_program(modern_launch):
    """Each rank has a shell of its own as its parent; the run is that of the launcher above them."""
    script = modern_launch.write("sim.py", COUNTED)
    line = f"{modern_launch.sonde} trace -- {modern_launch.python.executable} {script}; true"
    code, output = launched(modern_launch, [*mpi.launcher("mpich", 3), "sh", "-c", line])
    assert code == 0 and len(list(the_folder(modern_launch).glob("*.sonde"))) == 3, output


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_run_that_may_be_on_several_hosts(name, modern_launch):
    """What the launcher tells all ranks names the run: they agree, and the next run has another name."""
    hidden = ["env", "-u", "OMPI_COMM_WORLD_LOCAL_SIZE", "-u", "MPI_LOCALNRANKS"]
    runs = []
    for _ in range(2):
        words = [*mpi.launcher(name, 3), *hidden, modern_launch.sonde, "env", "--json"]
        code, output = launched(modern_launch, words)
        assert code == 0
        facts = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        assert sorted(fact["rank"] for fact in facts) == [0, 1, 2]
        (run,) = {fact["run_id"] for fact in facts}
        assert re.fullmatch(name + "-[0-9a-f]{8}", run)
        runs.append(run)
    assert runs[0] != runs[1]


def test_two_runs_at_once(modern_launch):
    """Two jobs that start together in one folder, with the same name for their output."""
    script = modern_launch.write("sim.py", COUNTED)
    words = [modern_launch.sonde, "trace", "-o", "out", "--", modern_launch.python.executable, script]
    jobs = [start(modern_launch, [*mpi.launcher(name, 4), *words]) for name in ("openmpi", "mpich")]
    assert all(job.wait(60) == 0 for job in jobs), [job.stdout.read() for job in jobs]
    for job in jobs:
        job.stdout.close()
    for name in ("out", "out-2"):
        found = [read(path)["meta"] for path in sorted((modern_launch.folder / name).glob("rank-*"))]
        assert [meta["rank"] for meta in found] == ["0", "1", "2", "3"]
        assert len({meta["run_id"] for meta in found}) == 1


def test_some_ranks(modern_launch):
    script = modern_launch.write("sim.py", COUNTED)
    python = modern_launch.python.executable
    words = [modern_launch.sonde, "trace", "--ranks", "0,2-3", "--", python, script]
    code, output = launched(modern_launch, [*mpi.launcher("openmpi", 4), *words])
    assert code == 0, output
    assert {f"rank {i} has agent" for i in (0, 2, 3)} | {"rank 1 is alone"} <= set(output.splitlines())
    names = sorted(path.name for path in the_folder(modern_launch).glob("*.sonde"))
    assert names == ["rank-0.sonde", "rank-2.sonde", "rank-3.sonde"]
    assert "3 of 4 ranks" in output
    words[3] = "7-9"
    code, output = launched(modern_launch, [*mpi.launcher("openmpi", 4), *words])
    assert (code, output.count("none of the 4 ranks is in --ranks 7-9")) == (0, 1), output
    done = modern_launch.run([modern_launch.sonde, "trace", "--ranks", "3-1", script])
    assert done.returncode == 2 and b"--ranks" in done.stderr


def ready(launch, ranks, process):
    """All ranks have worked, and what they did was written (a first time after 0.1 s)."""
    for _ in range(600):
        if len(list(launch.folder.glob("ready.*"))) == ranks:
            return
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.1)
    raise AssertionError("the ranks did not come up")


def wait_until_whole(path):
    deadline = time.monotonic() + 30
    while not read(path)["damage"]["complete"]:
        assert time.monotonic() < deadline, f"{path} was not closed"
        time.sleep(0.05)


def wait_until_written(folder, ranks):
    """The calls are in the files, by a checkpoint: the next one comes after ten seconds at most."""
    deadline = time.monotonic() + 30
    paths = [folder / f"rank-{rank}.sonde" for rank in range(ranks)]
    while any(calls_of(read(path), "work") < 1000 for path in paths):
        assert time.monotonic() < deadline, "no checkpoint"
        time.sleep(0.2)


def kill_all(process):
    """What a batch system does in the end: every process of the job, the recorders included."""
    done = subprocess.run(["pgrep", "-s", str(process.pid)], capture_output=True, text=True)
    for pid in {process.pid, *map(int, done.stdout.split())}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


ENDS = [
    "openmpi-abort",
    "openmpi-segfault",
    "openmpi-terminate",
    "openmpi-kill",
    "mpich-segfault",
    "mpich-terminate",
]


@pytest.mark.parametrize("case", ENDS)
def test_violent_ends(case, modern_launch):
    name, how = case.split("-")
    if how == "abort":
        mpi.need_mpi4py()
    ranks = 3
    python = mpi.PYTHON if how == "abort" else modern_launch.python.executable
    script = modern_launch.write("ended.py", ENDED)
    words = [modern_launch.sonde, "trace", "--", python, script, how]
    with start(modern_launch, [*mpi.launcher(name, ranks), *words]) as process:
        ready(modern_launch, ranks, process)
        if how == "terminate":
            process.terminate()
        if how == "kill":
            wait_until_written(the_folder(modern_launch), ranks)
            kill_all(process)
        output, _ = process.communicate(timeout=60)
    assert process.returncode != 0, output
    folder = the_folder(modern_launch)
    for rank in range(ranks):
        path = folder / f"rank-{rank}.sonde"
        if how != "kill":  # then nobody was left to close it
            wait_until_whole(path)  # recorders outlive the launcher by what closing a file takes
        assert calls_of(read(path), "work") == 1000, f"rank {rank}: {output}"
    done = modern_launch.run([modern_launch.sonde, "report", folder])
    assert done.returncode == 0 and b"3" in done.stdout


def test_mpi_knows_better(modern_launch):
    """A launcher that calls all ranks 0: MPI's word counts, in the recordings and in their names."""
    mpi.need_mpi4py()
    script = modern_launch.write("true.py", "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    wrong = ["env", "SONDE_RANK=0", "SONDE_SIZE=3", "SONDE_RUN_ID=wrong"]
    words = [*wrong, modern_launch.sonde, "trace", "--mpi", "--", mpi.PYTHON, script]
    code, output = launched(modern_launch, [*mpi.launcher("openmpi", 3), *words])
    assert code == 0, output
    found = {}
    for path in the_folder(modern_launch).glob("rank-*"):
        data = read(path)
        (rank,) = data["processes"]["rank"][1:]
        found[rank] = path.name
        assert data["meta"]["rank"] == str(rank) and data["meta"]["rank_from"] == "MPI_COMM_WORLD"
        notes = [data["strings"][text] for text in data["notes"]["text"]]
        assert any("MPI says" in note for note in notes) == (rank != 0)
    assert sorted(found) == [0, 1, 2]
    # The first rank may have had to add its process, as long as others sat on its name.
    assert found[0].startswith("rank-0.sonde") and (found[1], found[2]) == ("rank-1.sonde", "rank-2.sonde")


@pytest.mark.parametrize("name", ["halo", "imbalance", "master_worker"])
def test_examples(name, modern_launch):
    mpi.need_mpi4py()
    script = interpreters.REPOSITORY / "examples" / "cluster" / f"{name}.py"
    small = {"halo": ["--steps", "5"], "imbalance": ["--bundles", "2", "--wavelengths", "5"]}
    words = [
        modern_launch.sonde,
        "trace",
        "--mpi",
        "--",
        mpi.PYTHON,
        script,
        *small.get(name, ["--tasks", "6"]),
    ]
    code, output = launched(modern_launch, [*mpi.launcher("openmpi", 3), *words])
    said = {
        "halo": "3 ranks, heat",
        "imbalance": "2 of 3 ranks had work",
        "master_worker": "6 tasks done by 2",
    }
    assert code == 0 and said[name] in output, output
    report = modern_launch.run([modern_launch.sonde, "report", the_folder(modern_launch)])
    assert report.returncode == 0 and b"3 ranks" in report.stdout


HANGING = """
import sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
def late():
    time.sleep(60)
def meet():
    open(f"ready.{comm.rank}", "w").close()
    while not comm.Iprobe():
        time.sleep(0.02)
def step():
    if comm.rank == 5:
        open(f"ready.{comm.rank}", "w").close()
        late()
    meet()
step()
"""


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "plain"])
def test_dump_of_a_job_that_hangs(recorded, modern_launch):
    """Eight ranks, one of them missing from where the others meet."""
    mpi.need_mpi4py()
    script = modern_launch.write("hangs.py", HANGING)
    words = [modern_launch.sonde, "record", "-r", "50", "--"] if recorded else []
    dump = [modern_launch.sonde, "dump", "--mpi-all"]
    with start(modern_launch, [*mpi.launcher("openmpi", 8), *words, mpi.PYTHON, script]) as process:
        try:
            ready(modern_launch, 8, process)
            time.sleep(1)
            word = the_folder(modern_launch) if recorded else str(process.pid)
            text = modern_launch.run([*dump, word]).stdout.decode()
            (run,) = json.loads(modern_launch.run([*dump, "--json", str(process.pid)]).stdout)
        finally:
            kill_all(process)
    assert "8 of 8 ranks" in text and "ranks 0-7 (8)\n" in text
    order = [text.index(words) for words in ("ranks 0-4,6-7 (7)", "meet (", "  rank 5\n", "late (")]
    assert order == sorted(order), text
    assert run["size"] == 8 and sorted(row["rank"] for row in run["ranks"]) == list(range(8))
    groups = {tuple(group["ranks"]): [frame["name"] for frame in group["frames"]] for group in run["groups"]}
    assert groups[(5,)] == ["<module>", "step", "late"]
    assert all("meet" in names for ranks, names in groups.items() if ranks != (5,))


def test_dump_finds_nothing(modern_launch):
    words = [modern_launch.sonde, "dump", "--mpi-all"]
    for word in ("no-such-thing", str(os.getpid()), "123456789.0"):
        done = modern_launch.run([*words, word])
        assert done.returncode == 2 and word.encode() in done.stderr
