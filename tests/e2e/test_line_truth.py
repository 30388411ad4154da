"""Hits of lines are line_profiler's, on programs of every kind; where they are not, line_profiler is wrong,
and FAULTS says how that is known."""

import json

import line_times
import pytest

PRINT = (
    "import json, sys, line_profiler\n"
    "timings = line_profiler.load_stats(sys.argv[1]).timings\n"
    "print(json.dumps([[list(key), rows] for key, rows in timings.items()]))\n"
)

# Function: since which version line_profiler's hits are not believed, and what is wrong. It asks for the
# lines of all code; from 3.13 on the interpreter then leaves out the first line of a lambda. Who asks for the
# beginnings of functions, too, is told of it.
FAULTS = {"<lambda>": ((3, 13), "a lambda that was called has no hits at all")}


@pytest.fixture(scope="module")
def kernprof(python):
    executable, why = python.peer_environment(["line_profiler"])
    if not executable:
        pytest.skip(why)
    return executable


def line_profiler_hits(launch, kernprof, program):
    done = launch.run([kernprof, "-m", "kernprof", "-q", "-l", "-o", "theirs.lprof", program], timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    printed = launch.run([kernprof, "-c", PRINT, "theirs.lprof"])
    rows = json.loads(printed.stdout)
    return {(key[1], key[2].split(".")[-1]): {row[0]: row[1] for row in lines} for key, lines in rows}


def test_hits_are_line_profilers(launch, kernprof):
    program = launch.program("line_cases.py")
    theirs = line_profiler_hits(launch, kernprof, program)
    done = line_times.timed(launch, program, options=["--hot", "0"])
    assert done.returncode == 0, done.stderr.decode()
    ours = {key: line_times.hits(rows) for key, rows in line_times.functions(launch).items()}
    assert len(ours) >= 30
    for key in sorted(set(theirs) | set(ours)):
        since, fault = FAULTS.get(key[1], ((4, 0), None))
        if launch.python.numbers >= since:
            assert ours[key] and not theirs[key], f"no more: {fault}"
        else:
            assert ours.get(key, {}) == theirs.get(key, {}), key
