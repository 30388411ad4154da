"""What time means while sampling: when it ends, whose it is, which clock counts."""

import collections
import os
import signal
import time

import pytest
from conftest import read
from samples import record
from screen import open_terminal

pytestmark = pytest.mark.alone

SPIN = """
    import sys, time
    def spin(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
"""


def write_spinner(launch, rest, name="x.py"):
    from textwrap import dedent

    launch.write(name, dedent(SPIN) + dedent(rest))


def test_duration_ends_sampling_not_the_program(modern_launch):
    """The recording is there, closed, while the program still runs; then its exit code is passed on."""
    launch = modern_launch
    write_spinner(
        launch,
        """
        import os
        while not os.path.exists("go"):
            spin(0.01)
        print("end")
        sys.exit(7)
        """,
    )
    command = [launch.sonde, "record", "-d", "0.3", "-f", "raw", "-o", launch.folder / "out.txt"]
    with launch.start([*command, "--", launch.python.executable, "x.py"]) as process:
        for _ in range(600):
            if (launch.folder / "out.txt").exists() and not (launch.folder / "out.txt.sonde").exists():
                break
            time.sleep(0.05)
        assert process.poll() is None
        assert b"spin" in (launch.folder / "out.txt").read_bytes()
        (launch.folder / "go").touch()
        out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == (b"end\n", 7)
    assert err.splitlines()[-1].startswith(b"sonde: Samples: ")


def test_bad_duration(modern_launch):
    launch = modern_launch
    for text in ("0", "-1", "x", "1s", "nan", "1e300"):
        done = launch.run([launch.sonde, "record", f"--duration={text}", "--", "true"])
        assert done.returncode == 2 and b"--duration" in done.stderr, text
    done = record(launch, "-c", "pass", more=["-d", "unlimited"])
    assert done.returncode == 0


def test_interrupt_ends_sampling(modern_launch):
    """A program that survives Ctrl-C goes on; the recording is complete all the same."""
    launch = modern_launch
    write_spinner(
        launch,
        """
        import os, signal
        def handle(number, frame):
            print("interrupted", flush=True)
        signal.signal(signal.SIGINT, handle)
        print("ready", flush=True)
        while not os.path.exists("go"):
            spin(0.01)
        print("end")
        """,
    )
    command = [launch.sonde, "record", "--quiet", "-o", launch.folder / "out.sonde"]
    with launch.start([*command, "--", launch.python.executable, "x.py"]) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"interrupted\n"
        for _ in range(600):
            if b"closed by the recorder" in launch.run([launch.sonde, "info", "out.sonde"]).stdout:
                break
            time.sleep(0.05)
        assert process.poll() is None
        (launch.folder / "go").touch()
        out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == (b"end\n", 0)
    assert total(launch.folder / "out.sonde", lambda stack, state: "spin" in stack) > 20


def run_on_terminal(launch, command):
    """What a terminal shows of the command's standard error."""
    ours, theirs = open_terminal()
    with launch.start(command, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            shown += more
        process.wait()
    os.close(ours)
    return shown


def test_progress_on_a_terminal_only(modern_launch):
    launch = modern_launch
    write_spinner(launch, "spin(1.6)")
    command = [
        launch.sonde,
        "record",
        "-o",
        launch.folder / "a.sonde",
        "--",
        launch.python.executable,
        "x.py",
    ]
    shown = run_on_terminal(launch, command)
    assert b" samples, 0 errors" in shown and shown.count(b"\r\x1b[Ksonde: ") >= 2
    last = shown.decode().splitlines()[-2:]
    assert "Overhead: program slowed by about " in last[0] and "lost: 0" in last[0]
    assert "Samples: " in last[1] and last[1].rstrip().endswith(" Errors: 0")
    command[3] = launch.folder / "b.sonde"
    assert b"\r" not in launch.run(command).stderr


RUNNING, GIL, GC = 1, 2, 8


def rows(path):
    """(names from the innermost out, count, state) of each row of samples."""
    data = read(path)
    names = [data["strings"][name] for name in data["codes"]["name"]]
    nodes, samples = data["nodes"], data["samples"]
    for node, count, state in zip(samples["node"], samples["count"], samples["state"]):
        stack = []
        while node:
            stack.append(names[nodes["code"][node]])
            node = nodes["parent"][node]
        yield stack, count, state


def total(path, chosen):
    return sum(count for stack, count, state in rows(path) if chosen(stack, state))


def test_who_holds_the_gil(chosen_launch):
    """One thread hashes without the GIL, one spins with it: both run, one is marked."""
    launch = chosen_launch
    write_spinner(
        launch,
        """
        import hashlib, threading
        def with_gil(): spin(0.8)
        def without_gil():
            block, end = bytes(1 << 22), time.perf_counter() + 0.8
            while time.perf_counter() < end:
                hashlib.sha256(block)
        thread = threading.Thread(target=without_gil)
        thread.start()
        with_gil()
        thread.join()
        """,
    )
    assert record(launch, "x.py").returncode == 0
    path = launch.folder / "out.sonde"
    held, free = collections.Counter(), collections.Counter()
    for stack, count, state in rows(path):
        if state & RUNNING:
            for name in {"with_gil", "without_gil"} & set(stack):
                (held if state & GIL else free)[name] += count
    assert held["with_gil"] > 50 and free["without_gil"] > 50, (held, free)
    assert 2 * held["with_gil"] > 3 * free["with_gil"], (held, free)
    assert free["without_gil"] > 9 * held["without_gil"], (held, free)
    raw = launch.run([launch.sonde, "export", "--gil", "-f", "collapsed", "-o", "-", "out.sonde"])
    assert b"with_gil" in raw.stdout and raw.returncode == 0


def test_gil_option(modern_launch):
    """As with py-spy: -g leaves threads out that run without the GIL."""
    launch = modern_launch
    launch.write(
        "x.py",
        """
        import hashlib, time
        def without_gil():
            block, end = bytes(1 << 22), time.perf_counter() + 0.5
            while time.perf_counter() < end:
                hashlib.sha256(block)
        without_gil()
        """,
    )
    counts = []
    for more in ([], ["-g"]):
        done = record(launch, "x.py", output="out", more=["-f", "raw", *more])
        assert done.returncode == 0
        lines = (launch.folder / "out").read_text().splitlines()
        counts.append(sum(int(line.rpartition(" ")[2]) for line in lines if "without_gil" in line))
    assert counts[0] > 200 and counts[1] < counts[0] / 4


def test_garbage_collection_is_a_frame(chosen_launch):
    """The same time is spent collecting and spinning, measured by the program itself."""
    launch = chosen_launch
    write_spinner(
        launch,
        """
        import gc
        gc.disable()
        kept = [[number] for number in range(200000)]
        collecting = 0
        for turn in range(12):
            begin = time.perf_counter()
            gc.collect()
            collecting += time.perf_counter() - begin
        spin(collecting)
        """,
    )
    assert record(launch, "x.py", rate=4000).returncode == 0
    path = launch.folder / "out.sonde"
    collecting = total(path, lambda stack, state: stack[:2] == ["<garbage collection>", "<module>"])
    spinning = total(path, lambda stack, state: stack[:1] == ["spin"])
    # The program's own, and perhaps one that an import set off before it was switched off.
    every = total(path, lambda stack, state: stack[:1] == ["<garbage collection>"])
    assert every == total(path, lambda stack, state: state & GC) >= collecting
    assert spinning > 100
    assert 0.7 < collecting / spinning < 1.4


def test_names_of_threads(chosen_launch):
    """As the program names them, also late; in exports, too."""
    launch = chosen_launch
    write_spinner(
        launch,
        """
        import threading
        def renamed():
            time.sleep(0.3)
            threading.current_thread().name = "second name \u00e4"
            time.sleep(0.6)
        threads = [
            threading.Thread(target=time.sleep, args=(0.9,), name="sleeper"),
            threading.Thread(target=spin, args=(0.5,), name="spinner"),
            threading.Thread(target=renamed, name="first name"),
            threading.Thread(target=time.sleep, args=(0.9,)),
        ]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(threads[3].name)
        """,
    )
    done = record(launch, "x.py")
    assert done.returncode == 0
    data = read(launch.folder / "out.sonde")
    names = {data["strings"][name] for name in data["threads"]["name"][1:]}
    assert names == {"MainThread", "sleeper", "spinner", "second name ä", done.stdout.decode().strip()}
    shown = launch.run([launch.sonde, "export", "-i", "-f", "speedscope", "-o", "-", "out.sonde"]).stdout
    assert b'"sleeper"' in shown or b"sleeper" in shown


def test_no_call_is_interrupted(chosen_launch):
    """Calls that a signal ends whatever SA_RESTART says begin again, unless the signal was the program's."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import ctypes, errno, signal, time
        libc = ctypes.CDLL(None, use_errno=True)
        class Time(ctypes.Structure):
            _fields_ = [("seconds", ctypes.c_long), ("parts", ctypes.c_long)]
        def spin(seconds):
            end = time.perf_counter() + seconds
            while time.perf_counter() < end: pass
        epoll = libc.epoll_create(1)
        events = ctypes.create_string_buffer(64)
        calls = {
            "usleep": lambda: libc.usleep(300),
            "nanosleep": lambda: libc.nanosleep(ctypes.byref(Time(0, 300000)), None),
            "clock_nanosleep": lambda: -libc.clock_nanosleep(1, 0, ctypes.byref(Time(0, 300000)), None),
            "poll": lambda: libc.poll(None, 0, 1),
            "ppoll": lambda: libc.ppoll(None, 0, ctypes.byref(Time(0, 300000)), None),
            "select": lambda: libc.select(0, None, None, None, ctypes.byref(Time(0, 300))),
            "pselect": lambda: libc.pselect(0, None, None, None, ctypes.byref(Time(0, 300000)), None),
            "epoll_wait": lambda: libc.epoll_wait(epoll, events, 1, 1),
        }
        for name, call in calls.items():
            began = time.perf_counter()
            results = [(spin(0.0002), call())[1] for turn in range(80)]
            assert not any(result < 0 for result in results), name
            assert time.perf_counter() - began > 80 * 0.0005, name
        signal.signal(signal.SIGALRM, lambda number, frame: None)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        began = time.perf_counter()
        assert libc.usleep(990000) == -1 and ctypes.get_errno() == errno.EINTR
        assert time.perf_counter() - began < 0.9
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        signal.pause()
        print("end")
        """,
    )
    done = record(launch, "x.py", rate=10000)
    assert (done.stdout, done.stderr, done.returncode) == (b"end\n", b"", 0)


def test_cpu_clock(chosen_launch):
    """Weights are CPU time, to within what the kernel's ticks hide, whatever the machine does besides."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import threading, time
        def burn(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass
        def now_and_then():
            for turn in range(30):
                burn(0.005)
                time.sleep(0.01)
        def always(): burn(0.3)
        threads = [threading.Thread(target=function) for function in (now_and_then, always)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """,
    )
    assert record(launch, "x.py", more=["--clock", "cpu"]).returncode == 0
    path = launch.folder / "out.sonde"
    weights = read(path)["samples"]["weight_ns"]
    spent = collections.Counter()
    for (stack, _, state), weight in zip(rows(path), weights):
        assert state & RUNNING
        for name in {"now_and_then", "always"} & set(stack):
            spent[name] += weight / 1e9
    assert 0.28 < spent["always"] < 0.33
    assert 0.13 < spent["now_and_then"] < 0.18
    report = launch.run([launch.sonde, "report", "out.sonde"]).stdout
    assert b"of CPU time" in b" ".join(report.split())


def test_rate_and_lateness_are_stored(modern_launch):
    launch = modern_launch
    write_spinner(launch, "spin(0.5)")
    assert record(launch, "x.py", rate=500).returncode == 0
    meta = read(launch.folder / "out.sonde")["meta"]
    assert 0 < int(meta["achieved_hz"]) < 700 and meta["rate_hz"] == "500"
    assert 1 <= int(meta["late_us_50"]) <= int(meta["late_us_90"]) <= int(meta["late_us_99"])
    report = b" ".join(launch.run([launch.sonde, "report", "out.sonde"]).stdout.split())
    assert f"at 500 Hz ({meta['achieved_hz']} reached, 99% within ".encode() in report
