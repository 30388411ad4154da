"""Sampling: what is recorded of a program, and a program that does not notice."""

import json
import subprocess

import pytest
from samples import Samples, record


def test_sleeping_threads_are_seen(launch):
    launch.write(
        "x.py",
        """
        import threading, time
        def waits(): time.sleep(0.5)
        thread = threading.Thread(target=waits)
        thread.start()
        end = time.perf_counter() + 0.5
        while time.perf_counter() < end: pass
        thread.join()
        """,
    )
    assert record(launch, "x.py").returncode == 0
    rows = Samples(launch.folder / "out.sonde").rows
    of_waits = [row for row in rows if any(frame.name == "waits" for frame in row.stack)]
    asleep = sum(row.count for row in of_waits if not row.running)
    awake = sum(row.count for row in rows if row.running and len(row.stack) == 1)
    assert asleep > 200 and awake > 200
    assert asleep > 20 * sum(row.count for row in of_waits if row.running)


def test_program_does_not_notice(launch):
    """Threads, forks and execs under fire: the same output, no thread and no child too many, no warning."""
    program = launch.program("storm.py")
    plain = launch.plain("-W", "error", program)
    done = record(launch, "-W", "error", program, rate=5000)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
    assert plain.stdout == b"1 thread\nno child\n"


def test_calls_are_not_interrupted(launch):
    """Sleeping threads get no signal, and a sleep that one interrupts just as it begins goes on."""
    launch.write(
        "x.py",
        """
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        interrupted = 0
        for turn in range(300):
            if libc.usleep(2000) != 0:
                interrupted += ctypes.get_errno() == errno.EINTR
        print(interrupted)
        """,
    )
    done = record(launch, "x.py")
    assert done.returncode == 0
    assert done.stdout == launch.plain("x.py").stdout == b"0\n"


def test_exec_replaces_the_program(launch):
    """A signal that was on its way to a program must not kill the one that takes its place."""
    launch.write(
        "x.py",
        """
        import os, sys
        left = int(sys.argv[1])
        total = sum(number * number for number in range(20000))
        if left:
            os.execv(sys.executable, [sys.executable, "x.py", str(left - 1)])
        print("end")
        """,
    )
    done = record(launch, "x.py", "30", rate=10000)
    assert (done.stdout, done.returncode) == (b"end\n", 0)


@pytest.mark.parametrize("format", ["speedscope", "raw", "flamegraph", "chrometrace", "sonde"])
def test_formats(modern_launch, format):
    launch = modern_launch
    done = record(launch, launch.program("flutter.py"), "0.5", rate=5000, output="out", more=["-f", format])
    assert done.returncode == 0
    text = (launch.folder / "out").read_bytes()
    if format == "speedscope":
        names = {frame["name"] for frame in json.loads(text)["shared"]["frames"]}
        assert {"main", "a1", "b3"} <= names
    else:
        assert b"descend" in text or format == "sonde"


def test_output_that_is_not_named(modern_launch):
    """The format decides the suffix; a recording is not written to the program's standard output."""
    launch = modern_launch
    command = ["--", launch.python.executable, "-c", "sum(range(10**7))"]
    done = launch.run([launch.sonde, "record", "-f", "speedscope", *command])
    assert done.returncode == 0
    assert [file.name.partition(".")[2].partition(".")[2] for file in launch.folder.glob("*.json")] == [
        "speedscope.json"
    ]
    done = launch.run([launch.sonde, "record", "-o", "-", *command])
    assert done.returncode == 2 and b"name a file with -o" in done.stderr
    assert not (launch.folder / "-").exists()


def test_too_short_to_be_sampled(modern_launch):
    """The program's exit code counts, whatever was to be made of no samples."""
    launch = modern_launch
    for format in ["speedscope", "flamegraph", "chrometrace", "raw"]:
        program = [launch.python.executable, "-c", "raise SystemExit(3)"]
        done = launch.run([launch.sonde, "record", "-r", "1", "-f", format, "-o", "out", "--", *program])
        assert done.returncode == 3
        assert (launch.folder / "out").exists() or b"no sample was taken, so out is not" in done.stderr
        assert b"Samples: " in done.stderr.splitlines()[-1]


def test_cost_of_deep_stacks_is_told(launch):
    """To walk 50,000 frames takes long, and that is not taken for a loss of the CPU."""
    if launch.python.numbers < (3, 11):
        pytest.skip("recursion needs C stack there")
    launch.write(
        "x.py",
        """
        import sys, time
        sys.setrecursionlimit(10**6)
        def descend(levels):
            if levels: return descend(levels - 1)
            end = time.process_time() + 0.3
            while time.process_time() < end: pass
        descend(50000)
        """,
    )
    assert record(launch, "x.py").returncode == 0
    about = Samples(launch.folder / "out.sonde").data["meta"]
    looks = int(about["achieved_hz"]) * int(about["elapsed_ns"]) / 1e9
    assert int(about["overhead_ns"]) > 20e3 * looks


def test_two_writers_of_one_file(modern_launch):
    """Neither replaces what the other makes, whatever the format."""
    launch = modern_launch
    command = [launch.sonde, "record", "-f", "raw", "-o", "out.txt", "--", launch.python.executable, "-c"]
    work = "sum(range(10**7)); print('there', flush=True); input()"
    first = launch.start([*command, "def first(): " + work + "\nfirst()"], stdin=subprocess.PIPE)
    assert first.stdout.readline() == b"there\n"
    assert launch.run([*command, "def second(): sum(range(10**7))\nsecond()"]).returncode == 0
    first.communicate(b"\n")
    assert b"first" in (launch.folder / "out.txt").read_bytes()
    (other,) = launch.folder.glob("out.txt.*")
    assert b"second" in other.read_bytes()


def test_last_line_is_py_spys(modern_launch):
    launch = modern_launch
    done = subprocess.run(
        [launch.sonde, "record", "-o", launch.folder / "x", "--", launch.python.executable, "-c", "pass"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    last = done.stderr.splitlines()[-1].replace("sonde: ", "")
    assert last.startswith("Samples: ") and " Errors: 0" in last
