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


def run(launch, before, after):
    launch.write("program.py", PROGRAM.format(before=before, after=after))
    alone = launch.plain("program.py")
    under = launch.traced("program.py")
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


def test_profile_function_that_is_saved_and_restored(launch):
    seen = run(
        launch,
        "seen = [1]; saved = sys.getprofile()",
        "sys.setprofile(saved)",
    )
    assert seen == [1]


def test_monitoring_tool_ids_stay_free(launch):
    """The customary ids belong to debuggers, coverage and profilers."""
    if launch.python.numbers < (3, 12):
        pytest.skip("sys.monitoring came with 3.12")
    seen = run(
        launch,
        "for name in ('DEBUGGER_ID', 'COVERAGE_ID', 'PROFILER_ID'):"
        " sys.monitoring.use_tool_id(getattr(sys.monitoring, name), name)",
        "seen = [1]",
    )
    assert seen == [1]


def test_a_slot_that_was_taken_for_good_is_noted(launch):
    """Before 3.12 a profile function set by hand ends our recording in that thread, and the file says so."""
    launch.write("program.py", "import sys\nsys.setprofile(lambda *event: None)\nlen('abc')\n")
    assert launch.traced("program.py").returncode == 0
    told = subprocess.run([launch.sonde, "info", launch.folder / "out.sonde"], capture_output=True, text=True)
    assert ("another profile function" in told.stdout) == (launch.python.numbers < (3, 12))
