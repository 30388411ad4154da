"""src/python against every interpreter found: offsets, stacks, lines, and every single instruction.

SONDE_STEPS sets how many instructions of each interpreter are stepped through (make test: few).
"""

import os
import pathlib
import re
import subprocess
import sys

import interpreters
import pytest

STEPS = int(os.environ.get("SONDE_STEPS", 200_000))
FROM_OUTSIDE = max(20_000, STEPS // 10)
NATIVE = "tests/e2e/native"


def native(name):
    path = interpreters.sonde_folder() / NATIVE / name
    if not path.exists():
        pytest.skip("the test library is not built (tests are off, sanitized, or not x86-64)")
    return path


@pytest.fixture
def walked(launch):
    """Runs walked.py with the test library, and gives what it printed."""
    def run(*arguments, before=()):
        program = launch.program("walked.py")
        command = [*before, launch.python.executable, program, native("libself_walk.so"), *arguments]
        result = launch.run(command, timeout=600)
        assert result.returncode == 0, (result.stdout + result.stderr).decode()
        return result.stdout.decode()

    return run


def test_free_threaded_builds_are_refused(free_threaded_launch):
    launch = free_threaded_launch
    library = native("libself_walk.so")
    result = launch.plain(launch.program("walked.py"), library, "row")
    assert result.returncode == 1
    assert b"refused: this is a free-threaded Python 3." in result.stderr


def headers(interpreter):
    """The folders that hold this interpreter's headers, the main one first; None when it came without."""
    script = "import sysconfig; print(sysconfig.get_path('include'))"
    command = interpreter.enter([interpreter.executable, "-c", script], "/tmp")
    include = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/tmp").stdout.strip()
    root = interpreter.root or ""
    if not os.path.exists(root + include + "/internal/pycore_interp.h"):
        return None
    system = pathlib.Path(root + "/usr/include")
    more = [path.parent.parent for path in system.glob("*/python3*/pyconfig.h")]
    return [root + include, *more, system]


def test_offsets_are_those_of_the_headers(walked, python):
    includes = headers(python)
    if not includes:
        pytest.skip("this interpreter came without its headers")
    probe = [interpreters.REPOSITORY / "tools/probe_layouts", *includes]
    expected = subprocess.run([sys.executable, *probe], capture_output=True, text=True, check=True).stdout
    assert walked("row") == expected
    assert expected.count("\n") > 50


def test_debug_builds_have_the_same_offsets(walked, python):
    """Those of later versions say themselves where they keep what."""
    includes = headers(python)
    if python.numbers >= (3, 13) or not includes:
        pytest.skip("it publishes its offsets, or came without its headers")
    probe = [interpreters.REPOSITORY / "tools/probe_layouts", "-DPy_DEBUG", *includes]
    expected = subprocess.run([sys.executable, *probe], capture_output=True, text=True, check=True).stdout
    assert walked("row") == expected


def test_stacks_are_those_of_python(walked):
    """At more than 200 points: the functions and the lines of the whole stack."""
    points = int(re.fullmatch(r"points (\d+)\n", walked("stacks"))[1])
    assert points >= 220


@pytest.fixture
def valued(launch):
    """Runs valued.py with the test library, and gives what it printed."""
    def run(test, python=None):
        launch.program("walked.py")
        program = launch.program("valued.py")
        python = python or launch.python.executable
        result = launch.run([python, program, native("libself_walk.so"), test], timeout=120)
        assert result.returncode == 0, (result.stdout + result.stderr).decode()
        return int(re.fullmatch(rb"compared (\d+)\n", result.stdout)[1])

    return run


def test_values_are_written_as_python_writes_them(valued):
    assert valued("same_as_repr") > 200


def test_values_are_bounded(valued):
    assert valued("bounded") > 10


def test_values_of_instances(valued):
    assert valued("instances") > 10


def test_locals_are_those_of_python(valued):
    assert valued("variables") >= 24


def test_values_of_numpy(valued, python):
    with_numpy, reason = python.peer_environment(["numpy"])
    if not with_numpy:
        pytest.skip(reason)
    assert valued("arrays", with_numpy) > 15


def test_stacks_of_greenlets(launch):
    python, reason = launch.python.peer_environment(["greenlet"])
    if not python:
        pytest.skip(reason)
    result = launch.run([python, launch.program("walked.py"), native("libself_walk.so"), "greenlets"])
    assert result.returncode == 0, result.stdout.decode()
    assert int(re.fullmatch(rb"points (\d+)\n", result.stdout)[1]) >= 24


def test_threads_are_those_of_python(walked):
    assert walked("listed") == "threads 4\n"


def test_lines_are_those_of_python(walked):
    found = re.fullmatch(r"codes (\d+) instructions (\d+)\n", walked("lines"))
    assert int(found[1]) > 4000
    assert int(found[2]) > 150_000


def check_steps(text, python, most, allowed):
    print(python, text)
    words = re.findall(r"\b(steps|changes|cut|wrong|rejected) (\d+)", text)
    counts = {name: int(count) for name, count in words}
    assert counts["wrong"] == 0, text
    assert counts["steps"] >= most
    assert counts["changes"] > 20
    assert counts["rejected"] <= allowed * most, text
    return counts


# 3.9 hides the callers all the while that an exception thrown through a generator is handled; 3.11 and 3.12
# link their frames in an order that some instructions see half done.
ALLOWED = {(3, 9): 0.1, (3, 10): 0.001, (3, 11): 0.01, (3, 12): 0.015}


def test_every_instruction_of_a_thread_that_walks_itself(walked, python):
    text = walked("stepped", str(STEPS))
    check_steps(text, python, STEPS, ALLOWED.get(python.numbers, 0.002))


def test_every_instruction_with_less_room_than_frames(walked, python):
    """A walk that ends before the outermost frame accepts no stack that one to the end would reject."""
    text = walked("stepped", str(STEPS // 4), "4")
    counts = check_steps(text, python, STEPS // 4, ALLOWED.get(python.numbers, 0.002))
    assert counts["cut"] > counts["steps"] / 4


def test_every_instruction_of_a_stopped_thread(walked, python):
    text = walked("marked", "100", before=[native("single_step"), str(FROM_OUTSIDE)])
    check_steps(text, python, FROM_OUTSIDE, ALLOWED.get(python.numbers, 0.005))
