"""Uses of a profiler, run by test_profile_api.py in each Python: python profile_cases.py PACKAGES CASE

A function named compare_* uses the profiler that it is given; it is run with cProfile's and with sonde's, and
the two results must be the same. A function named check_* says itself what must hold, of sonde's alone.
"""

import contextlib
import io
import marshal
import os
import pstats
import sys
import threading
import time

from profile_workloads import (
    even,
    fail,
    fibonacci,
    key,
    odd,
    use_callbacks,
    use_classes,
    use_comprehensions,
    use_exceptions,
    use_generators,
)

# Uses that cProfile has too.


def compare_runcall(profile):
    assert profile.runcall(fibonacci, 9) == 34
    assert profile.runcall(dict, a=1) == {"a": 1}


def compare_recursion(profile):
    profile.enable()
    fibonacci(6)
    even(9)
    odd(4)
    profile.disable()


def compare_generators(profile):
    profile.runcall(use_generators)


def compare_exceptions(profile):
    profile.runcall(use_exceptions)


def compare_runcall_exception(profile):
    try:
        profile.runcall(fail, 4)
    except ValueError:
        key(1)
        return
    raise AssertionError("the exception was lost")


def compare_callbacks(profile):
    profile.runcall(use_callbacks)


def compare_classes(profile):
    profile.runcall(use_classes)


def compare_comprehensions(profile):
    profile.runcall(use_comprehensions)


def compare_statement(profile):
    namespace = {"fibonacci": fibonacci}
    assert profile.runctx("x = fibonacci(5)\nfor i in range(3): abs(x)", namespace, namespace) is profile
    assert namespace["x"] == 5
    sys.modules["__main__"].fibonacci = fibonacci
    profile.run("fibonacci(3)")


def compare_context_manager(profile):
    with profile as entered:
        assert entered is profile
        fibonacci(4)
    key(1)
    with profile:
        key(2)


def compare_enable_inside(profile):
    def inner():
        profile.enable()
        key(1)

    def outer():
        inner()
        key(2)
        profile.disable()
        key(3)

    outer()
    profile.disable()
    key(4)
    outer()


def compare_disable_deep_inside(profile):
    def stop():
        profile.disable()

    def between():
        stop()
        key(1)

    profile.enable()
    between()
    key(2)
    profile.enable()
    key(3)
    profile.disable()


def compare_clear(profile):
    profile.runcall(fibonacci, 5)
    profile.clear()
    profile.runcall(key, 5)


def compare_enable_without_builtins(profile):
    profile.enable(builtins=False)
    use_callbacks()
    profile.disable()


def compare_enable_without_subcalls(profile):
    profile.enable(subcalls=False)
    use_callbacks()
    fibonacci(5)
    profile.disable()


def compare_getstats_while_enabled(profile):
    profile.enable()
    fibonacci(3)
    profile.getstats()
    profile.disable()


# What can be said of sonde alone.


def rows(entries):
    """Counts by function, with those of its callees."""
    result = {}
    for entry in entries:
        row = result.setdefault(label(entry.code), [0, 0, {}])
        row[0] += entry.callcount
        row[1] += entry.reccallcount
        for callee in entry.calls or ():
            counts = row[2].setdefault(label(callee.code), [0, 0])
            counts[0] += callee.callcount
            counts[1] += callee.reccallcount
    return result


def label(code):
    """As pstats labels a function; the profiler's own parts alike for cProfile and sonde."""
    if isinstance(code, str):
        for kind in ("_lsprof.Profiler", "sonde._inside.Session", "sonde._binding.Results"):
            code = code.replace("'" + kind + "'", "'Profiler'")
        return "~:0(" + code + ")"
    own = code.co_filename in OWN_FILES
    place = "profiler" if own else f"{code.co_filename}:{code.co_firstlineno}"
    return f"{place}({code.co_name})"


def counts(profile, name):
    """calls and primitive calls of the one function of that name."""
    found = [(nc, cc) for (_, _, function), (cc, nc, *_) in profile.stats.items() if function == name]
    assert len(found) == 1, (name, found)
    return found[0]


def check_two_profilers():
    from sonde import Profile

    first, second = Profile(), Profile()
    first.enable()
    fibonacci(3)
    second.enable()
    fibonacci(2)
    first.disable()
    key(2)
    second.disable()
    for profile in (first, second):
        profile.create_stats()
    assert counts(first, "fibonacci") == (8, 2)
    assert counts(second, "fibonacci") == (3, 1)
    assert "key" not in {function[2] for function in first.stats}
    assert counts(second, "key") == (1, 1)


def check_beside_cprofile():
    """Both see what they would see alone, also before 3.12, where there is one slot for both."""
    import cProfile

    from sonde import Profile

    ours, theirs = Profile(), cProfile.Profile()
    ours.enable()
    key(1)
    theirs.enable()
    key(2)
    key(3)
    theirs.disable()
    key(4)
    ours.disable()
    ours.create_stats()
    theirs.create_stats()
    assert counts(theirs, "key") == (2, 2)
    assert counts(ours, "key") == (4, 4)


def check_threads():
    from sonde import Profile

    ready, go = threading.Event(), threading.Event()

    def wait_and_work():
        ready.set()
        go.wait()
        for _ in range(20):
            fibonacci(3)

    def work():
        for _ in range(10):
            key(1)

    early = threading.Thread(target=wait_and_work)
    early.start()
    ready.wait()
    profile = Profile()
    profile.enable()
    late = [threading.Thread(target=work) for _ in range(3)]
    for thread in late:
        thread.start()
    go.set()
    for thread in [early, *late]:
        thread.join()
    profile.disable()
    profile.create_stats()
    assert counts(profile, "fibonacci") == (100, 20)
    assert counts(profile, "key") == (30, 30)
    assert counts(profile, "work") == (3, 3)


def check_recipe(rank=3):
    """The recipe of MPI users: one .prof and one .txt for each rank, with only the import changed."""
    import sonde as cProfile

    pr = cProfile.Profile()
    pr.enable()
    fibonacci(8)
    pr.disable()
    pr.dump_stats(f"cpu_{rank}.prof")
    with open(f"cpu_{rank}.txt", "w") as output_file:
        sys.stdout = output_file
        pr.print_stats(sort="time")
        sys.stdout = sys.__stdout__
    with open(f"cpu_{rank}.txt") as output_file:
        text = output_file.read()
    assert " 68 function calls (2 primitive calls)" in text, text
    assert "Ordered by: internal time" in text, text
    assert "67/1" in text and "(fibonacci)" in text, text
    read = pstats.Stats(f"cpu_{rank}.prof")
    assert read.total_calls == 68 and read.prim_calls == 2
    (callers,) = [row[4] for function, row in read.stats.items() if function[2] == "fibonacci"]
    assert [edge[:2] for edge in callers.values()] == [(66, 2)], callers


def check_printing():
    from sonde import Profile

    profile = Profile()
    profile.runcall(use_callbacks)
    for sort in (-1, 2, "cumulative", ("calls", "name"), pstats.SortKey.TIME):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            profile.print_stats(sort)
        assert "(use_callbacks)" in out.getvalue()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        pstats.Stats(profile).add(profile).print_callers()
    assert "(use_callbacks)" in out.getvalue()


def check_module_functions():
    import sonde

    sys.modules["__main__"].fibonacci = fibonacci
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert sonde.run("fibonacci(4)") is None
        sonde.runctx("fibonacci(4); raise SystemExit(3)", globals(), {}, sort="calls")
    assert out.getvalue().count("(fibonacci)") == 2, out.getvalue()
    sonde.run("fibonacci(4)", "run.prof")
    sonde.runctx("fibonacci(n)", {"fibonacci": fibonacci}, {"n": 4}, filename="runctx.prof")
    for name in ("run.prof", "runctx.prof"):
        assert pstats.Stats(name).total_calls == 9 + 3  # exec, the statement, disable
    with contextlib.suppress(ZeroDivisionError):
        sonde.run("1/0", "failed.prof")
    assert pstats.Stats("failed.prof").total_calls == 3


def check_statistics():
    from sonde import Profile

    profile = Profile()
    with profile:
        fibonacci(10)
    profile.snapshot_stats()
    first = profile.stats
    profile.dump_stats("kept.prof")
    with open("kept.prof", "rb") as stream:
        assert marshal.load(stream) == profile.stats
    assert profile.stats.keys() == first.keys()
    (row,) = [row for function, row in first.items() if function[2] == "fibonacci"]
    (entry,) = [entry for entry in profile.getstats() if getattr(entry.code, "co_name", "") == "fibonacci"]
    assert row[:2] == (1, 177)
    assert abs(row[2] - entry.inlinetime) <= 1e-3 * row[2]  # the clock's rate is known better and better
    assert abs(row[3] - entry.totaltime) <= 1e-3 * row[3]
    assert (entry.callcount, entry.reccallcount) == (177, 176)
    assert entry.code.co_filename == fibonacci.__code__.co_filename
    assert entry.code.co_firstlineno == fibonacci.__code__.co_firstlineno
    assert entry.code.co_qualname == "fibonacci"
    assert entry[0] is entry.code and entry[5] is entry.calls
    assert [callee.code for callee in entry.calls] == [entry.code]
    assert 0 <= entry.inlinetime <= entry.totaltime
    assert row[4][(entry.code.co_filename, entry.code.co_firstlineno, "fibonacci")][:2] == (176, 2)


def check_self_times_add_up():
    from sonde import Profile

    profile = Profile()
    start = time.perf_counter()
    profile.runcall(use_classes)
    profile.runcall(time.sleep, 0.05)
    end = time.perf_counter()
    entries = profile.getstats()
    total = sum(entry.inlinetime for entry in entries)
    assert 0.05 <= total <= end - start, (total, end - start)
    (whole,) = [entry for entry in entries if getattr(entry.code, "co_name", "") == "use_classes"]
    parts = whole.inlinetime + sum(callee.totaltime for callee in whole.calls)
    assert abs(parts - whole.totaltime) < 1e-8 * (2 + len(whole.calls)), (parts, whole)


def fake_clock(step):
    reading = [0]

    def clock():
        reading[0] += step
        return reading[0]

    return clock


def check_integer_timer():
    """Each event reads the clock once, so times are known exactly, and are those of cProfile."""
    same_times(lambda kind: kind(fake_clock(1), 0.25))


def check_float_timer():
    same_times(lambda kind: kind(fake_clock(0.5)))
    same_times(lambda kind: kind(timer=fake_clock(2)))


def check_timer_is_not_recorded():
    from sonde import Profile

    outer, inner = Profile(), Profile(fake_clock(1))
    outer.enable()
    inner.enable()
    key(1)
    inner.disable()
    outer.disable()
    for profile in (outer, inner):
        names = [getattr(entry.code, "co_name", "") for entry in profile.getstats()]
        assert "key" in names
        assert "clock" not in names


def check_bad_timers():
    from sonde import Profile

    readings = iter([5, 4, 3, 2, 1] * 10)
    backwards = Profile(lambda: next(readings))
    backwards.runcall(key, 1)
    assert all(0 <= entry.inlinetime <= entry.totaltime <= 50 for entry in backwards.getstats())
    complaints = []
    sys.unraisablehook = complaints.append
    for timer in (lambda: 1 / 0, lambda: "noon", lambda: None):
        failing = Profile(timer)
        assert failing.runcall(key, 1) == 2
        assert "key" in [getattr(entry.code, "co_name", "") for entry in failing.getstats()]
    assert complaints


def same_times(make):
    import cProfile

    from sonde import Profile

    results = []
    for kind in (cProfile.Profile, Profile):
        profile = make(kind)
        profile.enable()
        fibonacci(3)
        key(1)
        profile.disable()
        found = {}
        for entry in profile.getstats():
            found[label(entry.code)] = (entry.totaltime, entry.inlinetime)
        results.append(found)
    fibonacci_label = label(fibonacci.__code__)
    assert results[0][fibonacci_label][0] > 0
    assert results[0] == results[1], results


def check_constructor():
    from sonde import Profile

    Profile(None, 0.0, False, False)
    plain = Profile(builtins=False)
    plain.runcall(use_callbacks)
    assert not [entry for entry in plain.getstats() if isinstance(entry.code, str)]
    flat = Profile(subcalls=False)
    flat.runcall(fibonacci, 5)
    entries = flat.getstats()
    assert [entry.calls for entry in entries] == [None] * len(entries)
    flat.create_stats()
    assert counts(flat, "fibonacci") == (15, 1)
    assert all(row[4] == {} for row in flat.stats.values())


def check_empty():
    from sonde import Profile

    profile = Profile()
    assert profile.getstats() == []
    profile.disable()
    profile.create_stats()
    assert profile.stats == {}
    profile.clear()
    assert profile.getstats() == []


def check_enabled_twice():
    """cProfile raises from 3.12 on; here it changes what is recorded, and one disable() ends it."""
    from sonde import Profile

    profile = Profile()
    profile.enable()
    key(1)
    profile.enable(builtins=False)
    key(2)
    profile.disable()
    key(3)
    profile.create_stats()
    assert counts(profile, "key") == (2, 2)
    assert counts(profile, "<built-in method builtins.abs>") == (1, 1)


def check_subclass():
    from sonde import Profile

    class Named(Profile):
        def __init__(self, name, **keywords):
            super().__init__(**keywords)
            self.name = name

    profile = Named("mine", builtins=False)
    profile.runcall(fibonacci, 2)
    assert profile.name == "mine"
    profile.create_stats()
    assert counts(profile, "fibonacci") == (3, 1)


def check_many_profilers():
    """Nothing of an earlier profiler is left for a later one, and each can be thrown away while enabled."""
    from sonde import Profile

    for n in range(30):
        profile = Profile()
        profile.enable()
        key(n)
        if n % 3 == 0:
            del profile
            continue
        profile.disable()
        profile.create_stats()
        assert counts(profile, "key") == (1, 1)


def check_snapshot_is_a_recording():
    import sonde

    profile = sonde.Profile()
    profile.runcall(fibonacci, 4)
    recording = sonde.read(profile.snapshot())
    with open("own.sonde", "wb") as stream:
        stream.write(profile.snapshot())
    assert sonde.read("own.sonde")["strings"] == recording["strings"]
    names = [recording["strings"][name] for name in recording["codes"]["name"]]
    functions = recording["functions"]
    table = {names[code]: calls for code, calls in zip(functions["code"], functions["calls"])}
    assert table["fibonacci"] == 9
    depths = []
    for node, calls in zip(recording["calls"]["node"], recording["calls"]["calls"]):
        depth = 0
        if names[recording["nodes"]["code"][node]] != "fibonacci":
            continue
        while node:
            depth += names[recording["nodes"]["code"][node]] == "fibonacci"
            node = recording["nodes"]["parent"][node]
        depths.append((depth, calls))
    assert sorted(depths) == [(1, 1), (2, 2), (3, 4), (4, 2)], depths
    assert memoryview(functions["self_ns"]).itemsize == 8
    assert recording["damage"]["damaged_chunks"] == 0


def check_snapshot_has_the_text_of_its_sources():
    import importlib

    import sonde

    os.mkdir("texts")
    marker = "known by its text alone"
    with open("texts/recited.py", "w") as stream:
        stream.write(f"def recite():\n    return {marker!r}\n")
    time.sleep(0.02)  # a file that was changed after the start is not what ran
    sys.path.insert(0, "texts")
    recite = importlib.import_module("recited").recite
    profile = sonde.Profile()
    profile.runcall(recite)
    assert marker.encode() in profile.snapshot(), "the file lies below the working directory"
    assert marker.encode() not in profile.raw_snapshot()
    time.sleep(0.02)  # the file system's clock is coarse
    with open("texts/recited.py", "a") as stream:
        stream.write("# later\n")
    assert marker.encode() not in profile.snapshot(), "it is not what ran any more"


def check_bad_recordings():
    import sonde
    from sonde import _binding

    good = sonde.Profile()
    good.runcall(fibonacci, 3)
    data = good.snapshot()
    for bad in (b"", b"\0", b"not a recording", data[:5]):
        for function in (_binding.read, _binding.functions, _binding.pstats):
            try:
                function(bad, "some.file")
            except ValueError as error:
                assert "some.file" in str(error), error
            else:
                raise AssertionError(bad)
    for size in range(0, len(data), 7):
        with contextlib.suppress(ValueError):
            sonde.read(data[:size])
    for place in range(0, len(data), 11):
        with contextlib.suppress(ValueError):
            sonde.read(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
    for arguments in ((), (1,), ("text",), (b"", b"")):
        try:
            _binding.read(*arguments)
        except TypeError:
            continue
        raise AssertionError(arguments)
    with contextlib.suppress(FileNotFoundError):
        sonde.read("absent.sonde")
        raise AssertionError("read a file that is not there")


def check_prof_reads_like_cprofile():
    import cProfile

    from sonde import _binding

    profile = cProfile.Profile()
    profile.runcall(fibonacci, 5)
    profile.runcall(use_callbacks)
    profile.dump_stats("theirs.prof")
    with open("theirs.prof", "rb") as stream:
        data = stream.read()
    ours, theirs = marshal.loads(_binding.pstats(data)), marshal.loads(data)
    assert ours.keys() == theirs.keys()
    for function, row in ours.items():
        assert row[:2] == theirs[function][:2]
        assert abs(row[2] - theirs[function][2]) < 1e-8 and abs(row[3] - theirs[function][3]) < 1e-8
        edges = {caller: edge[:2] for caller, edge in row[4].items()}
        assert edges == {caller: edge[:2] for caller, edge in theirs[function][4].items()}


def check_light_import():
    before = set(sys.modules)
    import sonde

    assert set(sys.modules) - before == {"sonde"}, set(sys.modules) - before
    assert {"Profile", "run", "runctx", "read"} <= set(dir(sonde))
    assert not hasattr(sonde, "no_such_name")
    assert sonde.__version__
    assert "sonde.call_profile" not in sys.modules


def check_unsupported_interpreters():
    import sonde

    flags, sys.abiflags = sys.abiflags, "t"
    try:
        sonde.run("pass")
    except ImportError as error:
        assert "free-threaded" in str(error)
    else:
        raise AssertionError("Profile was given to a free-threaded interpreter")
    finally:
        sys.abiflags = flags


OWN_FILES = set()


def compare(case):
    import cProfile
    import json

    import sonde.call_profile

    OWN_FILES.update([cProfile.__file__, sys.modules[cProfile.Profile.__module__].__file__])
    OWN_FILES.add(sonde.call_profile.__file__)
    results = []
    for kind in (cProfile.Profile, cProfile.Profile, sonde.Profile):  # the first fills caches
        profile = kind()
        case(profile)
        results.append(rows(profile.getstats()))
    json.dump({"cProfile": results[1], "sonde": results[2]}, sys.stdout)


def main():
    packages, name = sys.argv[1:]
    sys.path.insert(0, packages)
    os.environ.pop("PYTHONPATH", None)
    case = globals()[name]
    if name.startswith("compare_"):
        compare(case)
    else:
        case()


if __name__ == "__main__":
    main()
