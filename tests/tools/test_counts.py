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
    command = ["sh", "-c", script]
    outcome = phases.counted(command)
    assert (outcome.passed, outcome.failed) == expected
    assert outcome.names == ((" ".join(command),) if outcome.failed else ())


def test_missing_runner_fails():
    assert phases.counted(["/no/such/runner"]) == phases.Outcome(failed=1, names=("/no/such/runner",))


def test_nothing_to_run_fails():
    assert phases.each([], []).failed == 1


NAMED = """[  FAILED  ] test_read
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] test_read
FAILED tests/e2e/test_x.py::test_x[3.9.18-trace --timeline] - assert 1 == 2
FAILED tests/e2e/test_x.py::test_y
ERROR tests/e2e/test_z.py - ImportError: no
ERROR of a program that is tested
FAILED a key (of the help) does something (30.2 s)
FAILED report/tree.txt
ok     another (1.0 s)
"""


def test_names_of_what_failed():
    assert phases.failed_names(NAMED) == (
        "test_read",
        "tests/e2e/test_x.py::test_x[3.9.18-trace --timeline]",
        "tests/e2e/test_x.py::test_y",
        "tests/e2e/test_z.py",
        "a key (of the help) does something",
        "report/tree.txt",
    )


def test_closing_lines_name_all_that_failed():
    web = phases.Outcome(112, 1, ("a page",), ("another page",))
    ran = {"lint": (phases.Outcome(4), 5.2), "web": (web, 146.0)}
    assert list(phases.closing(ran))[1:] == [
        "lint         4 passed    0 failed      5 s",
        "web        112 passed    1 failed    146 s",
        "FAILED web: a page",
        "UNSTEADY web: another page: passed only when run again",
        "sonde: 116 passed, 1 failed",
    ]


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
FEW = phases.FEW
WRONG = "".join(f"\ndef test_wrong_{number}():\n    assert {number} >= WRONG\n" for number in range(FEW))


@pytest.mark.parametrize(("wrong", "passed", "failed"), [(0, FEW + 2, 0), (1, FEW + 1, 1), (FEW, 1, FEW + 1)])
def test_few_failures_are_run_again(wrong, passed, failed, tmp_path, capfd):
    (tmp_path / "test_x.py").write_text(f"WRONG = {wrong}\n{UNSTEADY}{WRONG}")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    outcome = phases.again_where_few_failed(command, lambda _: ["--last-failed"])
    assert (outcome.passed, outcome.failed, len(outcome.names)) == (passed, failed, failed)
    assert [name.split("::")[1] for name in outcome.unsteady] == ["test_unsteady"] * (wrong < FEW)
    assert capfd.readouterr().out.count("\nFAILED") == (failed if wrong < FEW else 0)
