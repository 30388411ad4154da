"""`sonde line`: which functions are timed, and that nothing is lost or changed by it."""

import json
import signal

import line_times
import pytest

PACKAGE = {
    "shop/__init__.py": "def opened():\n    return 1\n",
    "shop/goods.py": """
        import functools


        class Box:
            def __init__(self, size):
                self.size = size

            def volume(self):
                return self.size ** 3

            @functools.lru_cache(maxsize=None)
            def cached(self):
                return self.size


        def pack(count):
            def one(size):
                return Box(size)

            return [one(i).volume() for i in range(count)]


        def unpack(boxes):
            return sum(boxes)


        class Label:
            text: str


        Label.__annotations__  # 3.14 has made a function of them
    """,
    "main.py": """
        import importlib

        import shop.goods


        class Till:
            def total(self, boxes):
                return shop.goods.unpack(boxes)


        def work():
            return Till().total(shop.goods.pack(3)) + shop.opened()


        def other():
            return 1


        work()
        other()
        importlib.reload(shop.goods)
        work()
        exec(compile("def made():\\n    return 1\\nmade()", "made.py", "exec"))
    """,
}

# What is asked for in one run, and which functions that is.
TARGETS = [
    (["work", "made", "shop.goods.pack"], {"work", "made", "pack"}),
    (["Till.total", "main.other", "shop/goods.py:18"], {"total", "other", "one"}),
    (["Till", "shop.goods.Box", "main.py:12"], {"total", "__init__", "volume", "work"}),
    (["shop"], {"opened", "__init__", "volume", "pack", "one", "unpack"}),
    (["shop/"], {"opened", "__init__", "volume", "pack", "one", "unpack"}),
    (["shop/goods.py"], {"__init__", "volume", "pack", "one", "unpack"}),
]


@pytest.fixture
def package(launch):
    for name, text in PACKAGE.items():
        launch.write(name, text)
    return launch


def test_targets(package):
    for targets, expected in TARGETS:
        options = [word for target in targets for word in ("-f", target)]
        done = line_times.timed(package, "main.py", options=options)
        assert done.returncode == 0, done.stderr.decode()
        assert set(line_times.by_name(package)) == expected, targets


def test_targets_that_mean_nothing_are_named(package):
    options = ["-f", "work", "-f", "shop.goods.sell", "-f", "Till.total", "-f", "missing.py:3", "-v"]
    done = line_times.timed(package, "main.py", output="out.lprof", options=options)
    assert b"of what -f names, this was never called: shop.goods.sell, missing.py:3\n" in done.stderr
    assert b"Self Time" in done.stdout
    assert not (package.folder / "out.lprof.sonde").exists()


def test_reloaded_functions_add_up(package):
    line_times.timed(package, "main.py", options=["-f", "shop.goods.pack"])
    assert sum(line_times.hits(line_times.by_name(package)["pack"]).values()) >= 4


FORKS = """
    import os


    def before(count):
        total = 0
        for i in range(count):
            total += i
        child = os.fork()
        total += 1
        if child == 0:
            inside(2)
            os._exit(0)
        os.waitpid(child, 0)
        return total


    def inside(count):
        for i in range(count):
            count += i


    before(10)
    inside(3)
"""


def test_forked_child(launch):
    launch.write("forks.py", FORKS)
    done = line_times.timed(launch, "forks.py", options=["-f", "before", "-f", "inside"])
    assert done.returncode == 0, done.stderr.decode()
    timed = line_times.by_name(launch)
    # The line with the fork is one hit, of the parent; what follows it is one of each.
    common = {5: 1, 6: 11, 7: 10, 8: 1, 9: 2, 10: 2}
    assert line_times.hits(timed["before"]) == {**common, 11: 1, 12: 1, 13: 1, 14: 1}
    assert line_times.hits(timed["inside"]) == {18: 7, 19: 5}


POOL = """
    import multiprocessing
    import sys


    def work(number):
        total = 0
        for i in range(number):
            total += i
        return total


    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            pool.map(work, [5] * 8, chunksize=1)
            pool.close()
            pool.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(launch, method):
    launch.write("pool.py", POOL)
    # A child that was spawned runs the program under another name.
    options = ["-f", "work"]
    done = line_times.timed(launch, "pool.py", method, options=options, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert line_times.hits(line_times.by_name(launch)["work"]) == {6: 8, 7: 48, 8: 40, 9: 8}


KILLED = """
    import os
    import signal
    import time


    def work(count):
        for i in range(count):
            i += 1
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)


    def main():
        work(100000)


    main()
"""


def test_killed_program_keeps_all(launch):
    launch.write("killed.py", KILLED)
    done = line_times.timed(launch, "killed.py", options=["-f", "work", "-f", "main"])
    assert done.returncode == -signal.SIGKILL
    timed = line_times.by_name(launch)
    assert line_times.hits(timed["work"]) == {7: 100001, 8: 100000, 9: 1, 10: 1}
    assert line_times.hits(timed["main"]) == {14: 1}
    # The line of main() had not ended; nor had its callee.
    lines = sum(row["total_ns"] for row in timed["work"].values())
    assert lines >= 300_000_000
    assert abs(timed["main"][14]["total_ns"] - lines) < 0.05 * lines
    assert timed["main"][14]["self_ns"] < 0.05 * lines


THREADS = """
    import threading


    def work(count):
        total = 0
        for i in range(count):
            total += i
        return total


    threads = [threading.Thread(target=work, args=(10 * n,), name=f"worker {n}") for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_apart(launch):
    launch.write("threads.py", THREADS)
    line_times.timed(launch, "threads.py", options=["-f", "work", "--threads"])
    report = launch.run([launch.sonde, "report", "--json", launch.folder / "out.sonde"])
    recorded = json.loads(report.stdout)
    names = {thread["id"]: thread["name"] for thread in recorded["threads"]}
    hits = {}
    for part in recorded["lines"]:
        hits[names[part["thread"]]] = {row["line"]: row["hits"] for row in part["rows"]}
    assert hits == {f"worker {n}": {5: 1, 6: 10 * n + 1, 7: 10 * n, 8: 1} for n in (1, 2, 3)}


SPINS = """
    import json
    import time

    now = time.perf_counter_ns
    inside, around = {}, {}


    def note(line, begin, took):
        inside[line] = inside.get(line, 0) + took
        around[line] = around.get(line, 0) + now() - begin


    def spin(milliseconds):
        begin = now()
        while now() < begin + milliseconds * 1_000_000:
            pass
        return now() - begin


    def work(count):
        for _ in range(count):
            begin = now()
            took = spin(2)
            note(23, begin, took)
            begin = now()
            took = spin(6)
            note(26, begin, took)
            begin = now()
            time.sleep(0.004)
            note(29, begin, 4_000_000)


    work(10)
    print(json.dumps([inside, around]))
"""


def test_times_are_those_of_the_program(launch):
    """The program's own clock, within a line and around it: that holds whatever else the machine does."""
    launch.write("spins.py", SPINS)
    done = line_times.timed(launch, "spins.py", options=["-f", "work", "-f", "spin"])
    timed = line_times.by_name(launch)
    work = timed["work"]
    inside, around = json.loads(done.stdout)
    for line in inside:
        row = work[int(line)]
        assert 0.98 * inside[line] <= row["total_ns"] <= 1.02 * around[line], line
        assert row["hits"] == 10
    # Callees and the line itself are all of it; a function that is C's own has no lines, and is the line's.
    called = sum(work[line]["total_ns"] - work[line]["self_ns"] for line in (23, 26))
    spun = sum(row["total_ns"] for row in timed["spin"].values())
    assert 0.98 * (inside["23"] + inside["26"]) <= spun <= 1.001 * called
    assert called <= work[23]["total_ns"] + work[26]["total_ns"]
    assert work[29]["self_ns"] == work[29]["total_ns"]
    assert work[23]["min_ns"] >= 0.98 * 2_000_000
    assert work[23]["max_ns"] <= work[23]["total_ns"]


CALLEES = """
    import functools
    import time


    def slow():
        time.sleep(0.005)


    class Thing:
        def __init__(self):
            slow()

        def __add__(self, other):
            slow()
            return self

        def __lt__(self, other):
            slow()
            return True

        @property
        def value(self):
            slow()

        def __enter__(self):
            slow()

        def __exit__(self, *error):
            slow()


    def produce():
        slow()
        yield 1
        slow()


    def work(thing):
        slow()
        Thing()
        thing + thing
        thing.value
        sorted([thing, thing])
        max([1, 2], key=lambda i: slow() or i)
        list(produce())
        functools.partial(slow)()
        with thing:
            pass
        [slow() for _ in range(2)]
        try:
            (lambda: slow() or 1 / 0)()
        except ZeroDivisionError:
            pass


    thing = Thing()
    slow()
    for _ in range(2):
        work(thing)
"""


def test_self_time_is_without_callees_of_every_kind(launch):
    """A busy machine may take the CPU away in a line itself, but not in the same one in every run."""
    launch.write("callees.py", CALLEES)
    always = None
    for _ in range(3):
        line_times.timed(launch, "callees.py", options=["-f", "work"])
        rows = line_times.by_name(launch)["work"]
        slow = {line for line, row in rows.items() if row["total_ns"] >= 2 * 5_000_000}
        assert len(slow) >= 11
        own = {line for line in slow if rows[line]["self_ns"] >= 0.25 * rows[line]["total_ns"]}
        always = own if always is None else always & own
        if not always:
            break
    assert not always


BESIDE = """
    import cProfile
    import pstats
    import sys


    def work(count):
        total = 0
        for i in range(count):
            total += helper(i)
        return total


    def helper(number):
        return number + 1


    def traced(count):
        seen = []

        def trace(frame, event, argument):
            seen.append((event, frame.f_code.co_name, frame.f_lineno))
            return trace

        sys.settrace(trace)
        work(count)
        helper(count)
        is_theirs = sys.gettrace() is trace
        sys.settrace(None)
        return is_theirs, seen


    def profiled(count):
        profile = cProfile.Profile()
        profile.runcall(work, count)
        rows = pstats.Stats(profile).stats.items()
        return sorted((key[2], row[0]) for key, row in rows if key[0] == __file__)


    work(2)
    print(traced(3))
    print(profiled(4))
    work(5)
"""


def test_beside_a_debugger_and_a_profiler(launch):
    """What they see is what they see without sonde; and what sonde counts is what it counts without them."""
    launch.write("beside.py", BESIDE)
    plain = launch.plain("beside.py")
    done = line_times.timed(launch, "beside.py", options=["-f", "work"])
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr.decode()
    calls, loops = 4, 2 + 3 + 4 + 5
    hits = line_times.hits(line_times.by_name(launch)["work"])
    assert hits == {7: calls, 8: loops + calls, 9: loops, 10: calls}


COUNTED = """
    import threading


    def helper(item):
        return -item


    def work(count):
        total = 0
        for i in sorted(range(count), key=helper):
            total += helper(i) + len("abc")
        return total


    def stream(count):
        for i in range(count):
            yield work(i)


    threads = [threading.Thread(target=work, args=(4,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    list(stream(5))
"""


def test_lines_and_calls_in_one_recording(launch):
    """Each is what it is without the other."""
    launch.write("counted.py", COUNTED)
    assert launch.traced("counted.py", output="calls.sonde").returncode == 0
    chosen = ["-f", "work", "-f", "stream"]
    assert line_times.timed(launch, "counted.py", output="lines.sonde", options=chosen).returncode == 0
    both = line_times.timed(launch, "counted.py", options=[*chosen, "--with", "trace"])
    assert both.returncode == 0, both.stderr.decode()
    counts = launch.counts("counted.py")
    assert counts == launch.counts("counted.py", "calls.sonde")
    assert counts["helper"][0] == 2 * (3 * 4 + sum(range(5)))
    lines = {name: line_times.hits(rows) for name, rows in line_times.by_name(launch).items()}
    alone = line_times.by_name(launch, "lines.sonde")
    assert lines == {name: line_times.hits(rows) for name, rows in alone.items()}
    assert lines["stream"] == {16: 6, 17: 5}


def test_setup_runs_first(launch):
    launch.write("first.py", "import builtins\n\nbuiltins.prepared = 5\n")
    launch.write("program.py", "def work():\n    return prepared\n\n\nprint(work())\n")
    done = line_times.timed(launch, "program.py", options=["-s", "first.py", "-f", "work"])
    assert (done.returncode, done.stdout) == (0, b"5\n"), done.stderr.decode()
    assert line_times.hits(line_times.by_name(launch)["work"]) == {2: 1}
    launch.write("first.py", "1 / 0\n")
    done = line_times.timed(launch, "program.py", options=["-s", "first.py", "-f", "work"])
    assert done.returncode == 2
    assert b"ZeroDivisionError" in done.stderr
    assert b"first.py failed" in done.stderr


DEEP = """
    import sys

    sys.setrecursionlimit(10**6)


    def down(count):
        if count == 0:
            return 0
        return down(count - 1) + 1


    print(down(int(sys.argv[1])))
"""


def test_deep_recursion(launch):
    launch.write("deep.py", DEEP)
    deep = "5000"
    done = line_times.timed(launch, "deep.py", deep, options=["-f", "down"])
    assert (done.returncode, done.stdout) == (0, b"5000\n"), done.stderr.decode()
    assert line_times.hits(line_times.by_name(launch)["down"]) == {7: 5001, 8: 1, 9: 5000}


JOINED = """
    import dis
    import sys


    def work(count):
        a = b = c = 0
        for i in range(count):
            a = i
            b = a + 1
            c = b
        return a, b, c


    def chosen():
        return work(10)


    chosen()
    work(3000)
    work(3000)
    if sys.version_info >= (3, 12):
        print([name for name in dis.get_instructions(work, adaptive=True) if "__" in name.opname])
"""


def test_code_that_is_not_chosen_is_left_as_it_was(launch):
    """3.12 takes joined instructions apart to put events in, and does not put them together again."""
    launch.write("joined.py", JOINED)
    plain = launch.plain("joined.py")
    done = line_times.timed(launch, "joined.py", options=["-f", "nothing"])
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr.decode()
    assert (b"__" in done.stdout) == (launch.python.numbers == (3, 12))
