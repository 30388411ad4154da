"""The report of a run with many ranks, under a real mpirun: who does nothing, who too much, who is lost."""

import csv
import io
import json
import os
import re
import shutil
import statistics
import subprocess

import pytest
from conftest import PROGRAMS

PYTHON = "/usr/bin/python3"
MPIRUN = "mpirun.openmpi"
RANKS = 32
WORKING = 20
SLOW_RANK, MANY_STEPS, STEP_S, PIXELS_S = 17, 15, 0.2, 6


@pytest.fixture(scope="module")
def run(sonde, tmp_path_factory):
    """A run of 32 ranks, of which 20 work, as a folder."""
    if not shutil.which(MPIRUN):
        pytest.skip(f"{MPIRUN} is not installed")
    if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip(f"mpi4py is not installed for {PYTHON}")
    folder = tmp_path_factory.mktemp("uneven") / "run"
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    start = [MPIRUN, *as_root, "--oversubscribe", "-n", str(RANKS)]
    command = [*start, sonde, "trace", "-o", f"{folder}/", "--", PYTHON, PROGRAMS / "uneven.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob("rank-*.sonde"))) == RANKS
    return folder


@pytest.fixture
def report(sonde):
    def print_report(*words, code=0):
        environment = {**os.environ, "COLUMNS": "1000"}
        done = subprocess.run(
            [sonde, "report", *words], capture_output=True, text=True, env=environment, timeout=120
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return print_report


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def of_function(table, name):
    (row,) = [row for row in table if row["function"] == name]
    return row


def findings(text):
    return re.findall(r"^ *\d+\. (.*)$", text.split("\n\n")[0], re.MULTILINE)


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3}[unit]


def test_who_does_nothing_is_said_first(run, report):
    said = findings(report(run))
    (idle,) = [line for line in said if "_xypix" in line]
    assert idle.startswith(f"{RANKS - WORKING} of {RANKS} ranks (20-31) do no work in _xypix (")
    each = seconds(re.search(r"the other 20 have ([\d.]+ m?s) each", idle).group(1))
    assert each >= PIXELS_S


def test_the_slow_rank_is_found_with_its_amount(run, report):
    (slow,) = [line for line in findings(report(run)) if " in step " in line]
    told = re.match(
        r"Rank (\d+) spends ([\d.]+ m?s) in step \(.*\) in (\d+) calls, the mean is ([\d.]+ m?s)", slow
    )
    assert int(told.group(1)) == SLOW_RANK
    assert int(told.group(3)) == MANY_STEPS
    assert seconds(told.group(2)) >= MANY_STEPS * STEP_S
    assert seconds(told.group(4)) >= (MANY_STEPS + RANKS - 1) * STEP_S / RANKS


def test_the_table_agrees_with_one_rank_after_the_other(run, report):
    table = rows(report(run, "--csv"))
    pixels, step = of_function(table, "_xypix"), of_function(table, "step")
    assert (pixels["present"], pixels["ranks"], pixels["calls"]) == ("20", "32", "20")
    assert (pixels["min_ns"], pixels["min_rank"]) == ("0", "20")
    assert (step["present"], step["max_rank"], step["calls"]) == ("32", "17", str(MANY_STEPS + RANKS - 1))
    each = rows(report(run, "--ranks-of", "step", "--csv"))
    assert [int(row["rank"]) for row in each] == list(range(RANKS))
    totals = [int(row["total_ns"]) for row in each]
    assert {rank: int(row["calls"]) for rank, row in enumerate(each) if row["calls"] != "1"} == {
        17: MANY_STEPS
    }
    mean = sum(totals) / RANKS
    assert float(step["mean_ns"]) == pytest.approx(mean, abs=1)
    assert int(step["max_ns"]) == max(totals) == totals[SLOW_RANK]
    assert float(step["std_ns"]) == pytest.approx(statistics.pstdev(totals), abs=1)
    percent = 100 * (max(totals) - mean) / max(totals) * RANKS / (RANKS - 1)
    assert float(step["imbalance_percent"]) == pytest.approx(percent, abs=0.01)


def test_one_rank_is_reported_as_if_alone(run, report):
    alone = rows(report(run / f"rank-{SLOW_RANK}.sonde", "--csv"))
    assert rows(report(run, "--rank", str(SLOW_RANK), "--csv")) == alone
    assert of_function(alone, "step")["calls"] == str(MANY_STEPS)


def test_a_merged_file_tells_the_same(run, report, sonde, tmp_path):
    merged = tmp_path / "one.sonde"
    subprocess.run([sonde, "merge", run, "-o", merged], check=True, capture_output=True)
    assert sorted(report(merged, "--csv").splitlines()) == sorted(report(run, "--csv").splitlines())
    key = lambda row: (row["file"], row["line"], row["function"])  # noqa: E731
    alone = rows(report(run / f"rank-{SLOW_RANK}.sonde", "--csv"))
    chosen = rows(report(merged, "--rank", str(SLOW_RANK), "--csv"))
    assert sorted(chosen, key=key) == sorted(alone, key=key)


def test_a_function_on_each_rank(run, report):
    bars = report(run, "--ranks-of", "uneven.step")
    lengths = {
        int(rank): len(bar) for rank, bar in re.findall(r"^ +(\d+) +[\d.]+ +\d+ +(#+)$", bars, re.MULTILINE)
    }
    assert sorted(lengths) == list(range(RANKS))
    assert max(lengths, key=lengths.get) == SLOW_RANK
    assert "on 32 of 32 ranks" in bars
    assert "did you mean 'step'" in report(run, "--ranks-of", "stepp", code=2)


def test_paths_are_told_apart(run, report):
    tree = report(run, "--tree")
    (line,) = [line for line in tree.splitlines() if line.endswith("(_xypix)")]
    assert " 20/32 " in line
    depths = {row["function"]: int(row["depth"]) for row in rows(report(run, "--tree", "--csv"))}
    assert depths["_xypix"] == depths["extract"] + 1 == depths["main"] + 2


def test_efficiencies(run, report):
    document = json.loads(report(run, "--json"))
    efficiency = document["efficiency"]
    assert efficiency["mpi_from"] == "frames"
    assert efficiency["parallel"] == pytest.approx(efficiency["load_balance"] * efficiency["communication"])
    assert 0 < efficiency["parallel"] <= efficiency["load_balance"] < 1
    waiting = {rank["rank"]: rank["mpi_ns"] for rank in document["ranks"]}
    assert len(waiting) == RANKS and document["expected_ranks"] == RANKS


def test_what_is_missing_is_said(run, report, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(run, part)
    (part / "rank-03.sonde").unlink()
    whole = (part / "rank-05.sonde").read_bytes()
    (part / "rank-05.sonde").write_bytes(whole[: len(whole) * 9 // 10])
    (part / "rank-07.sonde").write_bytes(whole[:20])
    text = report(part)
    assert "2 of 32 ranks (3,7) have no recording here" in text
    assert re.search(r"The recording of 1 rank \(5\) is (cut off|not closed)", text)
    assert "Not read: " in text and "rank-07.sonde" in text
    assert "of 30 ranks" in text


def test_other_views_are_of_all_ranks_together(run, report):
    assert "32 processes" in report(run, "--by", "module")
    assert "different views" in report(run, "--tree", "--ranks-of", "step", code=2)
    assert "holds no run of several ranks" in report(run / "rank-03.sonde", "--by", "rank", code=2)
