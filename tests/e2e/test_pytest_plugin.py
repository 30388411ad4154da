"""The marks limit_memory and limit_leaks in a plain run of pytest, in every Python found."""

import pathlib
import sys

import interpreters
import pytest

TESTS = """
    import asyncio, ctypes

    import pytest

    libc = ctypes.CDLL(None)
    kept = []

    def leak(size):
        libc.malloc(size)

    @pytest.fixture
    def large():
        return bytearray(30 << 20)

    @pytest.mark.limit_memory("24 MB")
    def test_within():
        bytearray(20 << 20)

    @pytest.mark.limit_memory("24 MB")
    def test_fixtures_do_not_count(large):
        assert len(large) == 30 << 20

    @pytest.mark.limit_memory("24 MB")
    def test_over():
        allocated = bytearray(25 << 20)
        assert allocated

    @pytest.mark.limit_memory("1KB")
    def test_failing_anyway():
        assert len(bytearray(4096)) == 1

    @pytest.mark.limit_memory("lots")
    def test_senseless():
        pass

    @pytest.mark.limit_leaks("1 MB")
    def test_no_leak():
        for _ in range(100):
            bytearray(1 << 20)

    @pytest.mark.limit_leaks("1 MB")
    def test_leak():
        for _ in range(11):
            leak(100_000)

    @pytest.mark.limit_leaks("10 KB")
    def test_leaked_objects():
        kept.append([(number,) for number in range(1000)])

    @pytest.mark.limit_leaks("1 MB", filter_fn=lambda stack: stack.frames[0].function != "leak")
    def test_leak_that_is_known():
        for _ in range(11):
            leak(100_000)

    cache = {}

    @pytest.mark.limit_leaks("1 MB", warmups=1)
    def test_cache():
        if "large" not in cache:
            cache["large"] = bytearray(2 << 20)

    @pytest.mark.limit_leaks("1 MB")
    def test_cycles_are_no_leaks():
        for _ in range(20):
            cycle = [bytearray(100_000)]
            cycle.append(cycle)
"""
FAILING = {"test_over", "test_failing_anyway", "test_senseless", "test_leak", "test_leaked_objects"}


def run_tests(launch, python, *words):
    launch.write("test_marks.py", TESTS)
    package = launch.python.place or interpreters.sonde_folder()
    folder = interpreters.package_folder().relative_to(interpreters.sonde_folder())
    environment = {
        "PYTHONPATH": f"{package}/{folder}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "",  # pytest is large, and its own environment keeps it
    }
    command = [python, "-m", "pytest", "-p", "sonde.pytest_plugin", "-rA", "-p", "no:cacheprovider", *words]
    done = launch.run([*command, "test_marks.py"], environment=environment)
    return done.stdout.decode()


def outcomes(text):
    rows = [line.split() for line in text.splitlines() if line.startswith(("PASSED", "FAILED"))]
    return {row[1].partition("::")[2]: row[0] for row in rows}


def test_limits(launch):
    python, why = launch.python.peer_environment(["pytest"])
    if not python:
        pytest.skip(why)
    launch.python.enter(["true"], launch.folder)  # settles where a chroot sees the package
    text = run_tests(launch, python)
    assert {name for name, outcome in outcomes(text).items() if outcome == "FAILED"} == FAILING, text
    assert len(outcomes(text)) == 11
    assert "Test was limited to 24.0MiB but allocated 25.0MiB" in text
    lines = (launch.folder / "test_marks.py").read_text().splitlines()
    number = 1 + next(row for row, line in enumerate(lines) if "allocated = " in line)
    where = f"allocated here:\n        test_over:{launch.folder}/test_marks.py:{number}\n"
    assert "- 25.0MiB in 1 blocks " + where in text
    assert "a limit of memory is a number and B" in text
    assert "- 1.0MiB in 11 blocks allocated here:\n        leak:" in text


def test_limits_in_several_processes(modern_launch):
    pytest.importorskip("xdist")
    text = run_tests(modern_launch, sys.executable, "-p", "xdist.plugin", "-n", "2")
    assert {name for name, outcome in outcomes(text).items() if outcome == "FAILED"} == FAILING, text
    assert "Test was limited to 24.0MiB but allocated 25.0MiB" in text


def test_marks_are_left_to_pytest_memray(modern_launch):
    """Known by the name under which it is registered."""
    stand_in = """
        def pytest_configure(config):
            config.pluginmanager.register(object(), "memray")
    """
    modern_launch.write("early.py", stand_in)
    text = run_tests(modern_launch, sys.executable, "-p", "early", "-k", "over")
    assert outcomes(text) == {"test_over": "PASSED"}, text


def test_entry_point():
    text = pathlib.Path(interpreters.REPOSITORY, "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nsonde = "sonde.pytest_plugin"\n' in text
