"""Sampling: no stack that never was, the right shares, and a program that does not notice."""

import collections
import json
import math
import subprocess

import pytest
from conftest import read

# Who may call whom in programs/flutter.py. C functions are no frames.
LEGAL = {
    "a3": {"a2"},
    "a2": {"a1"},
    "a1": {"main", "inner", "descend"},
    "b3": {"b2"},
    "b2": {"b1"},
    "b1": {"main", "inner", "key", "attempt"},
    "inner": {"outer"},
    "outer": {"main"},
    "key": {"main"},
    "descend": {"main", "descend"},
    "fail": {"attempt"},
    "attempt": {"main"},
    "main": {"<module>"},
    "<module>": {None},
}


class Samples:
    """A sampled recording: (names from the innermost out, count, running) of each row."""

    def __init__(self, path):
        self.data = read(path)
        text, nodes = self.data["strings"], self.data["nodes"]
        names = [text[name] for name in self.data["codes"]["name"]]
        self.stacks = []
        rows = self.data["samples"]
        for node, count, state in zip(rows["node"], rows["count"], rows["state"]):
            stack = []
            while node:
                stack.append(names[nodes["code"][node]])
                node = nodes["parent"][node]
            self.stacks.append((stack, count, bool(state & 1)))
        self.samples = int(self.data["meta"]["samples"])
        self.errors = int(self.data["meta"]["errors"])


def record(launch, *words, rate=1000, output="out.sonde", more=(), **options):
    command = [launch.sonde, "record", "--quiet", "-r", str(rate), "-o", launch.folder / output, *more]
    return launch.run([*command, "--", launch.python.executable, *words], **options)


def impossible(stacks):
    bad = collections.Counter()
    for stack, count, _ in stacks:
        callers = [*stack[1:], None]
        if any(caller not in LEGAL.get(name, ()) for name, caller in zip(stack, callers)):
            bad[tuple(stack)] += count
    return bad


def test_no_stack_that_never_was(launch):
    done = record(launch, launch.program("flutter.py"), "2", rate=10000)
    assert (done.returncode, done.stderr) == (0, b"")
    found = Samples(launch.folder / "out.sonde")
    of_program = [row for row in found.stacks if row[0] and row[0][-1] == "<module>" and "main" in row[0]]
    assert sum(count for _, count, _ in of_program) > 5000
    assert impossible(of_program) == {}
    assert found.errors <= found.samples * 0.001 + 2


def test_shares(launch):
    """Wall time is divided 60 : 30 : 10; the samples must be, within eight standard deviations."""
    launch.write(
        "x.py",
        """
        import time
        def spin(seconds):
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                pass
        def most(): spin(0.06)
        def some(): spin(0.03)
        def few(): spin(0.01)
        for turn in range(15):
            most(); some(); few()
        """,
    )
    assert record(launch, "x.py", rate=4000).returncode == 0
    counts = collections.Counter()
    for stack, count, _ in Samples(launch.folder / "out.sonde").stacks:
        for name in ("most", "some", "few"):
            counts[name] += count * (name in stack)
    total = sum(counts.values())
    assert total > 2000
    for name, share in (("most", 0.6), ("some", 0.3), ("few", 0.1)):
        # Rows of several samples (a thread that waited for its CPU) are not independent: eight, not five.
        deviation = math.sqrt(total * share * (1 - share))
        assert abs(counts[name] - total * share) < 8 * deviation, (name, counts)


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
    stacks = Samples(launch.folder / "out.sonde").stacks
    asleep = sum(count for stack, count, running in stacks if "waits" in stack and not running)
    awake = sum(count for stack, count, running in stacks if stack == ["<module>"] and running)
    assert asleep > 200 and awake > 200
    assert asleep > 20 * sum(count for stack, count, running in stacks if "waits" in stack and running)


def test_program_does_not_notice(launch):
    """Threads, forks and execs under fire: the same output, no thread and no child too many, no warning."""
    program = launch.program("storm.py")
    plain = launch.plain("-W", "error", program)
    done = record(launch, "-W", "error", program, rate=5000)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
    assert plain.stdout == b"1 thread\nno child\n"


def test_calls_are_not_interrupted(launch):
    """Sleeping threads get no signal. One that falls asleep just as its signal leaves may be interrupted:
    that is a matter of microseconds, and here 300 sleeps are watched by 600 ticks."""
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
    assert int(done.stdout) <= 2


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
    done = record(launch, launch.program("flutter.py"), "0.3", output="out", more=["-f", format])
    assert done.returncode == 0
    text = (launch.folder / "out").read_bytes()
    if format == "speedscope":
        names = {frame["name"] for frame in json.loads(text)["shared"]["frames"]}
        assert {"main", "a1", "b3"} <= names
    else:
        assert b"descend" in text or format == "sonde"


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
