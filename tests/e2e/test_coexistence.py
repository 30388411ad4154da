"""Other tools in the program: each sees what it would see alone, and sonde sees everything."""

import json
import subprocess

import pytest

PROGRAM = """
    import json, sys, threading

    def leaf(): return len("abc")
    def work(): return [leaf() for _ in range(10)]

    {before}
    work()
    {after}
    work()
    print(json.dumps(seen))
    """


def run(launch, before, after, options=()):
    launch.write("program.py", PROGRAM.format(before=before, after=after))
    alone = launch.plain("program.py")
    under = launch.traced("program.py", trace=options)
    assert (under.returncode, under.stdout, under.stderr) == (0, alone.stdout, alone.stderr)
    counts = launch.counts("program.py")
    assert counts["leaf"] == (20, 20) and counts["work"] == (2, 2)
    return json.loads(under.stdout)


def test_cprofile_in_the_program(launch):
    seen = run(
        launch,
        "import cProfile; profile = cProfile.Profile(); profile.enable()",
        "profile.disable(); profile.create_stats();"
        " seen = [values[0] for label, values in profile.stats.items() if label[2] == 'leaf']",
    )
    assert seen == [10]


def test_trace_function_as_coverage_and_debuggers_set_it(launch):
    """sys.settrace has a slot of its own on every version."""
    seen = run(
        launch,
        "seen = [0]\n    def trace(frame, event, argument):\n"
        "        seen[0] += event == 'call' and frame.f_code.co_name == 'leaf'\n"
        "        return trace\n    sys.settrace(trace)",
        "sys.settrace(None)",
    )
    assert seen == [10]


LINES = """
    import sys, time

    def pairs(a, b):
        x = a
        y = b
        z = x
        return (x, y, z, [a, 1, b])

    def trace(frame, event, argument):
        if frame.f_code is pairs.__code__:
            seen.append((event, frame.f_lineno))
        return trace

    for turn in range(3):
        for _ in range(1000):
            pairs(1, 2)
        seen = []
        sys.settrace(trace)
        result = pairs(turn, "b")
        sys.settrace(None)
        print(result, seen)
"""


def test_lines_of_a_debugger_that_comes_late(launch):
    """On 3.12 sonde joins again the pairs of instructions that events take apart: no line is lost by that."""
    launch.write("program.py", LINES)
    alone = launch.plain("program.py")
    lines = [("call", 3), ("line", 4), ("line", 5), ("line", 6), ("line", 7), ("return", 7)]
    assert alone.stdout.decode().splitlines()[2] == f"(2, 'b', 2, [2, 1, 'b']) {lines}"
    assert launch.traced("program.py").stdout == alone.stdout
    assert launch.counts("program.py")["pairs"] == (3003, 3003)


def test_profile_function_set_by_hand(launch):
    """sys.getprofile() shows what the program set, nothing else."""
    seen = run(
        launch,
        "seen = [0, str(sys.getprofile())]\n    def profile(frame, event, argument):\n"
        "        seen[0] += event == 'call' and frame.f_code.co_name == 'leaf'\n"
        "    sys.setprofile(profile)\n    seen.append(sys.getprofile() is profile)",
        "sys.setprofile(None); seen.append(str(sys.getprofile()))",
    )
    assert seen == [10, "None", True, "None"]


def test_monitoring_tool_ids_stay_free(launch):
    """The customary ids are those of debuggers, coverage, profilers; calls, lines and marks have others."""
    if launch.python.numbers < (3, 12):
        pytest.skip("sys.monitoring came with 3.12")
    marks = launch.write("marks.json", '[{"fn": "work"}]')
    seen = run(
        launch,
        "for name in ('DEBUGGER_ID', 'COVERAGE_ID', 'PROFILER_ID'):"
        " sys.monitoring.use_tool_id(getattr(sys.monitoring, name), name)",
        "seen = [1]",
        ["-l", "--marks", marks],
    )
    assert seen == [1]


LISTENER = """
    import cProfile, sys, threading

    seen = []
    def listen(frame, event, argument):
        here = threading.current_thread() is threading.main_thread()
        seen.append((here, frame.f_code.co_name, frame.f_lineno, event, getattr(argument, "__name__", None)))
        return listen
    def again(*event):
        listen(*event)
    def inner():
        sys.setprofile(listen); len([])
        sys.setprofile(again); abs(1)

    {work}
    sys.setprofile(None); sys.settrace(None)
    assert seen
    print(*sorted(seen, key=lambda event: event[0]), sys.getprofile(), sep="\\n")
    """
LISTENING = {
    "alone": "sys.setprofile(listen); len([])",
    "an exception": "try: sys.setprofile(listen); int('x')\n    except ValueError: pass",
    "one after the other": "inner()",
    "below C functions": "sorted([1], key=lambda item: inner() or min([3, 4], key=abs))",
    "switched off between": "inner(); sys.setprofile(None); inner()",
    "set again": "sys.setprofile(listen); sys.setprofile(listen); len([])",
    "a thread": "thread = threading.Thread(target=inner); thread.start(); thread.join()",
    "new threads": "threading.setprofile(listen); thread = threading.Thread(target=len, args=([],));"
    " thread.start(); thread.join(); threading.setprofile(None)",
    "all threads": "ready, go = threading.Lock(), threading.Lock(); ready.acquire(); go.acquire()\n"
    "    def wait(): ready.release(); go.acquire(); go.release()\n"
    "    thread = threading.Thread(target=wait); thread.start(); ready.acquire()\n"
    "    threading.setprofile_all_threads(listen); go.release(); thread.join()\n"
    "    threading.setprofile_all_threads(None); seen = [one for one in seen if one[1] != 'join']",
    "lines": "sys.settrace(listen); inner(); sys.setprofile(None); inner()",
    "lines here": "sys._getframe().f_trace = listen; sys.settrace(listen)\n    len([])\n    inner()",
    "cProfile": "profile = cProfile.Profile(); profile.enable(); max([1, 2], key=abs); inner\n"
    "    profile.disable(); profile.create_stats(); seen = sorted((label, row[:2],"
    " sorted((other, more[:2]) for other, more in row[4].items())) for label, row in profile.stats.items())",
}


@pytest.mark.parametrize("work", LISTENING)
def test_every_event_of_the_programs_own_listener(launch, work):
    """None more and none less than without sonde, whose own events prepare calls for all listeners."""
    if work == "all threads" and launch.python.numbers < (3, 12):
        pytest.skip("threading.setprofile_all_threads came with 3.12")
    launch.write("program.py", LISTENER.format(work=LISTENING[work]))
    alone = launch.plain("program.py")
    under = launch.traced("program.py")
    assert (alone.returncode, under.returncode, under.stderr) == (0, 0, alone.stderr)
    assert under.stdout.decode() == alone.stdout.decode()


def test_a_profile_function_in_a_thread_costs_no_calls(launch):
    launch.write(
        "program.py",
        """
        import sys, threading
        def work(): pass
        def thread():
            sys.setprofile(lambda *event: None); work(); sys.setprofile(None); work()
        one = threading.Thread(target=thread)
        one.start(); one.join()
        """,
    )
    assert launch.traced("program.py").returncode == 0
    assert launch.counts("program.py")["work"] == (2, 2)


def test_a_slot_lost_in_a_thread_is_noted(launch):
    """Before 3.12 a profiler written in C ends our recording of another thread; the file says so."""
    launch.write(
        "program.py",
        """
        import cProfile, threading
        thread = threading.Thread(target=cProfile.Profile().enable)
        thread.start(); thread.join()
        """,
    )
    assert launch.traced("program.py").returncode == 0
    told = subprocess.run([launch.sonde, "info", launch.folder / "out.sonde"], capture_output=True, text=True)
    assert ("in another thread" in told.stdout) == (launch.python.numbers < (3, 12))


@pytest.mark.parametrize("options", [[], ["--no-c-calls"]], ids=["all calls", "no C calls"])
def test_subinterpreters_are_noted(launch, options):
    """Only the main interpreter is traced: the recording says so when there was another; all runs well."""
    launch.write(
        "program.py",
        """
        import sys
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        def after():
            return 1
        if sys.argv[1] == "make":
            one = interpreters.create()
            interpreters.run_string(one, "import sys; sys.setprofile(lambda *event: None); print(abs(-1))")
            after()
            interpreters.destroy(one)
        """,
    )
    alone = launch.plain("program.py", "make")
    for what in ("make", "none"):
        under = launch.traced("program.py", what, trace=options)
        assert (under.returncode, under.stdout) == (0, alone.stdout if what == "make" else b"")
        info = subprocess.run([launch.sonde, "info", launch.folder / "out.sonde"], capture_output=True)
        for told in (info.stdout, under.stderr):
            assert (b"has made subinterpreters" in told) == (what == "make")
