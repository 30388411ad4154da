"""pytest under sonde, and pytest --sonde: fixtures, recordings, the summary, and a real suite with the five
commands that users of Tracy know."""

import io
import re
import shutil
import sys
import tarfile

import interpreters
import peer_programs
import pytest
from conftest import read

PROGRAM = """
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def keep(megabytes):
        return bytearray(megabytes << 20)
"""
TESTS = """
    import json, unittest

    import prog
    import pytest

    def test_with_fixture(sonde_profile):
        assert prog.fib(7) == 13

    def test_with_old_fixture(tracy_profile):
        assert prog.fib(5) == 5

    @pytest.mark.parametrize("n", [3, 9])
    def test_of_several(n):
        json.dumps(prog.fib(n))

    class TestOfUnittest(unittest.TestCase):
        def test_method(self):
            prog.fib(4)

    def test_memory():
        assert prog.keep(6)

    def test_failing():
        assert prog.fib(2) == 3
"""
CALLS = {1: 1, 2: 3, 3: 5, 4: 9, 5: 15, 7: 41, 9: 109}  # of fib, to find that of n


@pytest.fixture
def suite(launch):
    return prepared(launch)


@pytest.fixture
def modern_suite(modern_launch):
    return prepared(modern_launch)


def prepared(launch):
    python, why = launch.python.peer_environment(["pytest"])
    if not python:
        pytest.skip(why)
    launch.write("prog.py", PROGRAM)
    launch.write("test_some.py", TESTS)
    launch.python.enter(["true"], launch.folder)  # settles where a chroot sees the package
    launch.pytest = [python, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--color=no"]
    launch.environment["PYTHONDONTWRITEBYTECODE"] = ""  # pytest is large, and its own environment keeps it
    return launch


def package_of(launch):
    package = launch.python.place or interpreters.sonde_folder()
    return f"{package}/{interpreters.package_folder().relative_to(interpreters.sonde_folder())}"


def plain(launch, *words, **options):
    """pytest alone, which knows of the plugin by its name."""
    environment = {"PYTHONPATH": package_of(launch), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [*launch.pytest, "-p", "sonde.pytest_plugin", *words]
    return launch.run(command, environment=environment, **options)


def outcomes(done):
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    return sorted((row[0], row[1]) for row in rows if row and row[0] in {"PASSED", "FAILED", "ERROR"})


def files_of_library(tables):
    """Those of functions that were counted."""
    files = {tables["strings"][tables["codes"]["file"][code]] for code in tables["functions"]["code"]}
    return [file for file in files if "site-packages" in file or "/sonde/" in file]


def failure_of(done):
    """What is said of the failing test."""
    text = re.search(r"_+ test_failing _+\n.*?AssertionError", done.stdout.decode(), re.DOTALL).group()
    return re.sub("0x[0-9a-f]+", "ADDRESS", text)


def fib_calls(launch, output="out.sonde"):
    return launch.counts(str(launch.folder / "prog.py"), output)["fib"][0]


def test_fixtures_choose_what_is_recorded(suite):
    """sonde need not be installed where pytest is: the plugin comes with it."""
    done = suite.run([*suite.tracer(trace=["-p", "-l"]), "--", *suite.pytest])
    assert (done.returncode, done.stderr) == (1, b""), done.stdout
    assert outcomes(done) == outcomes(plain(suite))
    assert fib_calls(suite) == CALLS[7] + CALLS[5]
    tables = read(suite.folder / "out.sonde")
    strings, codes = tables["strings"], tables["codes"]
    assert not files_of_library(tables)
    timed = {strings[codes["name"][code]] for code in tables["lines"]["code"]}
    assert {"fib", "test_with_fixture", "test_with_old_fixture"} <= timed
    regions = {strings[name] for name in tables["regions"]["name"]}
    assert {"test_some.py::test_with_fixture", "test_some.py::TestOfUnittest::test_method"} <= regions


def test_whole_run_without_pytest_itself(modern_suite):
    done = modern_suite.run([*modern_suite.tracer(), "--", *modern_suite.pytest])
    assert outcomes(done) == outcomes(plain(modern_suite))
    assert fib_calls(modern_suite) == sum(CALLS[n] for n in (7, 5, 3, 9, 4, 2))
    assert not files_of_library(read(modern_suite.folder / "out.sonde"))


def test_calls_of_tests(suite):
    """One profile for all, in which every test is a frame; results and what is said of failures stay."""
    without = plain(suite)
    done = plain(suite, "--sonde", "--sonde-output", "all")
    text = done.stdout.decode()
    assert done.returncode == 1 and outcomes(done) == outcomes(without)
    assert failure_of(done) == failure_of(without)
    assert fib_calls(suite, "all.sonde") == sum(CALLS[n] for n in (7, 5, 3, 9, 4, 2))
    assert "sonde report all.sonde" in text
    assert not files_of_library(read(suite.folder / "all.sonde"))
    summary = text.partition("slowest tests, and their functions")[2]
    of_nine = summary.partition("test_some.py::test_of_several[9]\n")[2].partition("test_some.py::")[0]
    assert re.search(r"109 calls  fib \(.*prog.py:1\)", of_nine), summary


def test_a_recording_for_each_test(modern_suite):
    done = plain(modern_suite, "--sonde=trace", "--sonde-per-test", "--sonde-output", "each")
    files = sorted(path.name for path in (modern_suite.folder / "each").iterdir())
    assert len(files) == 7 and "test_some.py_test_of_several[9].sonde" in files
    assert fib_calls(modern_suite, "each/test_some.py_test_of_several[9].sonde") == CALLS[9]
    assert b"7 recordings in each" in done.stdout
    done = plain(modern_suite, "--sonde=mem", "--sonde-per-test", "--sonde-output", "memory", "-k", "memory")
    assert re.search(rb"6\.\d+ MiB  test_some.py::test_memory\n +6\.0 MiB  keep \(.*prog.py:5\)", done.stdout)
    done = plain(modern_suite, "--sonde=line", "--sonde-per-test", "--sonde-output", "lines", "-k", "several")
    assert re.search(rb"::test_of_several.9.\n +[\d.]+% +109 hits  fib \(.*prog.py:2\)", done.stdout)
    hits = read(modern_suite.folder / "lines" / "test_some.py_test_of_several[3].sonde")["lines"]["hits"]
    assert sorted(filter(None, hits)) == [1, CALLS[3]], "lines of the test and of fib, in that test alone"


SLOW = """
    import gc, json, time, prog

    def test_quick():
        pass

    def test_slow():
        text = json.dumps(list(range(20000)))
        for _ in range(40):
            json.loads(text, parse_int=int)
        end = time.process_time() + 1
        while time.process_time() < end:  # long enough to be found hot
            assert prog.loop(100000)
        kept = [[number] for number in range(100000)]
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            gc.collect()
"""
LOOP = """
    def loop(count):
        total = 0
        for number in range(count):
            total += number * number
        return total
"""


@pytest.mark.parametrize("mode", ["record", "line"])
def test_slow_tests_are_told(modern_suite, mode):
    """With what took their time, though another process records it; what a library does is its caller's."""
    modern_suite.write("prog.py", LOOP)
    (modern_suite.folder / "test_some.py").unlink()
    modern_suite.write("test_slow.py", SLOW)
    each = ["--sonde-per-test", "--sonde-output", "each"] if mode == "record" else []
    done = plain(modern_suite, f"--sonde={mode}", "--sonde-slowest", "1", *each)
    assert done.returncode == 0, done.stderr
    summary = done.stdout.decode().partition("sonde: slowest tests")[2].partition("short test summary")[0]
    amounts = re.findall(r"^ +([\d.]+) s  test_slow.py::test_slow\n", summary, re.MULTILINE)
    assert len(amounts) == 1 and float(amounts[0]) > 0.02, done.stdout
    what = {"record": r"\d+ samples  loop \(.*prog.py:1\)", "line": r"[\d,]{7,} hits  loop \(.*prog.py:4\)"}
    assert re.search(what[mode], summary), summary
    assert mode == "line" or "samples  <garbage collection>\n" in summary
    assert "json" not in summary and "test_quick" not in summary
    if each:
        tables = read(modern_suite.folder / "each" / "test_slow.py_test_slow.sonde")
        assert "loop" in {tables["strings"][name] for name in tables["codes"]["name"]}
        assert (modern_suite.folder / "each" / "all.sonde").exists()
    else:
        assert len(list(modern_suite.folder.glob("pytest.*.sonde"))) == 1


@pytest.mark.parametrize("mode", ["record", "mem"])
def test_pytest_begins_anew(modern_suite, mode):
    without = plain(modern_suite)
    done = plain(modern_suite, f"--sonde={mode}", "--sonde-output", "out.sonde")
    assert done.returncode == 1 and outcomes(done) == outcomes(without), done.stderr
    tables = read(modern_suite.folder / "out.sonde")
    assert tables["meta"]["mode"] == mode
    names = {tables["strings"][name] for name in tables["codes"]["name"]}
    if mode == "mem":
        assert "keep" in names and "test_some.py::test_memory" in names
        assert b"6.0 MiB  keep" in done.stdout


def test_misuse_is_told(modern_launch):
    launch = modern_launch
    launch.pytest = [sys.executable, "-m", "pytest"]
    launch.write("test_one.py", "def test(): pass\n")
    code = "import pytest, sys; sys.exit(pytest.main(['-p', 'sonde.pytest_plugin', '--sonde=record']))"
    done = launch.run([sys.executable, "-c", code], environment={"PYTHONPATH": package_of(launch)})
    assert b"which must be a program of its own" in done.stderr


@pytest.mark.parametrize("mode", ["trace", "mem"])
def test_several_processes(modern_launch, mode):
    """Of pytest-xdist: each worker records; one summary."""
    pytest.importorskip("xdist")
    launch = modern_launch
    launch.pytest = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-rA"]
    launch.write("prog.py", PROGRAM)
    launch.write("test_some.py", TESTS)
    done = plain(launch, "-n", "2", f"--sonde={mode}", "--sonde-output", "all.sonde")
    assert done.returncode == 1, done.stdout + done.stderr
    summary = done.stdout.decode().partition("sonde: ")[2]
    assert len(set(re.findall(r"test_some\.py::\S+\n", summary))) >= 7, summary
    if mode == "trace":
        found = sorted(launch.folder.glob("all.gw*.sonde"))
        counts = [launch.counts(str(launch.folder / "prog.py"), path).get("fib", (0, 0))[0] for path in found]
        assert sum(counts) == sum(CALLS[n] for n in (7, 5, 3, 9, 4, 2))
    else:
        assert len(read(launch.folder / "all.sonde")["processes"]["pid"]) >= 3


# ---- a real suite ----


@pytest.fixture(scope="session")
def real_suite():
    """The sources of more-itertools, with its tests; whose newest ones need no other package."""
    folder = peer_programs.cache("peer-more-itertools")
    found = list(folder.glob("more[-_]itertools-*/tests"))
    if not found:
        try:
            packed = peer_programs.newest_source("more-itertools")
        except (ImportError, OSError, ValueError, LookupError) as error:
            pytest.skip(f"more-itertools cannot be fetched: {error}")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder)
        found = list(folder.glob("more[-_]itertools-*/tests"))
    return found[0].parent


SCRIPT = """
    import more_itertools

    def function_under_test():
        return more_itertools.take(3, more_itertools.pairwise(range(9)))

    from {module} import Profiler
    profiler = Profiler()

    list(more_itertools.chunked("abcdef", 2))
    profiler.enable()
    function_under_test()
    profiler.disable()
    list(more_itertools.chunked("abcdef", 2))
"""


AUTOUSE = """
    import pytest

    @pytest.fixture(autouse=True)
    def profile_all(tracy_profile):
        pass
"""


def test_commands_of_tracy_on_a_real_suite(modern_launch, real_suite):
    """python -m tracy becomes python -m sonde trace: five commands. The results are what they are without it,
    and the recordings are small."""
    launch = modern_launch
    python, why = launch.python.peer_environment(["pytest"])
    if not python:
        pytest.skip(why)
    shutil.copytree(real_suite / "more_itertools", launch.folder / "more_itertools")
    shutil.copytree(real_suite / "tests", launch.folder / "tests")
    launch.write("conftest.py", AUTOUSE)
    launch.environment.update(PYTHONPATH=package_of(launch), PYTHONDONTWRITEBYTECODE="")
    recipes = ["-m", "pytest", "-p", "no:cacheprovider", "-rA", "--color=no", "tests/test_recipes.py"]

    def run(*words):
        done = launch.run([python, "-m", "sonde", "trace", "--quiet", "-o", "out.sonde", *words], timeout=300)
        assert (done.returncode, done.stderr) == (0, b""), done.stdout[-2000:]
        assert (launch.folder / "out.sonde").stat().st_size < 1 << 20
        return done, launch.counts(str(launch.folder / "more_itertools" / "recipes.py"))

    for module in "sonde", "tracy":
        script = launch.write("script.py", SCRIPT.format(module=module))
        assert "take" in run(script)[1]
        assert set(run("-p", script)[1]) == {"take", "pairwise"} or module == "tracy"

    plugin = {"PYTEST_PLUGINS": "sonde.pytest_plugin"}
    without = launch.run([python, *recipes], environment=plugin)
    assert len(outcomes(without)) > 100, without.stdout[-2000:]
    whole, calls = run(*recipes)
    part, calls_in_part = run("-p", *recipes)
    lines, calls_beside_lines = run("-p", "-l", *recipes)
    assert outcomes(whole) == outcomes(part) == outcomes(lines) == outcomes(without)
    assert len(calls) > 40 and calls_in_part == calls_beside_lines
    assert all(count <= calls[name] for name, count in calls_in_part.items())
    tables = read(launch.folder / "out.sonde")
    strings, codes = tables["strings"], tables["codes"]
    timed = {strings[codes["file"][code]] for code in tables["lines"]["code"]}
    assert str(launch.folder / "more_itertools" / "recipes.py") in timed
    assert not [file for file in timed if "site-packages" in file]

    done = launch.run([python, *recipes[:-1], "--sonde=trace", "tests"], environment=plugin, timeout=300)
    assert done.returncode == 0 and b"slowest tests, and their functions" in done.stdout
