"""line_profiler's files: what it wrote, sonde shows as it does; what sonde writes, it reads, old and new."""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys

import interpreters
import peer_programs
import pytest
from conftest import PROGRAMS, read

RELEASES = ["line_profiler", "line_profiler==4.2.0"]
# Modules of the standard library: the ends of hundreds of functions.
SHAPES = """
import functools, glob, inspect, os, pickle, sys
from line_profiler._line_profiler import LineStats

def codes(code):
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield constant
            yield from codes(constant)

timings = {}
for file in sorted(glob.glob(os.path.dirname(os.__file__) + "/[abc]*.py")):
    with open(file, encoding="utf-8") as source:
        outer = compile(source.read(), file, "exec")
    for code in codes(outer):
        if code.co_name[0] != "<":
            number, line = len(timings) + 1, code.co_firstlineno
            timings[file, line, getattr(code, "co_qualname", code.co_name)] = [(line, number, 1000 * number)]
with open(sys.argv[1], "wb") as output:
    pickle.dump(LineStats(timings, 1e-9), output, pickle.HIGHEST_PROTOCOL)
"""


LOADED = """
import json, sys, line_profiler
stats = line_profiler.load_stats(sys.argv[1])
rows = [[name, *row] for (_, _, name), rows in stats.timings.items() for row in rows]
print(json.dumps(rows))
"""


class Release:
    """One release of line_profiler, installed for the Python of these tests."""

    def __init__(self, requirement):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        self.folder = peer_programs.cache(f"{requirement.replace('==', '-')}-{version}")
        install = [sys.executable, "-m", "pip", "install", "--only-binary", ":all:", "--target", self.folder]
        with interpreters.installing():
            there = (self.folder / "line_profiler").exists()
            if not there and not interpreters.succeeds([*install, requirement]):
                pytest.skip(f"{requirement} cannot be installed")

    def run(self, folder, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def profile(self, folder, output):
        shutil.copy(PROGRAMS / "lined.py", folder)
        self.run(folder, "-m", "kernprof", "-l", "-o", output, "lined.py")
        return folder / output

    def show(self, folder, *arguments):
        return self.run(folder, "-m", "line_profiler", *arguments)


@pytest.fixture(scope="module", params=RELEASES)
def release(request):
    return Release(request.param)


def report(sonde, folder, *arguments):
    """What follows the heading: line_profiler's part. Its order is the other way round."""
    command = [sonde, "report", "--no-findings", "--sort", "cumulative", "--reverse", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().partition("\n\n")[2]


def sonde_does(sonde, folder, *arguments):
    done = subprocess.run([sonde, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rounded(text):
    """Numbers too long for their column have one digit in older releases, three in newer ones and in ours."""
    return re.sub(r" +(\d(?:\.\d+)?e\+\d+)", lambda found: f" {float(found[1]):.1g}", text)


def test_prints_what_line_profiler_prints(sonde, release, tmp_path):
    release.profile(tmp_path, "lined.lprof")
    for options in ([], ["-z"], ["-u", "1e-9"], ["-zmu", "1e-3"]):
        theirs = release.show(tmp_path, "-t", *options, "lined.lprof")
        assert "größe" in theirs and ("never" in theirs) != ("z" in "".join(options))
        assert rounded(report(sonde, tmp_path, *options, "lined.lprof")) == rounded(theirs)


def test_finds_the_end_of_functions_as_line_profiler_does(sonde, tmp_path):
    newest = Release(RELEASES[0])
    newest.run(tmp_path, "-c", SHAPES, "shapes.lprof")
    theirs = newest.show(tmp_path, "-t", "shapes.lprof")
    assert theirs.count("Function: ") > 500
    assert report(sonde, tmp_path, "shapes.lprof") == theirs


def test_line_profiler_reads_what_we_write(sonde, release, tmp_path):
    release.profile(tmp_path, "theirs.lprof")
    sonde_does(sonde, tmp_path, "export", "-o", "ours.lprof", "theirs.lprof")
    assert release.show(tmp_path, "-t", "ours.lprof") == release.show(tmp_path, "-t", "theirs.lprof")
    through = ["merge", "theirs.lprof", "-o", "through.sonde"]
    sonde_does(sonde, tmp_path, *through)
    sonde_does(sonde, tmp_path, "export", "-o", "again.lprof", "through.sonde")
    assert (tmp_path / "again.lprof").read_bytes() == (tmp_path / "ours.lprof").read_bytes()


def test_says_that_a_source_was_changed(sonde, tmp_path):
    Release(RELEASES[0]).profile(tmp_path, "lined.lprof")
    assert "was changed" not in sonde_does(sonde, tmp_path, "report", "lined.lprof")
    os.utime(tmp_path / "lined.py", (2e9, 2e9))
    assert "lined.py was changed after" in sonde_does(sonde, tmp_path, "report", "lined.lprof")


def test_tables_for_python(release, tmp_path):
    tables = read(release.profile(tmp_path, "lined.lprof"))
    lines, codes, strings = tables["lines"], tables["codes"], tables["strings"]
    names = [strings[codes["qualname"][code]] for code in lines["code"]]
    theirs = release.run(tmp_path, "-c", LOADED, "lined.lprof")
    ours = zip(names, lines["line"], lines["hits"], lines["total_ns"])
    assert [list(row) for row in ours if row[2]] == json.loads(theirs)
    assert set(lines["max_ns"]) == {0}  # not known


def test_sums_as_line_profiler_does(sonde, tmp_path):
    newest = Release(RELEASES[0])
    names = [f"s.lprof{rank}" for rank in range(3)]
    for name in names:
        newest.profile(tmp_path, name)
    theirs = newest.show(tmp_path, "-t", *names)
    assert report(sonde, tmp_path, *names) == theirs
    sonde_does(sonde, tmp_path, "merge", "s.lprof?", "-o", "all")  # the inputs' kind
    assert report(sonde, tmp_path, "all") == theirs == newest.show(tmp_path, "-t", "all")


def without_self_time(text):
    """The report as line_profiler, which does not know that column, would have printed it."""
    lines, cut = [], None
    for line in text.split("\n"):
        if line.startswith("Line #"):
            end = line.index("Self Time") + len("Self Time")
            cut = slice(line.index("% Time") + len("% Time"), end)
        elif not line:
            cut = cut if line.startswith("=") else None
        table = cut and line[:1] in "L= "
        lines.append(line[: cut.start] + line[cut.stop :] if table else line)
    return "\n".join(lines)


def record(launch, *options):
    launch.program("lined.py")
    command = [launch.sonde, "line", "--quiet", *options, "--", launch.python.executable, "lined.py"]
    return launch.run(command)


def test_the_same_but_for_self_time(modern_launch):
    launch = modern_launch
    done = record(launch, "-o", "lined.sonde")
    assert done.returncode == 0, done.stderr.decode()
    newest = Release(RELEASES[0])
    sonde_does(launch.sonde, launch.folder, "export", "-o", "lined.lprof", "lined.sonde")
    ours = report(launch.sonde, launch.folder, "lined.sonde")
    assert "Self Time" in ours
    assert without_self_time(ours) == newest.show(launch.folder, "-t", "lined.lprof")


def hits_of(text):
    return next(int(line.split()[1]) for line in text.splitlines() if line.endswith("total += i * i"))


def test_one_file_for_each_rank(modern_launch):
    launch, newest = modern_launch, Release(RELEASES[0])
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    mpirun = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--oversubscribe", "-n", "4"]
    launch.program("lined.py")
    line = ["line", "--quiet", "-o", "lined.lprof%r", "--", launch.python.executable, "lined.py"]
    done = launch.run([*mpirun, launch.sonde, *line])
    assert done.returncode == 0, done.stderr.decode()
    names = [f"lined.lprof{rank}" for rank in range(4)]
    assert sorted(path.name for path in launch.folder.glob("*.lprof*")) == names
    loop = "for i in `seq 0 3`; do sonde report lined.lprof$i > line_out_$i.txt; done"
    path = {"PATH": f"{launch.sonde.parent}:{os.environ['PATH']}"}
    done = launch.run(["sh", "-c", f"{loop}; sonde report lined.lprof*"], environment=path)
    assert done.returncode == 0, done.stderr.decode()
    one = hits_of(newest.show(launch.folder, names[3]))
    assert hits_of((launch.folder / "line_out_3.txt").read_text()) == one > 0
    assert hits_of(done.stdout.decode()) == 4 * one


class Attack:
    """Would leave a mark, if anything in the file were run."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def line_stats(state):
    """A pickle of line_profiler's class with that state, made without line_profiler."""
    head = b"cline_profiler.line_profiler\nLineStats\n)\x81"
    return b"\x80\x04" + head + pickle.dumps(state, 4)[2:-1] + b"b."


@pytest.mark.parametrize("place", ["whole", "timings", "key", "rows", "unit"])
def test_runs_nothing(sonde, tmp_path, place):
    mark = tmp_path / "mark"
    attack = Attack(mark)
    label = ("a.py", 1, "f")
    files = {
        "whole": pickle.dumps([attack], 4).replace(b"]", b"]0\x8c\x09LineStats0]", 1),
        "timings": line_stats({"timings": attack, "unit": 1e-9}),
        "key": line_stats({"timings": {("a.py", 1, attack): []}, "unit": 1e-9}),
        "rows": line_stats({"timings": {label: [(1, 1, attack)]}, "unit": 1e-9}),
        "unit": line_stats({"timings": {label: []}, "unit": attack}),
    }
    (tmp_path / "x.lprof").write_bytes(files[place])
    command = [sonde, "report", "x.lprof"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and "x.lprof" in done.stderr and "profile again" in done.stderr
    assert not mark.exists()
    pickle.loads(pickle.dumps(attack))
    assert mark.exists()  # it would have been


def test_bombs_are_refused_quickly(sonde, tmp_path):
    shared = [(1, 1, 1)] * 1000
    timings = {("a.py", line, "f"): shared for line in range(20000)}
    (tmp_path / "shared.lprof").write_bytes(line_stats({"timings": timings, "unit": 1e-9}))
    (tmp_path / "memo.lprof").write_bytes(b"\x80\x02cx\nLineStats\n" + b"r\xff\xff\xff\xff" * 10 + b".")
    deep = b"\x80\x02cx\nLineStats\n0" + b"]" * 3000000 + b"a" * 2999999 + b"."
    (tmp_path / "deep.lprof").write_bytes(deep)
    for name in ("shared", "memo", "deep"):
        command = ["sh", "-c", f"ulimit -v 2000000; exec '{sonde}' report {name}.lprof"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and f"{name}.lprof" in done.stderr, done
