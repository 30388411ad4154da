"""sonde --mpi: a program that knows what it sends, with real libraries of MPI: each count, byte, partner and
tag is right, and the same in all of them."""

import collections
import json
import re
import shutil
import subprocess

import interpreters
import mpi_worlds
import pytest
from conftest import PROGRAMS, read
from samples import RUNNING

NOBODY = 2**32 - 1
CALLS = (interpreters.REPOSITORY / "src/store/mpi_calls.h").read_text()
NAMES = {int(number): name for name, number in re.findall(r"X\((\w+), (\d+),", CALLS)}


@pytest.fixture(params=["openmpi-debian", "openmpi", "mpich"])
def world(request, modern, tmp_path):
    if request.param == "openmpi-debian":
        return mpi_worlds.debian()
    return mpi_worlds.openmpi(modern) if request.param == "openmpi" else mpi_worlds.mpich(modern, tmp_path)


def rows(recording, table):
    columns = recording[table]
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def function_of(recording, node):
    code = recording["nodes"]["code"][node]
    return recording["strings"][recording["codes"]["name"][code]]


def path_of(recording, node):
    names = []
    while node:
        names.append((function_of(recording, node), recording["nodes"]["line"][node]))
        node = recording["nodes"]["parent"][node]
    return tuple(names)


class Rank:
    """The file of one rank, in words."""

    def __init__(self, path):
        self.recording = recording = read(path)
        self.communicators = rows(recording, "communicators")
        self.messages = [
            (
                function_of(recording, row["node"]),
                NAMES[row["call"]],
                "from" if row["received"] else "to",
                row["peer"],
                row["tag"],
                row["size_bytes"],
            )
            for row in rows(recording, "messages")
        ]
        self.totals = rows(recording, "mpi_totals")

    def key(self, row):
        return self.communicators[row["communicator"]]["key"]

    def said(self, function):
        return sorted(message[1:] for message in self.messages if message[0] == function)

    def counted(self, *calls):
        """Calls, bytes sent, bytes received."""
        chosen = [row for row in self.totals if NAMES.get(row["call"]) in calls]
        return tuple(sum(row[name] for row in chosen) for name in ("count", "sent_bytes", "received_bytes"))

    def collectives(self, function):
        return [
            (NAMES[row["call"]], row["root"], row["sent_bytes"], row["received_bytes"])
            for row in rows(self.recording, "collectives")
            if function_of(self.recording, row["node"]) == function
        ]


def record(sonde, world, folder, ranks, program, *options):
    run = folder / "run"
    command = [sonde, *(options or ["record"]), "--mpi", "-o", run, "--", world.python, program]
    world.run([*world.words(ranks), *command], folder)
    files = sorted(run.glob("rank-*.sonde"))
    assert len(files) == ranks
    return [Rank(path) for path in files]


def check_messages(rank, size, file):
    right, left = (rank + 1) % size, (rank - 1) % size
    assert file.said("post") == sorted(
        [("ISEND", "to", right, 10 + i, 100 + i) for i in range(5)]
        + [("IRECV", "from", left, 10 + i, 100 + i) for i in range(5)]
    )
    assert file.said("poll") == [("IRECV", "from", left, 17, 7), ("ISEND", "to", right, 17, 7)]
    assert file.said("exchange") == sorted(
        [("SENDRECV", "to", right, 20, 64), ("SENDRECV", "from", left, 20, 64)] * 3
    )
    others = [("RECV", "from", other, 30 + other, 10 * other) for other in range(1, size)]
    assert file.said("from_anybody") == ([("SEND", "to", 0, 30 + rank, 10 * rank)] if rank else others)
    assert file.said("to_nobody") == []
    assert file.said("again_and_again") == sorted(
        [("ISEND", "to", right, 80, 80), ("IRECV", "from", left, 80, 80)] * 3
    )
    assert collections.Counter(file.said("talk")) == {
        ("SENDRECV", way, rank, turns, turns): turns for way in ("to", "from") for turns in (40, 41)
    }
    assert file.said("paused") == []


def check_halves(size, files):
    """The members' order is reversed: the first of a half is its highest rank."""
    for first in (0, 1):
        members = list(range(first, size, 2))
        low, high = members[0], members[-1]
        both = [("SEND", "to", low, 50, 50), ("RECV", "from", high, 50, 50)]
        if low == high:
            assert files[low].said("in_halves") == []
        else:
            assert files[high].said("in_halves") == both[:1] and files[low].said("in_halves") == both[1:]
        keys = {
            files[rank].key(row)
            for rank in members
            for row in rows(files[rank].recording, "collectives")
            if function_of(files[rank].recording, row["node"]) == "in_halves"
        }
        assert len(keys) == 1
        for rank in members:
            assert files[rank].collectives("in_halves") == [
                ("ALLREDUCE", NOBODY, 16, 16),
                ("BCAST", low, 33 if rank == low else 0, 0 if rank == low else 33),
            ]


def check_twins(files):
    """Of two communicators of the same members each is the same one on both sides, whichever comes first."""

    def keys(file):
        return {
            row["size_bytes"]: file.key(row)
            for row in rows(file.recording, "messages")
            if function_of(file.recording, row["node"]) == "with_twins"
        }

    assert sorted(keys(files[0])) == [61, 62]
    assert keys(files[0]) == keys(files[1]) and len(set(keys(files[0]).values())) == 2


def check_collectives(rank, size, file):
    root = 1 % size
    assert file.collectives("together") == [
        ("BCAST", root, 400 if rank == root else 0, 0 if rank == root else 400),
        ("REDUCE", size - 1, 40, 40 if rank == size - 1 else 0),
        ("GATHER", 1, 8, 8 * size if rank == 1 else 0),
        ("SCATTER", 0, 6 * size if rank == 0 else 0, 6),
        ("ALLGATHER", NOBODY, 16, 16 * size),
        ("ALLTOALL", NOBODY, 4 * size, 4 * size),
        ("ALLREDUCE", NOBODY, 12, 12),
        ("SCAN", NOBODY, 4, 4),
        ("BARRIER", NOBODY, 0, 0),
    ]
    assert file.collectives("together_later") == [("IBARRIER", NOBODY, 0, 0), ("IALLREDUCE", NOBODY, 8, 8)]
    assert file.collectives("paused") == [("BARRIER", NOBODY, 0, 0)]
    world = [row for row in rows(file.recording, "collectives") if row["communicator"] == 1]
    numbers = sorted(row["number"] for row in world)
    # What is not recorded is counted on, so that ranks that do and do not pause still agree.
    assert numbers == [*range(len(numbers) - 1), len(numbers)]


def check_totals(rank, file):
    """They are of the same calls as the single rows, and of more."""
    sums = collections.Counter()
    for _, _, way, _, _, size_bytes in file.messages:
        sums[way] += size_bytes
    talk = ("SEND", "ISEND", "RECV", "IRECV", "MRECV", "SENDRECV", "START", "STARTALL")
    assert file.counted(*talk)[1:] == (sums["to"], sums["from"])
    assert file.counted("WAITALL")[0] == 5 + 3
    assert file.counted("INIT")[0] == file.counted("FINALIZE")[0] == 1
    assert file.counted("COMM_SPLIT")[0] == 2 and file.counted("COMM_DUP")[0] >= 2
    assert file.counted("TEST")[0] >= 1
    if rank == 0:
        pickled = file.counted("PICKLE")
        assert pickled[0] == 1 and pickled[1] > 2000
        assert ("SEND", "to", 1, 90, pickled[1]) in file.said("objects")
    if rank == 1:
        assert file.counted("UNPICKLE")[0] == 1
        assert ("MRECV", "from", 0, 90, file.counted("UNPICKLE")[2]) in file.said("objects")


@pytest.mark.parametrize("size", [2, 4])
def test_truth(sonde, world, tmp_path, size):
    files = record(sonde, world, tmp_path, size, PROGRAMS / "mpi_truth.py")
    for rank, file in enumerate(files):
        assert file.communicators[1]["size"] == size and file.communicators[1]["rank"] == rank
        assert file.recording["processes"]["rank"][1] == rank
        check_messages(rank, size, file)
        check_collectives(rank, size, file)
        check_totals(rank, file)
        assert [file.recording["strings"][text] for text in file.recording["notes"]["text"]] == []
    check_halves(size, files)
    check_twins(files)
    assert files[0].said("across") == [("SEND", "to", size - 1, 71, 71)]
    assert files[size - 1].said("across") == [("RECV", "from", 0, 71, 71)]


SHORT = """
import sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
def exchange():
    for turn in range(3):
        comm.Sendrecv(bytearray(20), 1 - comm.rank, 1, bytearray(20), 1 - comm.rank, 1)
def main():
    exchange()
    comm.Barrier()
main()
if "abort" in sys.argv and comm.rank == 1:
    comm.Abort(3)
"""
SAID = sorted([("SENDRECV", "to", 20), ("SENDRECV", "from", 20)] * 3)


def check_short(files):
    for rank, file in enumerate(files):
        assert sorted((call, way, size) for call, way, _, _, size in file.said("exchange")) == SAID
        assert {message[3] for message in file.messages} == {1 - rank}
        assert file.counted("SENDRECV") == (3, 60, 60)
        assert file.collectives("main") == [("BARRIER", NOBODY, 0, 0)]


def test_every_python(sonde, python, tmp_path):
    """The stacks are read as each version has them."""
    world = mpi_worlds.openmpi(python)
    (tmp_path / "short.py").write_text(SHORT)
    check_short(record(sonde, world, tmp_path, 2, "short.py"))


@pytest.mark.parametrize("mode", ["trace", "line", "mem", "record --with trace,line,mem,mpi"])
def test_modes(sonde, tmp_path, mode):
    (tmp_path / "short.py").write_text(SHORT)
    files = record(sonde, mpi_worlds.debian(), tmp_path, 2, "short.py", *mode.split())
    check_short(files)
    for file in files:
        threads = file.recording["threads"]
        assert [threads["tid"].tolist().count(tid) for tid in threads["tid"]] == [1] * len(threads["tid"])
    if "trace" in mode:  # what was called lies on the path of who called it
        recording = files[0].recording
        traced = {path_of(recording, node) for node in recording["calls"]["node"]}
        assert {path_of(recording, node) for node in recording["messages"]["node"]} <= traced


UNEVEN = """
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
def work():
    end = time.process_time() + 0.05 * world.rank
    while time.process_time() < end: pass
def step():
    work()
    world.Barrier()
for _ in range(8): step()
"""


def test_samples_show_the_call(sonde, tmp_path):
    """Innermost, below who calls it, as long as it takes; whether the rank runs meanwhile or sleeps."""
    (tmp_path / "uneven.py").write_text(UNEVEN)
    for file in record(sonde, mpi_worlds.debian(), tmp_path, 2, "uneven.py"):
        recording = file.recording
        weights, late_ns = collections.Counter(), 0
        for row in rows(recording, "samples"):
            late_ns += row["weight_ns"] if row["state"] & RUNNING and row["count"] > 3 else 0
            names = [name for name, _ in path_of(recording, row["node"])]
            calls = [name for name in names if name.startswith("MPI_")]
            assert calls == calls[:1] == names[: len(calls)], names
            weights[tuple(names[:2])] += row["weight_ns"]
        assert {names[1:] for names in weights if names[:1] == ("MPI_Barrier",)} <= {("step",)}
        measured = sum(row["total_ns"] for row in file.totals if NAMES.get(row["call"]) == "BARRIER")
        assert weights["MPI_Barrier", "step"] == pytest.approx(measured, rel=0.25, abs=30e6 + late_ns)


def test_a_library_that_is_not_the_launchers(sonde, tmp_path):
    """Each rank believes that it is the only one, and does all of the work: users are at a loss then."""
    mpich = shutil.which("mpirun.mpich")
    if not mpich:
        pytest.skip("mpirun.mpich is not installed")
    (tmp_path / "alone.py").write_text("from mpi4py import MPI")
    command = [sonde, "record", "--mpi", "-o", "run", "--", mpi_worlds.debian().python, "alone.py"]
    subprocess.run([mpich, "-n", "2", *command], cwd=tmp_path, check=True)
    report = subprocess.run(
        [sonde, "report", "run"], cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True
    )
    assert " 1. 2 of 2 ranks (0-1) are each alone in MPI_COMM_WORLD" in report.stdout


def test_abort(sonde, tmp_path):
    world = mpi_worlds.debian()
    (tmp_path / "short.py").write_text(SHORT)
    command = [sonde, "record", "--mpi", "-o", "run", "--", world.python, "short.py", "abort"]
    world.run([*world.words(2), *command], tmp_path, expect=3)
    check_short([Rank(path) for path in sorted(tmp_path.glob("run/rank-*.sonde"))])


TALK = """
import ctypes, sys
from mpi4py import MPI
library = ctypes.CDLL(sys.argv[1])
def talk():
    comm, turns = ctypes.c_int(MPI.COMM_WORLD.py2f()), ctypes.c_int(4)
    library.talk_(ctypes.byref(comm), ctypes.byref(turns))
def finish():
    error = ctypes.c_int(-1)
    library.finish_(ctypes.byref(error))
    sys.exit(error.value)
talk()
finish()
"""


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_fortran(sonde, modern, tmp_path, name):
    """A library whose functions for Fortran call PMPI, and one whose call MPI: each call counts once."""
    world = mpi_worlds.debian() if name == "openmpi" else mpi_worlds.mpich(modern, tmp_path)
    compiler = shutil.which(f"mpif90.{name}")
    if not compiler or not shutil.which("gfortran"):
        pytest.skip(f"mpif90.{name} or gfortran is not installed")
    build = [compiler, "-shared", "-fPIC", "-o", "libtalk.so", PROGRAMS / "mpi_talk.f90"]
    subprocess.run(build, cwd=tmp_path, check=True)
    (tmp_path / "talk.py").write_text(TALK)
    command = [sonde, "record", "--mpi", "-o", "run", "--", world.python, "talk.py", tmp_path / "libtalk.so"]
    world.run([*world.words(2), *command], tmp_path)
    for rank, path in enumerate(sorted(tmp_path.glob("run/rank-*.sonde"))):
        file, other = Rank(path), 1 - rank
        assert file.said("talk") == sorted(
            [("ISEND", "to", other, 5, 80), ("IRECV", "from", other, 5, 80)] * 4
            + [("SENDRECV", way, other, 6, 8 * turn) for way in ("to", "from") for turn in range(1, 5)]
        )
        assert file.collectives("talk") == [
            ("ALLREDUCE", NOBODY, 24, 24),
            ("BCAST", 1, 8 * rank, 8 - 8 * rank),
        ]
        assert file.counted("ISEND", "IRECV") == (8, 320, 320) and file.counted("WAITALL")[0] == 4
        assert file.counted("FINALIZE")[0] == 1
    assert rank == 1


def test_python_inside(sonde, tmp_path):
    """A program in C, whose copies of the library's handles are the true ones; Python comes later."""
    world = mpi_worlds.debian()
    compiler, flags = shutil.which("mpicc.openmpi"), shutil.which("python3-config", path="/usr/bin")
    if not compiler or not flags:
        pytest.skip("mpicc.openmpi or the headers of Debian's Python are not installed")
    options = subprocess.check_output([flags, "--includes", "--embed", "--ldflags"], text=True).split()
    build = [compiler, PROGRAMS / "mpi_host.c", "-o", "host", *options]
    subprocess.run(build, cwd=tmp_path, check=True)
    world.run([*world.words(2), sonde, "record", "--mpi", "-o", "run", "--", "./host"], tmp_path)
    for path in sorted(tmp_path.glob("run/rank-*.sonde")):
        file = Rank(path)
        assert file.counted("ALLREDUCE") == (5, 40, 40) and file.counted("INIT")[0] == 1
        assert file.collectives("inner") == [("BARRIER", NOBODY, 0, 0)]
    assert file.communicators[1]["rank"] == 1


def test_clocks(sonde, tmp_path):
    """One rank's clock is 5000 s ahead, in a namespace of its own: that is measured, at both ends."""
    world = mpi_worlds.debian()
    ahead = ["unshare", "--time", "--monotonic", "5000", "--fork"]
    if subprocess.run([*ahead, "true"], capture_output=True).returncode:
        pytest.skip("time namespaces cannot be made here")
    (tmp_path / "short.py").write_text(SHORT)
    command = [sonde, "record", "--mpi", "-o", "run", "--", world.python, "short.py"]
    world.run([*world.words(1), *command, ":", "-n", "1", *ahead, *command], tmp_path)
    first, second = (rows(read(tmp_path / "run" / f"rank-{rank}.sonde"), "clocks") for rank in (0, 1))
    assert [(row["local_ns"] - row["reference_ns"], row["error_ns"]) for row in first] == [(0, 0)]
    assert len(second) == 2
    for row in second:
        assert abs(row["local_ns"] - row["reference_ns"] - 5000 * 10**9) <= row["error_ns"]
        assert 0 < row["error_ns"] < 10**9


def test_without_mpi(sonde, modern, tmp_path):
    """That there was none is said, and where it cannot be."""

    def told(*words):
        done = subprocess.run([sonde, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    code, words = told("record", "--mpi", "-o", "x.sonde", "--", modern.executable, "-c", "pass")
    assert code == 0 and "no call of MPI was met" in words
    assert told("record", "--mpi", "-p", "1")[0] == 2
    assert told("mem", "--rss", "--mpi", "x.py")[0] == 2


ENDED = """
import os, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
def talk(other):
    sent, come = comm.Send_init(bytearray(50), other, 1), comm.Recv_init(bytearray(50), other, 1)
    for turn in range(3):
        come.Start()
        sent.Start()
        MPI.Request.Waitall([sent, come])
    for turn in range(2):
        MPI.Prequest.Startall([sent, come])
        MPI.Request.Waitall([sent, come])
def hang():
    comm.Barrier()
talk(1 - comm.rank)
if comm.rank == 0:
    hang()
time.sleep(1)
os._exit(1)
"""


def test_ended_in_a_call(sonde, tmp_path):
    """Its time is MPI's, though it never ended. Messages of persistent requests are in the matrix."""
    world = mpi_worlds.debian()
    (tmp_path / "ended.py").write_text(ENDED)
    command = [sonde, "record", "--mpi", "-o", "run", "--", world.python, "ended.py"]
    world.run([*world.words(2), *command], tmp_path, expect=None)
    hanging, other = (Rank(path) for path in sorted(tmp_path.glob("run/rank-*.sonde")))
    row = next(row for row in hanging.totals if NAMES[row["call"]] == "BARRIER")
    assert (row["count"], function_of(hanging.recording, row["node"])) == (1, "hang")
    assert row["total_ns"] > 500_000_000
    assert other.counted("BARRIER") == (0, 0, 0)
    for file in (hanging, other):
        assert file.counted("START") == (10, 250, 250) and file.counted("STARTALL")[0] == 2
        assert file.counted("SEND_INIT", "RECV_INIT")[0] == 2
    told = subprocess.check_output([sonde, "report", "run", "--mpi", "messages", "--json"], cwd=tmp_path)
    assert [tuple(cell.values()) for cell in json.loads(told)["messages"]] == [(0, 1, 5, 250), (1, 0, 5, 250)]
    told = subprocess.check_output([sonde, "report", "run", "--mpi", "paths"], cwd=tmp_path, text=True)
    line = 1 + ENDED.splitlines().index("    comm.Barrier()")
    assert re.search(rf"MPI_Barrier +hang \(.*ended\.py:{line}\)", told)
