"""sonde.LineProfiler against line_profiler's, in every Python found; profile, lineprof and memprof."""

import json
import re
import shutil
import subprocess

import interpreters
import line_cases
import line_workloads
import pytest

COMPARED = [name for name in vars(line_cases) if name.startswith("compare_")]
CHECKED = [name for name in vars(line_cases) if name.startswith("check_")]


def run_cases(python, executable, arguments, tmp_path, under=()):
    shutil.copy(line_workloads.__file__, tmp_path)
    script = shutil.copy(line_cases.__file__, tmp_path)
    command = [*under, executable, "-W", "ignore", script, interpreters.package_folder(), *arguments]
    done = subprocess.run(
        python.enter(command, tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout.splitlines()[-1])


def with_line_profiler(python, *packages):
    executable, reason = python.peer_environment(["line_profiler", *packages])
    if not executable:
        pytest.skip(reason)
    return executable


@pytest.fixture(scope="module")
def compared(python, tmp_path_factory):
    executable = with_line_profiler(python)
    return run_cases(python, executable, ["compare"], tmp_path_factory.mktemp("compared"))


@pytest.fixture(scope="module")
def checked(python, tmp_path_factory):
    return run_cases(python, python.executable, ["check"], tmp_path_factory.mktemp("checked"))


@pytest.mark.parametrize("name", COMPARED)
def test_equals_line_profiler(compared, name):
    assert compared[name]["sonde"] == compared[name]["line_profiler"]
    assert compared[name]["sonde"]


@pytest.mark.parametrize("name", CHECKED)
def test_line_profiler(checked, name):
    assert checked[name] == ([2, 5, 3, 2] if name == "check_fork" else None)


@pytest.mark.parametrize("command", ["line", "trace", "record"])
def test_in_a_program_that_sonde_runs(modern, sonde, command, tmp_path):
    """Beside another collector the counts are the same; of the lines that the recorder counts, a child's own
    profiler has only those after the fork."""
    output = tmp_path / "outer.sonde"
    options = ["--hot", "0"] if command == "line" else []
    under = [sonde, command, *options, "-o", output, "--quiet", "--"]
    names = ["check_self_times", "check_threads", "check_enabling_often", "check_files", "check_fork"]
    results = run_cases(modern, modern.executable, names, tmp_path, under)
    assert results.pop("check_fork") == ([1, 3, 2, 1] if command == "line" else [2, 5, 3, 2])
    assert not any(results.values())
    assert output.stat().st_size > 0


@pytest.mark.parametrize("options", [[], ["--no-c-calls"]], ids=["all", "no-c-calls"])
def test_trace_misses_nothing(launch, options):
    """The tracer's own way to be told of calls, before 3.12, is the same slot or hook that lines need."""
    script = launch.write(
        "both.py",
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        from sonde import LineProfiler

        def called(n):
            return len(range(n))

        profiler = LineProfiler(called)
        called(1)
        for i in range(3):
            with profiler:
                called(2)
            called(3)
        print([row[:2] for rows in profiler.get_stats().timings.values() for row in rows])
        """,
    )
    done = launch.traced(script, interpreters.package_folder(), trace=options)
    assert (done.stdout, done.stderr) == (b"[(6, 3)]\n", b"")
    assert launch.counts("both.py")["called"] == (7, 7)


# The decorators.

DECORATED = """
    import sys
    sys.path[:0] = sys.argv[1:]
    from {module} import profile

    @profile
    def chosen(n):
        total = 0
        for i in range(n):
            total += i
        return total

    def other():
        return chosen(4)

    print(other(), "sonde.line_profile" in sys.modules)
"""
HITS = {7: 1, 8: 5, 9: 4, 10: 1}


def recorded_hits(launch):
    """{line: hits} of the recorded functions; they must be one."""
    recording = launch.recording().data
    assert len(set(recording["lines"]["code"])) == 1
    return dict(zip(recording["lines"]["line"], recording["lines"]["hits"]))


def under_line(launch, script, executable=None, **options):
    command = [launch.sonde, "line", "--hot", "0", "--quiet", "-o", launch.folder / "out.sonde", "--"]
    done = launch.run([*command, executable or launch.python.executable, script], **options)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done


def test_profile_chooses_under_sonde_line(launch):
    """Neither sonde nor line_profiler is installed in the interpreter; sonde serves both."""
    for module in ("sonde", "line_profiler"):
        script = launch.write("decorated.py", DECORATED.format(module=module))
        done = under_line(launch, script, environment={"LINE_PROFILE": "1"})
        assert done.stdout == b"6 False\n"
        assert recorded_hits(launch) == HITS
        plain = launch.plain(script)
        assert b"ModuleNotFoundError" in plain.stderr
    assert sorted(path.name for path in launch.folder.iterdir()) == ["decorated.py", "out.sonde"]


def test_installed_line_profiler_chooses_under_sonde_line(launch):
    """Its own decorator hands the function to sonde, and writes and prints nothing itself."""
    executable = with_line_profiler(launch.python)
    script = launch.write("decorated.py", DECORATED.format(module="line_profiler"))
    for environment in ({}, {"LINE_PROFILE": "1"}):
        done = under_line(launch, script, executable, environment=environment)
        assert done.stdout == b"6 False\n"
        assert recorded_hits(launch) == HITS
    assert sorted(path.name for path in launch.folder.iterdir()) == ["decorated.py", "out.sonde"]


def test_profile_in_a_setup_script(launch):
    """What it chooses is timed when the program runs it."""
    launch.write("chosen.py", "def chosen(n):\n    return n\n")
    setup = launch.write(
        "setup.py", "import sys\nsys.path.insert(0, '.')\nimport chosen\nprofile(chosen.chosen)\n"
    )
    script = launch.write("main.py", "import chosen\nfor i in range(3):\n    chosen.chosen(i)\n")
    command = [launch.sonde, "line", "--hot", "0", "-s", setup, "--quiet", "-o", launch.folder / "out.sonde"]
    done = launch.run([*command, "--", launch.python.executable, script])
    assert (done.returncode, done.stderr) == (0, b"")
    assert recorded_hits(launch) == {2: 3}


def test_profile_costs_nothing_alone(launch):
    script = launch.write(
        "alone.py",
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        from sonde import lineprof, memprof, profile

        def function():
            pass

        for decorator in (lineprof, memprof, profile):
            assert decorator(function) is function
        print(sorted(name for name in sys.modules if name.startswith("sonde")))
        """,
    )
    done = launch.plain(script, interpreters.package_folder())
    assert done.stdout == b"['sonde', 'sonde.decorators']\n", done.stderr


def test_profile_in_an_interpreter_that_is_refused(free_threaded_launch):
    """The script runs all the same; only who asks for a profiler is told."""
    launch = free_threaded_launch
    script = launch.write("decorated.py", DECORATED.format(module="sonde"))
    done = launch.plain(script, interpreters.package_folder())
    assert done.stdout == b"6 False\n", done.stderr
    script.write_text(script.read_text() + "\nfrom sonde import LineProfiler\n")
    assert (
        b"sonde has no build for free-threaded CPython yet"
        in launch.plain(script, interpreters.package_folder()).stderr
    )


def outputs(launch, executable, module, **variables):
    """What a run prints, and the files that it leaves; times of day are left out."""
    script = launch.write("decorated.py", DECORATED.format(module=module))
    done = launch.run([executable, script, interpreters.package_folder()], environment=variables)
    assert done.returncode == 0, done.stderr
    files = {}
    for path in sorted(launch.folder.glob("profile_output*")):
        files[without_date(path.name)] = path.read_bytes()
        path.unlink()
    return without_date(done.stdout.decode()).splitlines(), files


def without_date(text):
    return re.sub(r"_\d{4}-\d\d-\d\dT\d{6}", "_DATE", text)


def shape(lines):
    """Of tables each line's number, hits and contents; of all else the words."""
    column = 0
    for line in lines:
        if line.endswith("Line Contents"):
            column = line.index("Line Contents")
        if line[:6].strip().isdigit():
            yield line[:6], line[7:16], line[column:]
        else:
            yield re.sub(r"[-\d.e]+ s\b|=+|Per Hit.*", "", line)


def test_line_profile_variable(modern_launch):
    """LINE_PROFILE=1 without sonde line: what line_profiler's decorator does itself."""
    launch = modern_launch
    executable = with_line_profiler(launch.python)
    launch.write("rich.py", "raise ImportError")  # with which line_profiler prints in colours, even to a pipe
    printed, files = outputs(launch, executable, "sonde", LINE_PROFILE="1")
    their_printed, their_files = outputs(launch, executable, "line_profiler", LINE_PROFILE="1")
    assert printed[0] == "6 True"
    assert list(shape(printed[1:-1])) == list(shape(their_printed[1:-1]))
    assert sorted(files) == sorted(their_files)
    text, their_text = (each["profile_output.txt"].decode().splitlines() for each in (files, their_files))
    assert list(shape(text)) == list(shape(their_text))
    assert ("     8", "        5", "    for i in range(n):") in shape(text)
    assert outputs(launch, executable, "sonde", LINE_PROFILE="0") == (["6 False"], {})


def test_files_are_line_profilers(modern_launch):
    """Each reads the other's file, and prints the same of it."""
    launch = modern_launch
    executable = with_line_profiler(launch.python)
    script = launch.write(
        "exchange.py",
        """
        import io
        import sys
        sys.path.insert(0, sys.argv[1])
        import line_profiler
        import sonde

        def function(n):
            return [
                i for i in range(n)
            ]

        texts = []
        for kind in (sonde.LineProfiler, line_profiler.LineProfiler):
            profiler = kind(function)
            profiler.runcall(function, 3)
            profiler.dump_stats("x.lprof")
            ours, theirs = sonde.load_stats("x.lprof"), line_profiler.load_stats("x.lprof")
            assert ours == theirs and ours.timings == profiler.get_stats().timings
            assert ours.unit == theirs.unit
            for options in ({}, {"output_unit": 1e-3, "sort": True, "summarize": True}, {"details": False}):
                texts = []
                for stats in (ours, theirs):
                    stream = io.StringIO()
                    stats.print(stream, **options)
                    texts.append(stream.getvalue())
                assert texts[0] == texts[1], texts
            assert sonde.LineStats.from_stats_objects(theirs, ours).timings == (theirs + ours).timings
        """,
    )
    done = launch.run([executable, script, interpreters.package_folder()])
    assert (done.returncode, done.stderr) == (0, b"")
