"""Regions, marks, counters and metadata that a program tells of: exactly those, in every recording."""

import os
import signal
from collections import Counter

import interpreters
import pytest
from conftest import read
from event_rows import Events

LEFT_OPEN = "regions that had not ended when their thread, or the recording, did: they end there"
TOO_FAST = "regions left out because they came faster than they could be written"


def record(launch, command, *arguments, options=(), code=0):
    """A program of this folder under `sonde COMMAND`: what it wrote, and its events."""
    output = launch.folder / "out.sonde"
    words = [launch.sonde, *command.split(), "--quiet", "-o", output, *options, "--"]
    done = launch.run([*words, launch.python.executable, *arguments])
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode(), Events(output)


def check_told(text, events):
    parent, child = map(int, text.split())
    counts = {span: events.counts[span] for span in events.counts if not span.startswith("task ")}
    assert counts == {
        "whole": 1,
        "recursive": 4 + 4 * 100 * 2 + 1,
        "decorated": 5,
        "inner": 5,
        "task": 3,
        "tic": 1,
        "other thread": 1,
        "parent": 1,
        "of the child": 1,
        "generator": 1,
    }
    assert events.paths["whole/recursive/recursive/recursive/recursive"] == 1
    assert events.paths["whole/decorated/inner"] == 5
    assert events.paths["recursive/recursive"] == 400, "threads have their own"
    assert {span.pid for span in events.named("of the child")} == {child}
    assert sorted({span.pid for span in events.named("recursive")}) == sorted((parent, child))
    assert len({span.thread for span in events.named("recursive")}) == 6
    assert events.only("other thread").thread == parent, "it was begun there"
    assert events.only("whole").thread == parent
    # Tasks take turns; each one's two regions end when it does, whatever the others do.
    for turns, outer in enumerate(events.named("task"), 1):
        inner = events.only(f"task {turns}")
        assert outer.begin <= inner.begin <= inner.end <= outer.end
    ends = [span.end for span in events.named("task")]
    assert ends == sorted(ends), "the first that began has the fewest turns"
    assert events.notes[LEFT_OPEN] == 1
    whole = events.only("whole")
    assert [(mark.name, mark.text) for mark in events.marks] == [("one", "with a text: é"), ("two", "")]
    assert all(whole.begin < mark.time < whole.end and mark.thread == parent for mark in events.marks)
    assert [value for _, value in events.values("residual")] == [0.25, -1e-9, 3]
    assert events.meta["program.mesh"] == "17"
    assert not [note for note in events.notes if "left out" in note or "passed over" in note]


def test_exactly_what_was_told(launch):
    text, events = record(launch, "record", launch.program("told.py"), interpreters.package_folder(), code=3)
    check_told(text, events)


@pytest.mark.parametrize("command", ["trace", "line", "mem", "mem --exact"])
def test_in_every_kind_of_recording(modern_launch, command):
    program = modern_launch.program("told.py")
    check_told(*record(modern_launch, command, program, interpreters.package_folder(), code=3))


def test_nothing_recorded_and_switched_off(modern_launch):
    """Without a recorder the program runs; SONDE_TIMERS=0 switches timers off, and nothing else."""
    program, package = modern_launch.program("told.py"), interpreters.package_folder()
    assert modern_launch.plain(program, package).returncode == 3
    output = modern_launch.folder / "out.sonde"
    words = [modern_launch.sonde, "record", "--quiet", "-o", output, "--", modern_launch.python.executable]
    done = modern_launch.run([*words, program, package], environment={"SONDE_TIMERS": "0"})
    assert done.returncode == 3, done.stderr.decode()
    events = Events(output)
    assert not events.spans and len(events.marks) == 2


def test_a_million_regions(modern_launch):
    """Each is there or counted as left out; the program did not wait."""
    program = modern_launch.write(
        "million.py",
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        from sonde import timed_region
        outer, inner = timed_region("outer"), timed_region("inner")
        for _ in range(500000):
            with outer:
                with inner:
                    pass
        """,
    )
    output = modern_launch.folder / "out.sonde"
    words = [modern_launch.sonde, "record", "--quiet", "-r", "10", "-o", output, "--"]
    words += [modern_launch.python.executable]
    done = modern_launch.run([*words, program, interpreters.package_folder()])
    assert done.returncode == 0, done.stderr.decode()
    recording = read(output)
    begins = Counter(recording["region_events"]["region"])
    ends = Counter(recording["region_events"]["ends"])
    left_out = sum(
        count
        for text, count in zip(recording["notes"]["text"], recording["notes"]["count"])
        if recording["strings"][text] == TOO_FAST
    )
    assert begins[1] == ends[1] > 1000 and begins[2] == ends[2]
    assert begins[1] + begins[2] + left_out == 1000000


def test_killed(launch):
    """What was told before kill -9 is there; what was open then ends with the process, and that is said."""
    program = launch.write(
        "killed.py",
        """
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        from sonde import signpost, timed_region
        with timed_region("open"):
            for _ in range(1000):
                with timed_region("step"):
                    pass
            signpost("last")
            os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    _, events = record(launch, "record", program, interpreters.package_folder(), code=-signal.SIGKILL)
    assert events.counts == {"open": 1, "step": 1000}
    assert events.paths["open/step"] == 1000
    assert events.notes[LEFT_OPEN] == 1
    (process,) = events.rows("processes")[1:]
    assert events.marks[0].time < events.only("open").end <= process["end_ns"]


def test_threads_that_come_and_go(modern_launch):
    """More than there are rings for, one after another, and many at the same time."""
    program = modern_launch.write(
        "many.py",
        """
        import sys, threading
        sys.path.insert(0, sys.argv[1])
        from sonde import timed_region
        def work(name):
            with timed_region(name):
                pass
        for _ in range(600):
            thread = threading.Thread(target=work, args=("short",))
            thread.start()
            thread.join()
        gate = threading.Barrier(100)
        def wait():
            with timed_region("together"):
                gate.wait()
        threads = [threading.Thread(target=wait) for _ in range(100)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """,
    )
    _, events = record(modern_launch, "record", program, interpreters.package_folder())
    assert events.counts == {"short": 600, "together": 100}
    assert len({span.thread for span in events.named("together")}) == 100
    assert os.path.exists(modern_launch.folder / "out.sonde")


MARKED = """
import asyncio, sys
import sonde

@profile
def grow():
    return bytearray(32 << 20)

@profile(precision=4)
def outer():
    kept = grow()
    with profile.timestamp("block"):
        pass
    return kept

class Class:
    @profile
    @staticmethod
    def method():
        raise KeyError

@profile
async def task(turns):
    for _ in range(turns):
        await asyncio.sleep(0)

@profile
def values():
    yield from range(3)

async def tasks():
    await asyncio.gather(task(1), task(2))

kept = outer()
try:
    Class.method()
except KeyError:
    pass
asyncio.run(tasks())
assert list(values()) == [0, 1, 2]
with sonde.timed_region("timed"):
    pass

@sonde.memprof
def memory():
    pass

@sonde.lineprof
def times():
    pass

memory()
times()
from memory_profiler import profile as imported

@imported
def last():
    pass

last()
"""


def test_memory_over_time_is_marked(launch):
    """sonde mem --rss: what profile decorates, its blocks and regions have brackets, as mprof's have."""
    program = launch.write("marked.py", MARKED)
    _, events = record(launch, "mem --rss", program)
    assert events.paths == {
        "__main__.outer": 1,
        "__main__.outer/__main__.grow": 1,
        "__main__.outer/block": 1,
        "__main__.method": 1,
        "__main__.task": 1,
        "__main__.task/__main__.task": 1,
        "__main__.values": 1,
        "timed": 1,
        "__main__.memory": 1,
        "__main__.last": 1,
    }
    before, after = events.only("__main__.grow").grown
    assert before > 1 << 20 and 0 <= after - before - (32 << 20) < 1 << 20
    first, second = events.named("__main__.task")
    assert first.end < second.end
    done = launch.run([launch.sonde, "export", launch.folder / "out.sonde", "-o", launch.folder / "out.dat"])
    assert done.returncode == 0, done.stderr.decode()
    lines = [line.split() for line in (launch.folder / "out.dat").read_text().splitlines()]
    (grown,) = [line for line in lines if line[:2] == ["FUNC", "__main__.grow"]]
    assert [float(grown[2]), float(grown[4])] == pytest.approx([before / 2**20, after / 2**20], abs=1e-4)


def test_an_unmarked_program_has_nothing_more(modern_launch):
    """No name but `profile`, no module of ours, no environment: what it does is its own."""
    program = modern_launch.write(
        "plain.py",
        """
        import os, sys
        print(sorted(name for name in sys.modules if "sonde" in name))
        print([name for name in os.environ if "SONDE" in name or "PRELOAD" in name])
        print(len(os.listdir("/proc/self/fd")))
        """,
    )
    text, events = record(modern_launch, "mem --rss", program)
    assert text == modern_launch.plain(program).stdout.decode()
    assert not events.spans and len(events.rows("processes")) == 2
