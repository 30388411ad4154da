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


def test_a_slot_lost_in_a_thread_is_noted(launch):
    """Before 3.12 a profile function set by hand in a thread ends our recording there; the file says so."""
    launch.write(
        "program.py",
        """
        import sys, threading
        thread = threading.Thread(target=lambda: sys.setprofile(lambda *event: None))
        thread.start(); thread.join()
        """,
    )
    assert launch.traced("program.py").returncode == 0
    told = subprocess.run([launch.sonde, "info", launch.folder / "out.sonde"], capture_output=True, text=True)
    assert ("in another thread" in told.stdout) == (launch.python.numbers < (3, 12))
