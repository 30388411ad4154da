"""Who waits for whom, and how long, under real MPI: within 5 % of what the ranks' own clocks say."""

import csv
import io
import json
import re
import subprocess

import mpi_worlds
import pytest
from conftest import FOUND, PROGRAMS

pytestmark = pytest.mark.alone

RANKS = 4
LATE_NS = 400_000_000


@pytest.fixture(params=["debian", "mpich"], scope="module")
def world(request, tmp_path_factory):
    if request.param == "debian":
        return mpi_worlds.debian()
    newest = [one for one in FOUND if not one.root]
    if not newest:
        pytest.skip("no Python that could have mpi4py from PyPI")
    return mpi_worlds.mpich(newest[-1], tmp_path_factory.mktemp("mpich"))


@pytest.fixture(scope="module")
def recorded(world, sonde, tmp_path_factory):
    """The run's folder, and when each rank came to each place."""
    tmp_path = tmp_path_factory.mktemp("run")
    words = [sonde, "record", "--mpi", "-o", tmp_path / "run", "--", world.python]
    world.run([*world.words(RANKS), *words, PROGRAMS / "mpi_waits.py", tmp_path], tmp_path)
    came = [json.loads((tmp_path / f"came.{rank}").read_text()) for rank in range(RANKS)]
    return tmp_path / "run", came


def table(sonde, run, name):
    words = [sonde, "report", "--mpi", name, "--csv", "-n", "all", run]
    text = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def waited(rows, function, why, rank, culprit):
    """The one row of that kind."""
    wanted = (function, why, str(rank), str(culprit))
    found = [row for row in rows if (row["function"], row["why"], row["rank"], row["waits_for"]) == wanted]
    assert len(found) == 1, (function, why, rank, rows)
    return int(found[0]["wait_ns"])


def test_waits_are_as_long_as_they_were(sonde, recorded):
    run, came = recorded
    rows = [row for row in table(sonde, run, "waits") if int(row["wait_ns"]) > LATE_NS / 10]
    expected = [
        ("late_sender", "late sender", 1, 0, "late sender"),
        ("late_receiver", "late receiver", 0, 1, "late receiver"),
        ("late_message_of_two", "late sender", 0, 2, "waitall"),
        *[("barrier", "wait for all", rank, 2, "wait for all") for rank in (0, 1, 3)],
        *[("bcast", "late root", rank, 1, "late root") for rank in (0, 2, 3)],
    ]
    for function, why, rank, culprit, place in expected:
        truth = came[culprit][place] - came[rank][place]
        assert truth > LATE_NS / 5  # of a rank that came when there was a core for it
        assert waited(rows, function, why, rank, culprit) == pytest.approx(truth, rel=0.05)
    of_places = [row for row in rows if row["function"] != "main"]  # whose barriers wait for those before
    assert len(of_places) == len(expected)


def test_the_report_says_who_is_late(sonde, recorded):
    run, _ = recorded
    words = [str(sonde), "report", "--mpi", "all", str(run)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    told = text.split("Who waited for whom")[1]
    assert "late sender" in told and "late receiver" in told and "late root" in told
    # in words what is worth it: where starting MPI takes long, half a second is not
    sentences = " ".join(text.split("MPI time by call")[0].split())
    assert "of the time of all ranks" in sentences
    matrix = table(sonde, run, "messages")
    cells = {(row["from"], row["to"]): (row["count"], row["size_bytes"]) for row in matrix}
    assert cells == {("0", "1"): ("2", "8000080"), ("1", "0"): ("1", "80"), ("2", "0"): ("1", "80")}
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert document["unmatched_messages"] == document["incomplete_collectives"] == 0
    assert document["clock_error_ns"] == 0
    barrier = next(row for row in document["calls"] if row["call"] == "MPI_Barrier")
    assert barrier["count"] == 5 * RANKS


def test_the_plain_report_has_both(sonde, recorded):
    """Functions over ranks, and what the ranks did with one another."""
    words = [str(sonde), "report", str(recorded[0])]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "Parallel efficiency" in text and "mpi_waits.py" in text
    assert "MPI_Barrier" in text.split("MPI time by call")[1]
    longest = text.split("Who waited for whom")[1].splitlines()[2:10]  # of equal lengths: any of them
    assert all(re.search(r" (late \w+|early root|wait for all) +MPI_\w+ ", line) for line in longest), longest
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert len(document["ranks"]) == RANKS
    assert {row["call"] for row in document["mpi"]["calls"]} >= {"MPI_Send", "MPI_Recv", "MPI_Barrier"}
