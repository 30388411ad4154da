"""The closing count of `make test` must not be fooled."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

PATH = str(Path(__file__).resolve().parents[2] / "tools" / "test")
LOADER = importlib.machinery.SourceFileLoader("phases", PATH)
phases = importlib.util.module_from_spec(importlib.util.spec_from_loader("phases", LOADER))
LOADER.exec_module(phases)

CMOCKA = """[==========] 3 test(s) run.
[  PASSED  ] 2 test(s).
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] 9 test cases are not counted

 1 FAILED TEST(S)
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (CMOCKA, (2, 1)),
        ("FAILED tests/x.py - 7 failed\n5 passed, 2 failed, 1 error, 4 skipped in 3.10s\n", (5, 3)),
        ("golden: 12 passed, 0 failed\n", (12, 0)),
        ("no tests ran in 0.00s\n", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_results(output, expected):
    assert phases.results(output) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '3 passed, 0 failed'", (3, 0)),
        ("echo '3 passed, 0 failed'; exit 1", (3, 1)),
        ("echo '3 passed, 1 failed'; exit 1", (3, 1)),
        ("exit 0", (0, 1)),
        ("kill -SEGV $$", (0, 1)),
    ],
)
def test_counted(script, expected):
    assert phases.counted(["sh", "-c", script]) == expected


def test_missing_runner_fails():
    assert phases.counted(["/no/such/runner"]) == (0, 1)


def test_nothing_to_run_fails():
    assert phases.each([], []) == (0, 1)


UNSTEADY = """
import pathlib

def test_steady():
    pass

def test_unsteady():
    seen = pathlib.Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before
"""
WRONG = "".join(f"\ndef test_wrong_{number}():\n    assert {number} >= WRONG\n" for number in range(4))


@pytest.mark.parametrize(("wrong", "expected"), [(0, (6, 0)), (1, (5, 1)), (4, (1, 5))])
def test_few_failures_are_run_again(wrong, expected, tmp_path, capfd):
    (tmp_path / "test_x.py").write_text(f"WRONG = {wrong}\n{UNSTEADY}{WRONG}")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    assert phases.again_where_few_failed(command, {}) == expected
    named = "test_unsteady: passed only when run again" in capfd.readouterr().out
    assert named == (wrong <= phases.FEW - 1)
