"""Only a part of a program is recorded: sonde.Profiler with --partial, --start-at, --stop-at."""

import pytest
from conftest import read

FORMS = """
    import asyncio, contextlib, os, threading

    import sonde

    def child(n):
        return n

    def work(n):
        for _ in range(n):
            child(n)

    def outside():
        child(0)

    outside()
    profiler = sonde.Profiler()
    profiler.enable()
    work(1)
    profiler.disable()
    outside()
    profiler.disable()  # one too many
    with sonde.Profiler() as inner:
        assert isinstance(inner, sonde.Profiler)
        with profiler:
            work(2)
        work(3)
    outside()
    with contextlib.suppress(KeyError), profiler:
        work(4)
        {}["missing"]
    outside()

    @sonde.Profiler()
    def decorated(n, /, *, more):
        work(n)
        return more

    @profiler
    def generated():
        yield work(6)

    @profiler
    async def awaited():
        await asyncio.sleep(0)
        work(7)
        return 7

    assert decorated(5, more=1) == 1 and decorated.__name__ == "decorated"
    assert list(generated()) == [None]
    assert asyncio.run(awaited()) == 7
    outside()

    # Whichever thread enables it, all are recorded.
    ready, done = threading.Event(), threading.Event()
    def wait():
        ready.wait()
        work(8)
        done.set()
    thread = threading.Thread(target=wait)
    thread.start()
    with profiler:
        ready.set()
        done.wait()
    thread.join()
    outside()
"""
PARTS = range(1, 9)


def calls_of(launch, output="out.sonde", file="prog.py"):
    table = launch.counts(str(launch.folder / file), output)
    return {name.rpartition(".")[2]: count for name, (count, _) in table.items()}


def test_forms_of_the_profiler(launch):
    """Exactly what runs while one is enabled, on every Python; the profiler itself is no part of it."""
    path = launch.write("prog.py", FORMS)
    done = launch.traced(path, trace=["-p"])
    assert (done.returncode, done.stderr) == (0, b"")
    calls = calls_of(launch)
    assert calls.pop("work") == len(PARTS)
    assert calls.pop("child") == sum(PARTS)
    assert "outside" not in calls
    strings = read(launch.folder / "out.sonde")["strings"]
    assert not [text for text in strings if "_inside" in text or text in {"enable", "disable"}]


def test_nothing_changes_without_it(launch):
    """Neither with sonde and without --partial, nor without sonde at all."""
    path = launch.write("prog.py", FORMS)
    done = launch.traced(path)
    assert (done.returncode, done.stderr) == (0, b"")
    calls = calls_of(launch)
    assert calls["work"] == len(PARTS) and calls["outside"] == 6


def test_tracy_is_stood_in_for(launch):
    program = """
        from tracy import Profiler, signpost

        def function_under_test():
            return child(1) + child(2)

        def child(n):
            return n

        profiler = Profiler()
        child(0)
        signpost("start", message="now")
        profiler.enable()
        function_under_test()
        profiler.disable()
        child(0)
    """
    path = launch.write("prog.py", program)
    assert b"No module named 'tracy'" in launch.plain(path).stderr
    for partial, children in (["-p"], 2), ([], 4):
        done = launch.traced(path, trace=partial)
        assert (done.returncode, done.stderr) == (0, b"")
        assert calls_of(launch)["child"] == children
        recording = read(launch.folder / "out.sonde")
        assert [recording["strings"][name] for name in recording["marks"]["name"]] == ["start"]


def test_lines_of_the_part(launch):
    """-l: those of the program's own functions, while it is enabled."""
    program = """
        import json, sonde

        def child(n):
            total = 0
            for i in range(n):
                total += i
            return json.dumps(total)

        child(5)
        for n in 3, 4:
            with sonde.Profiler():
                child(n)
            child(5)
    """
    path = launch.write("prog.py", program)
    done = launch.traced(path, trace=["-p", "-l"])
    assert (done.returncode, done.stderr) == (0, b"")
    tables = read(launch.folder / "out.sonde")
    rows = zip(*(tables["lines"][name] for name in ("code", "line", "hits")))
    strings, codes = tables["strings"], tables["codes"]
    hits = {(strings[codes["name"][code]], line): count for code, line, count in rows if count}
    own = {place: count for place, count in hits.items() if place[0] == "child"}
    assert own == {("child", 4): 2, ("child", 5): 9, ("child", 6): 7, ("child", 7): 2}
    assert {name for name, _ in hits} <= {"child", "<module>"}
    assert calls_of(launch)["child"] == 2


def test_forked_children_go_on_as_their_parent_was(launch):
    program = """
        import os, sys, sonde

        def child(n):
            return n

        def fork(function):
            pid = os.fork()
            if not pid:
                function()
                sys.stdout.flush()
                os._exit(0)
            os.waitpid(pid, 0)

        def on_and_off():
            child(1)
            with sonde.Profiler():
                child(2)
                child(2)
            child(1)

        def off():
            child(3)
            profiler.disable()
            for _ in range(10):
                child(3)

        profiler = sonde.Profiler()
        fork(on_and_off)
        with profiler:
            child(4)
            fork(off)
            child(4)
        fork(on_and_off)
    """
    path = launch.write("prog.py", program)
    done = launch.traced(path, trace=["-p"])
    assert (done.returncode, done.stderr) == (0, b"")
    tables = read(launch.folder / "out.sonde")
    names = [tables["strings"][name] for name in tables["codes"]["name"]]
    found = {}
    for thread, node, calls in zip(*(tables["calls"][key] for key in ("thread", "node", "calls"))):
        if names[tables["nodes"]["code"][node]] == "child":
            process = tables["threads"]["process"][thread]
            found[process] = found.get(process, 0) + calls
    assert sorted(found.values()) == [1, 2, 2, 2]


PHASES = """
    import sonde
    from sonde import signpost, timed_region

    def inner():
        pass

    def between():
        pass

    def step():
        with timed_region("step"):
            inner()
        between()

    for number in range(5):
        step()
    signpost("turn")
    between()
    with timed_region("last#1"):
        inner()
"""
PLACES = {  # options: calls of inner and of between
    ("--start-at", "step#2", "--stop-at", "step#4"): (3, 2),
    ("--start-at", "step#4"): (3, 3),
    ("--stop-at", "step#2"): (2, 1),
    ("--start-at", "turn"): (1, 1),
    ("--stop-at", "turn"): (5, 5),
    ("--start-at", "step", "--skip-first", "3", "--stop-at", "turn"): (2, 2),
    ("--start-at", "last#1#1"): (1, 0),
}


def check_place(launch, options):
    path = launch.write("prog.py", PHASES)
    done = launch.traced(path, trace=options)
    assert (done.returncode, done.stderr) == (0, b"")
    calls = calls_of(launch)
    assert (calls.get("inner", 0), calls.get("between", 0)) == PLACES[options]


def test_start_and_stop(launch):
    check_place(launch, next(iter(PLACES)))


@pytest.mark.parametrize("options", list(PLACES)[1:], ids=" ".join)
def test_places(modern_launch, options):
    check_place(modern_launch, options)


def test_zones_without_the_lock(launch):
    """A thread in C says where it is while it does not hold the GIL: the main thread takes it up soon."""
    program = """
        import ctypes, time, sonde

        class Zones(ctypes.Structure):  # the beginning of struct sonde_zones
            _fields_ = [("version", ctypes.c_uint32), ("recording", ctypes.c_uint32)]
            _fields_ += [(name, ctypes.c_void_p) for name in ("name", "begin", "end")]

        zones = Zones.in_dll(ctypes.CDLL(None), "sonde_zones")
        arguments = (ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t)
        name = ctypes.CFUNCTYPE(ctypes.c_uint32, *arguments)(zones.name)
        begin, end = (ctypes.CFUNCTYPE(None, ctypes.c_uint32)(each) for each in (zones.begin, zones.end))
        native = name(1, b"native", 6)

        def inside():
            pass

        def outside():
            pass

        def settle():
            for _ in range(1000):
                time.sleep(0)

        outside()
        begin(native)
        settle()
        inside()
        end(native)
        settle()
        outside()
    """
    path = launch.write("prog.py", program)
    done = launch.traced(path, trace=["--start-at", "native", "--stop-at", "native"])
    if b"No module named '_ctypes'" in done.stderr:
        pytest.skip("this Python has no ctypes")
    assert (done.returncode, done.stderr) == (0, b"")
    calls = calls_of(launch)
    assert calls["inside"] == 1 and "outside" not in calls


def test_first_times_are_skipped(launch):
    program = """
        import sonde

        def work(n):
            pass

        for n in range(5):
            with sonde.Profiler(), sonde.Profiler():
                work(n)
    """
    path = launch.write("prog.py", program)
    launch.traced(path, trace=["-p", "--skip-first", "2"])
    assert calls_of(launch)["work"] == 3


SWITCHED = """
    import time, sonde

    def spin(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            sum(range(100))

    def inside():
        spin(0.1)

    def outside():
        spin(0.1)

    kept = []
    outside()
    kept.append(bytearray(40 << 20))
    for size in 5, 7:
        with sonde.Profiler():
            inside()
            kept.append(bytearray(size << 20))
        outside()
        outside()
        kept.append(bytearray(40 << 20))
"""


def record_part(launch, *command):
    path = launch.write("prog.py", SWITCHED)
    words = [launch.sonde, *command, "--partial", "--quiet", "-o", launch.folder / "out.sonde"]
    done = launch.run([*words, "--", launch.python.executable, path])
    assert done.returncode == 0, done.stderr
    return read(launch.folder / "out.sonde")


def names_on_stacks(tables):
    """{function: how many samples have it}"""
    names = [tables["strings"][name] for name in tables["codes"]["name"]]
    nodes, found = tables["nodes"], {}
    for node, count in zip(tables["samples"]["node"], tables["samples"]["count"]):
        on_stack = set()
        while node:
            on_stack.add(names[nodes["code"][node]])
            node = nodes["parent"][node]
        for name in on_stack:
            found[name] = found.get(name, 0) + count
    return found


@pytest.mark.parametrize("clock", ["wall", "cpu"])
def test_samples_of_the_part(launch, clock):
    """No sample elsewhere, and the rate is kept: what passes between the parts is not made up for."""
    tables = record_part(launch, "record", "--clock", clock, "-r", "1000")
    found = names_on_stacks(tables)
    assert found["inside"] > 50 and "outside" not in found
    weight_ns = sum(tables["samples"]["weight_ns"])
    assert weight_ns < 450e6 or clock == "wall"  # CPU time of the part; of the whole it is 500 ms at least


def test_lines_by_name_of_the_part(launch):
    tables = record_part(launch, "line", "-f", "inside", "-f", "outside")
    names = [tables["strings"][tables["codes"]["name"][code]] for code in tables["lines"]["code"]]
    hits = dict(zip(names, tables["lines"]["hits"]))
    assert hits["inside"] == 2 and not hits.get("outside")


def test_allocations_of_the_part(launch):
    tables = record_part(launch, "mem", "--exact")
    heap = tables["heap"]
    last = {}
    for key, total in zip(zip(heap["thread"], heap["node"], heap["allocator"]), heap["total_bytes"]):
        last[key] = total
    large = sum(total for total in last.values() if total >= 1 << 20)
    assert 12 << 20 <= large < 13 << 20


def test_memory_of_lines_of_the_part(launch):
    program = """
        import sonde

        @profile
        def work(size):
            return bytearray(size << 20)

        kept = [work(30)]
        with sonde.Profiler():
            kept.append(work(9))
        kept.append(work(30))
    """
    path = launch.write("prog.py", program)
    words = ["mem", "--lines", "--partial", "--no-view", "--quiet", "-o", launch.folder / "out.sonde"]
    done = launch.run([launch.sonde, *words, "--", launch.python.executable, path])
    assert done.returncode == 0, done.stderr
    rows = read(launch.folder / "out.sonde")["line_memory"]
    grown = dict(zip(rows["line"], zip(rows["hits"], rows["heap_growth_bytes"])))
    hits, growth = grown.pop(5)
    assert hits == 1 and 9 << 20 <= growth < 10 << 20
    assert all(hits == 1 for hits, _ in grown.values())  # the line that has the name


def test_a_part_that_never_comes_is_told(modern_launch):
    launch = modern_launch
    path = launch.write("prog.py", "def f(): pass\nf()\n")
    for options, words in {
        ("-p",): b"the program enabled no sonde.Profiler",
        ("--start-at", "nowhere"): b"the program did not come to --start-at nowhere",
    }.items():
        done = launch.run([*launch.tracer(trace=options), "--", launch.python.executable, path])
        assert done.returncode == 0 and words in done.stderr
    done = launch.run([launch.sonde, "mem", "--start-at", "nowhere", "--", launch.python.executable, path])
    assert done.returncode == 0 and words in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["trace", "--skip-first", "2", "x.py"],
        ["trace", "--start-at", "#3", "x.py"],
        ["trace", "-p", "--skip-first", "-1", "x.py"],
        ["record", "--partial", "-p", "1"],
        ["mem", "--rss", "--start-at", "a", "x.py"],
        ["mem", "--lines", "--skip-first", "2", "x.py"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_is_refused(modern_launch, words):
    modern_launch.write("x.py", "")
    done = modern_launch.run([modern_launch.sonde, *words])
    assert done.returncode == 2 and done.stderr.startswith(b"sonde: error: --")
