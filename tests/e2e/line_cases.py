"""Uses of a line profiler, run by test_line_api.py in each Python:

    python line_cases.py PACKAGES compare|check|CASE...

A function named compare_* uses the class LineProfiler that it is given on a fresh copy of line_workloads. All
are run with line_profiler's and with sonde's, and what they return must be the same. A function named check_*
says itself what must hold, of sonde's alone.
"""

import asyncio
import contextlib
import functools
import gc
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import types
import warnings

WORKLOADS = pathlib.Path(__file__).with_name("line_workloads.py")
HAS_MONITORING = sys.version_info >= (3, 12)


def fresh():
    """The module line_workloads, compiled anew."""
    module = types.ModuleType("line_workloads")
    module.__file__ = str(WORKLOADS)
    sys.modules["line_workloads"] = module
    exec(compile(WORKLOADS.read_text(), str(WORKLOADS), "exec"), vars(module))
    return module


def hits(profiler):
    """{name: [[line, hits], ...]} of what was counted."""
    timings = profiler.get_stats().timings
    return {f"{key[1]} {key[2]}": [[row[0], row[1]] for row in rows] for key, rows in timings.items()}


# Uses that line_profiler has too.


def compare_constructor(kind, work):
    profiler = kind(work.leaf, work.branch)
    work.branch(2)
    profiler.enable()
    work.branch(3)
    work.branch(4)
    profiler.disable()
    work.branch(5)
    return hits(profiler)


def compare_added_and_decorated(kind, work):
    profiler = kind()
    profiler.add_function(work.leaf)
    branch = profiler(work.branch)
    work.leaf(1)
    branch(3)
    work.leaf(2)
    branch(6)
    work.leaf(3)
    return hits(profiler)


def compare_decorated_recursion(kind, work):
    profiler = kind(work.leaf)
    work.factorial = profiler(work.factorial)
    work.factorial(5)
    work.leaf(1)
    return hits(profiler)


def compare_generators(kind, work):
    profiler = kind(work.leaf)
    numbers, delegating = profiler(work.numbers), profiler(work.delegating)
    result = []
    for i in numbers(3):
        result.append(work.leaf(i))
    result += delegating(2)
    unfinished = numbers(4)
    next(unfinished)
    unfinished.close()
    assert result == [0, 0, 1, 0, 1, 2]
    return hits(profiler)


def compare_async(kind, work):
    profiler = kind()
    consume, work.ticking = profiler(work.consume), profiler(work.ticking)

    async def both():
        return await asyncio.gather(consume(3), consume(2))

    assert asyncio.run(both()) == [3, 1]
    return hits(profiler)


def compare_exceptions(kind, work):
    profiler = kind()
    work.fail = profiler(work.fail)
    work.catch = profiler(work.catch)
    assert work.catch(3) == 2
    try:
        work.fail(1)
    except ValueError:
        pass
    else:
        raise AssertionError("the exception was lost")
    return hits(profiler)


def compare_with_blocks(kind, work):
    profiler = kind(work.with_blocks)
    assert profiler.runcall(work.with_blocks, 2) == 2
    return hits(profiler)


def compare_descriptors(kind, work):
    profiler = kind()
    shape = work.Shape
    shape.area = profiler(shape.__dict__["area"])
    slow = profiler(shape.__dict__["slow"])
    slow.__set_name__(shape, "slow")
    shape.slow = slow
    for name in ("unit", "corners", "grown"):
        setattr(shape, name, profiler(shape.__dict__[name]))
    one = shape.unit()
    one.area = 9
    results = [one.area, one.slow, one.slow, shape.corners(), one.grown(2).side]
    assert results == [9, 3, 3, 4, 7], results
    return hits(profiler)


def compare_bound_methods_and_partials(kind, work):
    profiler = kind()
    shape = work.Shape(2)
    scaled = profiler(shape.scaled)
    leaf = profiler(functools.partial(work.leaf, 4))
    assert (scaled(3).side, leaf()) == (6, 6)
    return hits(profiler)


def compare_callable_objects(kind, work):
    profiler = kind()
    profiler.add_callable(work.Shape(1))
    with profiler:
        assert work.Shape(5)(2) == 10
    return hits(profiler)


def compare_decorated_class(kind, work):
    profiler = kind()
    shape = profiler(work.Shape)
    assert shape is work.Shape
    assert (shape(2).scaled(2).side, shape.unit().area, shape.Inner().method()) == (4, 1, 1)
    return hits(profiler)


def compare_nested_enabling(kind, work):
    profiler = kind(work.leaf)
    with profiler:
        work.leaf(1)
        with profiler:
            work.leaf(2)
        work.leaf(3)
        assert profiler.enable_count == 1
    work.leaf(4)
    profiler.disable_by_count()
    assert profiler.enable_count == 0
    profiler.enable_by_count()
    work.leaf(5)
    profiler.disable_by_count()
    return hits(profiler)


def compare_run(kind, work):
    import __main__

    profiler = kind(work.leaf)
    assert profiler.runcall(work.leaf, n=3) == 3
    space = {"leaf": work.leaf}
    assert profiler.runctx("x = leaf(4)", space, space) is profiler
    assert space["x"] == 6
    __main__.leaf_for_run = work.leaf
    assert profiler.run("leaf_for_run(5)") is profiler
    return hits(profiler)


def compare_two_profilers(kind, work):
    first, second = kind(work.leaf, work.branch), kind(work.leaf)
    with first:
        work.branch(3)
        with second:
            work.branch(4)
        work.leaf(1)
    with second:
        work.leaf(2)
    return [hits(first), hits(second)]


def compare_doubly_decorated(kind, work):
    first, second = kind(), kind()
    leaf = first(second(work.leaf))
    assert leaf(3) == 3
    return [hits(first), hits(second)]


def compare_results_so_far(kind, work):
    profiler = kind(work.leaf)
    profiler.enable()
    work.leaf(1)
    early = hits(profiler)
    work.leaf(2)
    profiler.disable()
    return [early, hits(profiler)]


def compare_never_run(kind, work):
    profiler = kind(work.leaf)
    return hits(profiler)


def compare_scoping(kind, work):
    """Which functions each policy finds; also functions that come from elsewhere. Of wrappers line_profiler
    takes the outer function, or none."""
    found = {}
    del work.cached, work.managed
    work.Shape.dumps, work.dumps = json.dumps, json.dumps
    work.Shape.factorial = work.factorial
    for policy in ("exact", "children", "descendants", "siblings", "none", None):
        if policy == "none":
            policy = {"func": "none", "class": "none", "module": "exact"}
        for add, space in (("add_class", "Shape"), ("add_module", None)):
            profiler = kind()
            target = getattr(work, space) if space else work
            count = getattr(profiler, add)(target, scoping_policy=policy)
            names = sorted(name for name in hits(profiler) if "<" not in name)
            found[f"{add} {policy}"] = [count, names]
    return found


# What only sonde is asked.


def lines(profiler, name):
    """{line: row} of the function, a row being (line, hits, total, self, shortest, longest)."""
    (rows,) = [rows for label, rows in profiler.rows() if label[2].rpartition(".")[2] == name]
    return {row[0]: row for row in rows}


def check_nothing_is_wrapped(sonde):
    work = fresh()
    profiler = sonde.LineProfiler()
    things = [
        work.leaf,
        work.numbers,
        work.consume,
        work.ticking,
        work.Shape,
        work.Shape.__dict__["area"],
        work.Shape.__dict__["slow"],
        work.Shape.__dict__["unit"],
        work.Shape.__dict__["corners"],
        work.Shape.__dict__["grown"],
        functools.partial(work.leaf, 1),
        work.cached,
        len,
    ]
    for thing in things:
        code = getattr(thing, "__code__", None)
        assert profiler(thing) is thing
        assert profiler.wrap_callable(thing) is thing
        assert getattr(thing, "__code__", None) is code
    for nothing in (1, None, "leaf"):
        try:
            profiler(nothing)
        except TypeError:
            continue
        raise AssertionError(f"{nothing!r} was taken for a function")


def check_wrappers_stand_for_what_they_wrap(sonde):
    work = fresh()
    profiler = sonde.LineProfiler()
    doubled = profiler(work.doubled(work.leaf))
    profiler(work.cached)
    doubled(3)
    work.cached(2)
    work.cached(2)
    assert sorted(name.split()[1] for name in hits(profiler)) == ["cached", "leaf"]
    assert [row[1] for row in lines(profiler, "leaf").values()] == [3, 11, 8, 3]
    assert [row[1] for row in lines(profiler, "cached").values()] == [1]


def check_warnings(sonde):
    work = fresh()
    profiler = sonde.LineProfiler()
    for thing in (len, work.doubled(work.leaf)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            profiler.add_function(thing)
        assert len(caught) == 1 and caught[0].filename == __file__, caught
    assert len(profiler.functions) == 1


def check_misuse(sonde):
    class Half(sonde.LineProfiler):
        def __init__(self):
            pass

    half, whole = Half(), sonde.LineProfiler()
    label = ("file", 1, "name")
    for use, expected in (
        (half.enable, RuntimeError),
        (half.disable_by_count, None),
        (lambda: half.add_code(fresh().leaf.__code__, label), RuntimeError),
        (lambda: whole.add_code(1, label), TypeError),
        (lambda: whole.add_code(fresh().leaf.__code__, ([],)), TypeError),
        (lambda: whole.add_class(fresh().Shape, scoping_policy="near"), ValueError),
        (lambda: sonde.LineStats({label: [(1, -1, 1)]}, 1e-9).print(io.StringIO()), ValueError),
        (lambda: sonde.LineStats({label: [(1,)]}, 1e-9).print(io.StringIO()), ValueError),
    ):
        try:
            use()
        except Exception as error:
            assert expected and isinstance(error, expected), repr(error)
        else:
            assert not expected, expected
    assert whole.get_stats().timings == {}
    text = io.StringIO()
    sonde.LineStats({label: [(1, 1, 1), (2**31 - 1, 1, 1)]}, 1e-9).print(text)
    assert len(text.getvalue().splitlines()) < 20


def check_self_times(sonde):
    """A line's own time is what it has without the functions that it calls, also through C."""
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf, work.branch)
    with profiler:
        for _ in range(50):
            work.branch(31)
    leaf, branch = lines(profiler, "leaf"), lines(profiler, "branch")
    assert all(row[2] == row[3] for row in leaf.values()), leaf
    inner = sum(row[2] for row in leaf.values())
    (call,) = [row for row in branch.values() if row[2] != row[3]]
    assert inner <= call[2] - call[3] <= call[2]
    for row in (*leaf.values(), *branch.values()):  # the shortest may be shorter than a step of the clock
        assert 0 <= row[4] <= row[2] / row[1] <= row[5] <= row[2], row


def check_threads(sonde):
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf)
    with profiler:
        work.in_threads(work.leaf, 4)
    work.in_threads(work.leaf, 2)
    assert [row[1] for row in lines(profiler, "leaf").values()] == [4, 16, 12, 4]


def check_enabling_often(sonde):
    work = fresh()
    profiler, other = sonde.LineProfiler(work.leaf), sonde.LineProfiler(work.branch)
    for i in range(100):
        with profiler:
            work.leaf(1)
        work.leaf(1)
        if i % 10 == 0:
            with other:
                work.branch(1)
    assert [row[1] for row in lines(profiler, "leaf").values()] == [100, 200, 100, 100]
    assert [row[1] for row in lines(other, "branch").values()] == [10, 10]


def check_nothing_stays_on(sonde):
    """When no profiler is enabled, the program runs as if there were none."""
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf)
    decorating = sonde.LineProfiler()
    decorating(work.branch)
    with profiler:
        work.branch(3)
    before = held_events(work)
    del decorating
    gc.collect()
    assert not HAS_MONITORING or before
    assert not held_events(work)
    work.leaf(2)
    assert [row[1] for row in lines(profiler, "leaf").values()] == [1, 4, 3, 1]


def held_events(work):
    """The events of sys.monitoring that sonde asks for."""
    if not HAS_MONITORING:
        return 0
    monitoring, events = sys.monitoring, 0
    for tool in range(6):
        if monitoring.get_tool(tool) == "sonde":
            events |= monitoring.get_events(tool)
            for function in (work.leaf, work.branch):
                events |= monitoring.get_local_events(tool, function.__code__)
    return events


def check_beside_a_trace_function(sonde):
    """A debugger or coverage that is there already goes on as before."""
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf)
    seen = []

    def trace(frame, event, argument):
        if frame.f_code is work.leaf.__code__:
            seen.append(event)
        return trace

    def times():
        seen.clear()
        work.leaf(2)
        return len(seen)

    sys.settrace(trace)
    try:
        alone = times()
        with profiler:
            beside = times()
        assert sys.gettrace() is trace
        afterwards = times()
        with profiler:
            again = times()
    finally:
        sys.settrace(None)
    assert alone == beside == afterwards == again > 5, (alone, beside, afterwards, again)
    with profiler:
        assert times() == 0
    assert [row[1] for row in lines(profiler, "leaf").values()] == [3, 9, 6, 3]


def check_beside_cprofile(sonde):
    import cProfile

    work = fresh()
    profiler = sonde.LineProfiler(work.leaf)
    calls = cProfile.Profile()
    calls.enable()
    work.leaf(1)
    with profiler:
        work.leaf(2)
    work.leaf(3)
    calls.disable()
    counts = [entry.callcount for entry in calls.getstats() if entry.code is work.leaf.__code__]
    assert counts == [3], counts
    assert [row[1] for row in lines(profiler, "leaf").values()] == [1, 3, 2, 1]


def check_functions_that_go(sonde):
    """Functions made and dropped by the thousand, compiled anew each time, are one function of the source."""
    profiler = sonde.LineProfiler()
    source = "def made(n):\n    n += 1\n    return n\n"
    with profiler:
        for i in range(2000):
            space = {}
            exec(source, space)
            profiler.add_function(space["made"])
            assert space["made"](i) == i + 1
    assert [row[1] for row in lines(profiler, "made").values()] == [2000, 2000]


def check_code_compiled_again_has_more_lines(sonde):
    profiler = sonde.LineProfiler()
    with profiler:
        for extra in (0, 3, 1):
            space = {}
            exec("def made(n):\n" + "    n += 1\n" * (1 + extra) + "    return n\n", space)
            profiler(space["made"])
            space["made"](0)
    assert [row[1] for row in lines(profiler, "made").values()] == [3, 3, 2, 1, 1]


def check_fork(sonde):
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf)
    profiler.enable()
    work.leaf(1)
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        work.leaf(2)
        os.write(writer, json.dumps(hits(profiler)).encode())
        os._exit(0)
    work.leaf(3)
    waiting.set()
    thread.join()
    profiler.disable()
    os.waitpid(child, 0)
    in_child = next(iter(json.loads(os.read(reader, 65536)).values()))
    in_parent = next(iter(hits(profiler).values()))
    assert [row[1] for row in in_parent] == [2, 6, 4, 2], in_parent
    return [row[1] for row in in_child]


def check_printing(sonde):
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf, work.factorial)
    profiler.runcall(work.leaf, 2)
    outputs = []
    for keywords in ({}, {"stripzeros": True}, {"details": False, "summarize": True}, {"output_unit": 1e-3}):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            profiler.print_stats(**keywords)
        outputs.append(stream.getvalue())
    plain, stripped, summary, scaled = outputs
    assert plain.startswith("Timer unit: 1e-09 s\n\nTotal time: "), plain
    assert scaled.startswith("Timer unit: 0.001 s\n\n"), scaled
    assert "Function: factorial at line " in plain and "factorial" not in stripped
    assert len(summary.splitlines()) == 4 and "seconds - " in summary and "Hits" not in summary
    assert "    total = 0" in stripped
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    space = {}
    exec(compile("def é():\n    return 'ü'\n", "é.py", "exec"), space)
    profiler = sonde.LineProfiler(space["é"])
    profiler.runcall(space["é"])
    profiler.print_stats(narrow)
    narrow.flush()
    assert b"Could not find file \\xe9.py" in narrow.buffer.getvalue(), narrow.buffer.getvalue()
    try:
        profiler.print_stats(output_unit=0)
    except ValueError:
        return
    raise AssertionError("a unit of nothing")


def check_files(sonde):
    work = fresh()
    profiler = sonde.LineProfiler(work.leaf, work.factorial)
    profiler.runcall(work.leaf, 2)
    stats = profiler.get_stats()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.lprof")
        profiler.dump_stats(path)
        again = sonde.load_stats(path)
        assert again == stats and again.unit == stats.unit == 1e-9
        double = sonde.LineStats.from_files(path, path)
        assert double == stats + stats == again + stats
        assert [row[1] for row in next(iter(double.timings.values()))] == [2, 6, 4, 2]
        bad = os.path.join(folder, "bad.lprof")
        pathlib.Path(bad).write_bytes(pathlib.Path(path).read_bytes()[:-30])
        try:
            sonde.load_stats(bad)
        except ValueError as error:
            assert "bad.lprof" in str(error)
        else:
            raise AssertionError("a file that was cut was read")
        recording = os.path.join(folder, "x.sonde")
        pathlib.Path(recording).write_bytes(profiler.snapshot())
        table = sonde.read(recording)["lines"]
        assert sum(table["hits"]) == 7 and sum(table["self_ns"]) > 0
        assert sonde.load_stats(recording) == stats


def check_units_are_added(sonde):
    key, other = ("f.py", 1, "f"), ("g.py", 5, "g")
    coarse = sonde.LineStats({key: [(2, 10, 300)]}, 1e-6)
    fine = sonde.LineStats({key: [(2, 1, 20000), (3, 1, 10)], other: []}, 1e-7)
    total = coarse + fine
    assert total == fine + coarse
    assert total.timings == {key: [(2, 11, 2300), (3, 1, 1)], other: []} and total.unit == 1e-6
    coarse += fine
    assert coarse == total
    text = io.StringIO()
    sonde.show_text(total.timings, total.unit, stream=text)
    assert "Self Time" not in text.getvalue() and re.search(r"\n +2 +11 +2300\.0 ", text.getvalue())


def compare(sonde):
    import line_profiler

    for name, function in list(globals().items()):
        if name.startswith("compare_"):
            pair = {}
            for kind in (line_profiler.LineProfiler, sonde.LineProfiler):
                pair[kind.__module__.partition(".")[0]] = function(kind, fresh())
            yield name, pair


def check(sonde):
    """Each in a process of its own, which is forked: that takes less time than to start one."""
    import traceback

    for name, function in list(globals().items()):
        if name.startswith("check_"):
            reader, writer = os.pipe()
            if os.fork() == 0:
                try:
                    result = function(sonde)
                except BaseException:
                    result = traceback.format_exc()
                os.write(writer, json.dumps(result).encode())
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as stream:
                yield name, json.loads(stream.read() or '"it has died"')
            os.wait()


def main():
    packages, *names = sys.argv[1:]
    sys.path.insert(0, packages)
    import sonde
    import sonde.line_profile

    if names in (["compare"], ["check"]):
        results = dict(globals()[names[0]](sonde))
    else:
        results = {name: globals()[name](sonde) for name in names}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
