"""sonde --mpi: a program that knows what it sends, with real libraries of MPI: each count, byte, partner and
tag is right, and the same in all of them."""

import collections
import re

import interpreters
import mpi_worlds
import pytest
from conftest import PROGRAMS, read

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
