"""sonde merge, and .prof files of every Python: sonde reads and writes what pstats and its peers see."""

import contextlib
import json
import marshal
import os
import pathlib
import pstats
import shutil
import subprocess

import browser
import interpreters
import pytest

DATA = interpreters.REPOSITORY / "tests" / "data" / "prof"

PROGRAM = """
    import functools, json, re, sys

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @functools.lru_cache(None)
    def cached(n):
        return sum(i * i for i in range(n))

    class Größe:
        def wert(self): return 1

    def main(n):
        fib(n), [cached(i % 7) for i in range(50)], Größe().wert()
        json.loads(json.dumps({"a": [1, 2.5, None] * 50}))
        re.sub("a+", lambda m: m.group(0) * 2, "banana" * n)
        for _ in 1, 2: (lambda: 0)(), (lambda: 1)()
        if n % 2: sorted(range(100), key=lambda x: -x)

    main(int(sys.argv[1]))
"""


@pytest.fixture(scope="session")
def reader():
    """Nothing here reads through the package, so it need not be built."""


def merge(sonde, *arguments, code=0, **options):
    done = subprocess.run([sonde, "merge", *arguments], capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == code, done.stderr
    return done.stderr


def load(path):
    return marshal.loads(pathlib.Path(path).read_bytes())


def profile(launch, profiler, size):
    """Profiles the program; the file's name."""
    program = launch.write("program.py", PROGRAM)
    path = launch.folder / f"{profiler}.{size}.prof"
    done = launch.plain("-W", "ignore", "-m", profiler, "-o", path, program, str(size))
    assert done.returncode == 0, done.stderr
    return path


def assert_equal(launch, ours, *theirs):
    script = launch.support("pstats_compare.py")
    done = launch.plain(script, ours, *theirs)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.parametrize("profiler", ["cProfile", "profile"])
def test_a_file_of_every_python_reads_back_equal(launch, profiler):
    theirs = profile(launch, profiler, 12)
    ours = launch.folder / "ours.prof"
    merge(launch.sonde, theirs, "-o", ours)
    assert_equal(launch, ours, theirs)


def test_merging_equals_pstats_add(launch):
    parts = [profile(launch, "cProfile", size) for size in range(8, 13)]
    ours = launch.folder / "sum.prof"
    merge(launch.sonde, *parts, "-o", ours)
    assert_equal(launch, ours, *parts)


def test_going_through_a_sonde_file_changes_nothing(launch):
    parts = [profile(launch, "cProfile", size) for size in (8, 9)]
    whole, back = launch.folder / "sum.sonde", launch.folder / "back.prof"
    merge(launch.sonde, *parts, "-o", whole)
    assert not whole.read_bytes().startswith(b"{")
    merge(launch.sonde, whole, "-o", back)
    assert_equal(launch, back, *parts)


def small_counts(path):
    return {function: numbers[:2] for function, numbers in load(path).items() if function[0] == "small.py"}


@pytest.mark.parametrize("path", sorted(DATA.glob("*rofile-*.prof")), ids=lambda path: path.stem)
def test_stored_files_of_every_version(sonde, tmp_path, path):
    """Also of Pythons that this machine lacks; `profile` files hold a code object of their version."""
    ours = tmp_path / "ours.prof"
    merge(sonde, path, "-o", ours)
    assert small_counts(ours) == {
        ("small.py", 1, "<module>"): (1, 1),
        ("small.py", 1, "factorial"): (5, 15),
        ("small.py", 5, "work"): (1, 1),
        ("small.py", 8, "<lambda>"): (3, 3),
    }
    factorial = load(ours)["small.py", 1, "factorial"][4]
    bare = path.stem.startswith("profile")
    assert ("profile", 0, "<module>") in load(ours) or not bare
    calls = {caller[2]: value if bare else value[0] for caller, value in factorial.items()}
    assert calls == {"factorial": 10, "work": 5}


def test_sampled_file(sonde, tmp_path):
    ours = tmp_path / "ours.prof"
    merge(sonde, DATA / "sampled-3.15.prof", DATA / "sampled-3.15.prof", "-o", ours)
    assert load(ours)["loop.py", 5, "inner"] == (14, 16, 0.014, 0.016, {("loop.py", 9, "outer"): 16})


def test_python_2_reads_what_we_write(sonde, tmp_path):
    home = pathlib.Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    python = next(home.glob("versions/2.7*/bin/python"), None) or shutil.which("python2.7")
    if not python:
        pytest.skip("no Python 2.7 found")
    ours = tmp_path / "ours.prof"
    merge(sonde, DATA / "cProfile-2.7.prof", DATA / "cProfile-3.13.prof", "-o", ours)
    code = "import pstats, sys; pstats.Stats(sys.argv[1]).print_stats('factorial')"
    printed = subprocess.run([python, "-c", code, ours], capture_output=True, text=True, check=True).stdout
    assert "30/10" in printed and "small.py:1(factorial)" in printed


@pytest.fixture(scope="module")
def peers():
    """A Python that has SnakeViz and gprof2dot."""
    reason = "no interpreter"
    found = [interpreter for interpreter in interpreters.find()[0] if not interpreter.root]
    for interpreter in reversed(found):  # some builds cannot make virtual environments
        python, reason = interpreter.peer_environment(["snakeviz", "gprof2dot"])
        if python:
            return python
    return pytest.skip(reason)


def ask(python, code, *arguments):
    done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SNAKEVIZ = """
import json, pstats, sys
from snakeviz.stats import json_stats, table_rows
stats = pstats.Stats(sys.argv[1])
rows = sorted([row[-1], row[0]] for row in table_rows(stats))
tree = {name: {child: numbers[:2] for child, numbers in value["children"].items()}
        for name, value in json_stats(stats).items()}
print(json.dumps([rows, tree]))
"""


def test_snakeviz_shows_the_same(modern_launch, peers):
    theirs = profile(modern_launch, "cProfile", 12)
    ours = modern_launch.folder / "ours.prof"
    merge(modern_launch.sonde, theirs, "-o", ours)
    rows, tree = ask(peers, SNAKEVIZ, ours)
    assert len(rows) > 20 and any("(Größe)" in name for name, _ in rows)
    assert [rows, tree] == ask(peers, SNAKEVIZ, theirs)


# What the page shows: the cells of its table, and how many bars of the diagram bear a name.
ROWS = (
    "Array.from(document.querySelectorAll('tbody tr'), row => Array.from(row.cells, cell => cell.innerText))"
)
DRAWN = "Array.from(document.querySelectorAll('svg text'), text => text.textContent).filter(text => text)"


@contextlib.contextmanager
def snakeviz_server(python, file):
    """The address of the page that SnakeViz shows of the file."""
    command = [python, "-u", "-m", "snakeviz", "--server", "--port", "18080", file]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **options) as server:
        try:
            yield next(line.strip() for line in server.stdout if line.startswith("http"))
        finally:
            server.kill()


def test_snakeviz_page_in_a_browser(modern_launch, peers):
    program = browser.find()
    if not program:
        pytest.skip("no Chromium to look at the page with (tools/setup test)")
    code = (
        "def fact(n): return n < 2 or n * fact(n - 1)\ndef many():\n  for _ in range(37): fact(20)\nmany()\n"
    )
    modern_launch.write("work.py", code)
    ours = modern_launch.folder / "ours.prof"
    assert modern_launch.traced("work.py", output="ours.prof").returncode == 0
    with (
        snakeviz_server(peers, ours) as address,
        browser.started(program, modern_launch.folder / "b") as page,
    ):
        page.open(address)
        drawn = page.wait_for(f"({DRAWN}).length && ({DRAWN})")
        shown = {row[5]: row for row in page.evaluate(ROWS)}
        page.picture(modern_launch.folder / "snakeviz.png")
    assert any("fact" in text for text in drawn) and any("many" in text for text in drawn)
    assert shown["work.py:1(fact)"][0] == "740/37" and shown["work.py:2(many)"][0] == "1"
    times = {label[2]: row[2:4] for label, row in pstats.Stats(str(ours)).stats.items()}
    for name, label in (("fact", "work.py:1(fact)"), ("many", "work.py:2(many)")):
        assert [float(shown[label][1]), float(shown[label][3])] == [float(f"{s:.4g}") for s in times[name]]


GPROF2DOT = """
import gprof2dot, json, sys
profile = gprof2dot.PstatsParser(sys.argv[1]).parse()
functions = [[f.name, f.called] for f in profile.functions.values()]
calls = [[f.name, profile.functions[c.callee_id].name, c[gprof2dot.CALLS]]
         for f in profile.functions.values() for c in f.calls.values()]
print(json.dumps([sorted(functions), sorted(calls)]))
"""


def test_gprof2dot_shows_the_same(modern_launch, peers):
    theirs = profile(modern_launch, "cProfile", 12)
    ours = modern_launch.folder / "ours.prof"
    merge(modern_launch.sonde, theirs, "-o", ours)
    functions, calls = ask(peers, GPROF2DOT, ours)
    assert len(functions) > 20 and len(calls) > 20
    assert [functions, calls] == ask(peers, GPROF2DOT, theirs)


def test_gprof2dot_opens_callers_without_entry(modern_launch, peers):
    """As `profile` writes them: ("profile", 0, "profiler") calls, but was never called."""
    ours = modern_launch.folder / "ours.prof"
    merge(modern_launch.sonde, DATA / "profile-3.12.prof", "-o", ours)
    functions, _ = ask(peers, GPROF2DOT, ours)
    assert {"small:1:factorial", "profile:0:profiler"} <= {name for name, _ in functions}


@pytest.fixture
def parts(tmp_path):
    """Five .prof files: base.0.part ... base.4.part."""
    for rank in range(5):
        shutil.copy(DATA / "cProfile-3.12.prof", tmp_path / f"base.{rank}.part")
    return tmp_path


def factorial_calls(path):
    return load(path)["small.py", 1, "factorial"][1]


def test_a_quoted_pattern_is_expanded(sonde, parts):
    said = merge(sonde, "base.*.part", "-o", "base.dat", cwd=parts)
    assert "5 recordings" in said
    assert factorial_calls(parts / "base.dat") == 75
    merge(sonde, "nothing.*", "-o", "base.dat", cwd=parts, code=2)
    assert factorial_calls(parts / "base.dat") == 75


def test_a_folder_stands_for_its_recordings(sonde, parts):
    (parts / "notes.txt").write_text("no recording\n")
    for _ in range(2):  # the second time the result of the first lies in the folder, and must not count
        merge(sonde, parts, "-o", parts / "sum.prof")
        assert factorial_calls(parts / "sum.prof") == 75


def test_an_input_is_never_overwritten(sonde, parts):
    first = parts / "base.0.part"
    (parts / "link").symlink_to(first)
    before = first.read_bytes()
    for output in first, parts / "link":
        assert "input" in merge(sonde, first, parts / "base.1.part", "-o", output, code=2)
        assert first.read_bytes() == before
    precious = parts / "thesis.tex"
    precious.write_text("years of work")
    assert "no recording" in merge(sonde, first, "-o", precious, code=2)
    assert precious.read_text() == "years of work"


def test_an_unreadable_input_is_named(sonde, parts):
    (parts / "base.2.part").write_bytes((parts / "base.1.part").read_bytes()[:-30])
    (parts / "base.3.part").write_text("text")
    for bad in "base.2.part", "base.3.part", "absent.prof":
        assert bad in merge(sonde, "base.0.part", bad, "-o", "sum", cwd=parts, code=2)
    said = merge(sonde, "--keep-going", "base.*.part", "absent.prof", "-o", "sum", cwd=parts)
    assert said.count("left out") == 3 and "3 recordings" in said
    assert factorial_calls(parts / "sum") == 45
    merge(sonde, "-k", "base.3.part", "-o", "other", cwd=parts, code=2)
    assert sorted(path.name for path in parts.iterdir() if "part" not in path.name) == ["sum"]


@pytest.mark.parametrize("form", ["sonde", "pstats"])
def test_outputs_that_cannot_be_written(sonde, parts, form):
    part = parts / "base.0.part"
    assert "space" in merge(sonde, part, "--format", form, "-o", "/dev/full", code=2)
    assert "/absent/" in merge(sonde, part, "--format", form, "-o", "/absent/sum", code=2)
    assert "-o" in merge(sonde, part, "--format", form, code=2)
    assert "merge" in merge(sonde, "-o", parts / "sum", code=2)
    assert len(list(parts.iterdir())) == 5


def test_the_format_is_chosen(sonde, parts):
    part = parts / "base.0.part"
    chosen = {
        "a.dat": [],  # as the inputs
        "b.sonde": [],
        "c.pstats": [],
        "d.sonde": ["--format", "pstats"],
        "e.prof": ["--format", "sonde"],
    }
    kinds = {}
    for name, options in chosen.items():
        merge(sonde, part, *options, "-o", parts / name)
        kinds[name] = "pstats" if (parts / name).read_bytes()[:1] == b"{" else "sonde"
    assert list(kinds.values()) == ["pstats", "sonde", "pstats", "pstats", "sonde"]
    merge(sonde, part, parts / "b.sonde", "-o", parts / "mixed")
    assert (parts / "mixed").read_bytes()[:1] != b"{"
    merge(sonde, parts / "mixed", "-o", parts / "mixed.prof")
    assert factorial_calls(parts / "mixed.prof") == 30


def test_hundreds_of_files(sonde, tmp_path):
    for rank in range(300):
        shutil.copy(DATA / f"cProfile-3.{8 + rank % 8}.prof", tmp_path / f"cpu_{rank}.prof")
    merge(sonde, tmp_path / "cpu_*.prof", "-o", tmp_path / "all.dat")
    assert factorial_calls(tmp_path / "all.dat") == 300 * 15


THREADS = """
    import sys, threading

    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    def job(n):
        for _ in range(n): factorial(5)

    threads = [threading.Thread(target=job, args=(int(sys.argv[1]),)) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.fixture
def runs(modern_launch):
    """Two traced runs with two threads beside the main one: one.sonde, two.sonde."""
    program = modern_launch.write("threads.py", THREADS)
    paths = []
    for name, size in ("one.sonde", 10), ("two.sonde", 20):
        done = modern_launch.traced(program, str(size), output=name)
        assert done.returncode == 0, done.stderr
        paths.append(modern_launch.folder / name)
    return paths


def thread_counts(path):
    counts = {function[2]: numbers[:2] for function, numbers in load(path).items()}
    return counts["factorial"], counts["job"]


def test_traced_runs_are_added_and_stay_apart(sonde, runs):
    whole, flat, back = (runs[0].with_name(name) for name in ("sum.sonde", "sum.prof", "back.prof"))
    merge(sonde, *runs, "-o", whole)
    info = subprocess.run([sonde, "info", whole], capture_output=True, text=True, check=True).stdout
    assert "Processes: 2" in info and "Threads: 6" in info and "Damage: none" in info
    merge(sonde, *runs, "-o", flat)
    merge(sonde, whole, "-o", back)
    assert thread_counts(flat) == ((60, 300), (4, 4))
    assert load(flat) == load(back)


def test_a_cut_recording_is_merged_as_far_as_it_goes(sonde, runs):
    cut, result = runs[0].with_name("cut.sonde"), runs[0].with_name("sum.sonde")
    cut.write_bytes(runs[1].read_bytes()[:-100])
    assert "cut.sonde" in merge(sonde, runs[0], cut, "-o", result)
    info = subprocess.run([sonde, "info", result], capture_output=True, text=True, check=True).stdout
    assert "cut.sonde" in info


def test_traced_and_cprofile_files_are_added(sonde, runs):
    mixed, flat = (runs[0].with_name(name) for name in ("mixed.dat", "mixed.prof"))
    merge(sonde, *runs, DATA / "cProfile-3.12.prof", "-o", mixed)
    merge(sonde, mixed, "-o", flat)
    assert factorial_calls(flat) == 15
    assert sum(numbers[1] for function, numbers in load(flat).items() if function[2] == "factorial") == 315
