"""The closing count of `make test` must not be fooled."""

import importlib.machinery
import importlib.util
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
