"""Sampling: what is recorded of a program, and a program that does not notice."""

import json
import os
import re
import shutil
import subprocess

import pytest
from samples import Samples, record
from screen import Screen

CUT = 16  # the bit of a sample's state: its outermost frames are missing


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


def test_program_does_not_notice(chosen_launch):
    """Threads, forks and execs under fire: the same output, no thread and no child too many, no warning."""
    launch = chosen_launch
    program = launch.program("storm.py")
    plain = launch.plain("-W", "error", program)
    done = record(launch, "-W", "error", program, rate=5000)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
    assert plain.stdout == b"1 thread\nno child\n"


def test_calls_are_not_interrupted(chosen_launch):
    """Sleeping threads get no signal, and a sleep that one interrupts just as it begins goes on."""
    launch = chosen_launch
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


def test_exec_replaces_the_program(chosen_launch):
    """A signal that was on its way to a program must not kill the one that takes its place."""
    launch = chosen_launch
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


def test_deep_stacks_are_cut(launch):
    """Of 50,000 frames the innermost are kept, and no others are walked: that would take most of the time."""
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
            time.sleep(0.1)
        descend(50000)
        """,
    )
    assert record(launch, "x.py").returncode == 0
    found = Samples(launch.folder / "out.sonde")
    deep = [state for row, state in zip(found.rows, found.data["samples"]["state"]) if len(row.stack) == 1024]
    assert len(deep) > 30 and all(int(state) & CUT for state in deep)
    about = found.data["meta"]
    assert int(about["overhead_ns"]) < 0.2 * int(about["elapsed_ns"])


def test_children_that_are_not_looked_at(chosen_launch):
    """A forked child that ends, or execs, before its first sample is due costs a sampler that does nothing.
    That is counted."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os
        for turn in range(40):
            child = os.fork()
            if not child:
                os.execv("/bin/true", ["true"]) if turn % 2 else os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """,
    )
    assert record(launch, "x.py", rate=1).returncode == 0
    found = Samples(launch.folder / "out.sonde")
    assert len(found.data["processes"]["pid"]) - 1 <= 10  # one, but for improbable looks
    assert int(found.data["meta"]["overhead_ns"]) > 40 * 2000


def test_children_are_recorded_from_their_fork_on(chosen_launch):
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os, time
        before = time.monotonic_ns()
        child = os.fork()
        after = time.monotonic_ns()
        if child == 0:
            print(os.getpid(), os.getppid(), before, after, flush=True)
            while time.process_time() < 0.5: pass
            os._exit(0)
        os.waitpid(child, 0)
        """,
    )
    done = record(launch, "x.py", rate=100)
    pid, parent, before, after = map(int, done.stdout.split())
    found = Samples(launch.folder / "out.sonde")
    processes = found.data["processes"]
    row = processes["pid"].tolist().index(pid)
    assert processes["pid"][processes["parent"][row]] == parent
    assert before < processes["start_ns"][row] < after
    owners = found.data["threads"]["process"].tolist()
    assert sum(sample.count for sample in found.rows if owners[sample.thread] == row) > 5


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


# ---- what is told ----


def test_the_programs_terminal_is_its_own(modern_launch):
    """No line of progress wipes out what the program has written on its last line."""
    launch = modern_launch
    code = "import time; print('part', end='', flush=True); time.sleep(1.6); print('whole', flush=True)"
    command = [launch.sonde, "record", "-o", "out.sonde", "--", launch.python.executable, "-c", code]
    with Screen(launch, command) as screen:
        assert screen.end() == 0
        assert screen.written.startswith(b"partwhole\r\n") and screen.lines[0] == "partwhole"
        assert "Samples: " in screen.text


def test_progress_of_a_process_that_runs_already(modern_launch):
    launch = modern_launch
    with launch.start([launch.python.executable, "-c", "while True: pass"]) as process:
        command = [launch.sonde, "record", "-o", "out.sonde", "-p", str(process.pid), "-d", "1.6"]
        with Screen(launch, command) as screen:
            assert screen.end() == 0
            assert re.search(rb"\r\x1b\[Ksonde: 1\.\d s, \d+ samples, ", screen.written)
        process.kill()


def test_the_chosen_name_is_told(modern_launch):
    """Also without a terminal: in the log of a batch job."""
    launch = modern_launch
    done = launch.run([launch.sonde, "record", "--", launch.python.executable, "-c", "sum(range(10**6))"])
    (file,) = launch.folder.glob("*.sonde")
    assert any(line.endswith(f" 1 process: {file.name}") for line in done.stderr.decode().splitlines())
    quiet = [launch.sonde, "record", "--quiet", "--", launch.python.executable, "-c", "pass"]
    assert launch.run(quiet).stderr == b""


def unrecorded(launch, *command, before=()):
    """Why nothing was recorded."""
    done = launch.run([*before, launch.sonde, "record", "--quiet", "-o", "none.sonde", "--", *command])
    assert done.returncode == 0, done.stderr
    assert not (launch.folder / "none.sonde").exists()
    (line,) = (line for line in done.stderr.decode().splitlines() if line.startswith("sonde: "))
    assert line.startswith("sonde: warning: no Python program was recorded, so there is no recording: ")
    return line


def test_programs_without_python(modern_launch):
    line = unrecorded(modern_launch, "true")
    assert "true started no Python" in line and "sonde record -p PID" in line


def test_programs_in_another_root(modern_launch):
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin")
    if os.geteuid() != 0 or not chroot:
        pytest.skip("only root may change the root")
    line = unrecorded(modern_launch, chroot, "/", "true")
    assert "chroot runs its command in another root" in line and "libsonde_agent.so" in line
    assert "sonde record -p PID" in line


def test_static_programs(modern_launch):
    launch = modern_launch
    launch.write("x.c", "int main(void) { return 0; }")
    if launch.run(["cc", "-static", "-o", "x", "x.c"]).returncode:
        pytest.skip("no static program can be built")
    line = unrecorded(launch, "./x")
    assert "./x is a static program" in line and "sonde record -p PID" in line


def test_programs_that_gain_rights(modern_launch):
    launch = modern_launch
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can make such a program")
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if launch.run([*other, "test", "-r", launch.sonde]).returncode:
        pytest.skip("another user cannot read this sonde: it lies in a private folder")
    launch.folder.chmod(0o777)
    program = launch.folder / "x"
    shutil.copy("/bin/true", program)
    program.chmod(0o4755)
    line = unrecorded(launch, "./x", before=other)
    assert "./x gains rights by being started" in line and "sonde record -p PID (as root)" in line
