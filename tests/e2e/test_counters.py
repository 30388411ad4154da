"""CPU time and memory over time: in every recording, of every process, and of programs that are only looked
at; mprof's files in and out, with mprof itself."""

import json
import signal
import subprocess
import sys
import time

import pytest
from conftest import read

MIB = 1 << 20
# Keeps what it says, and tells its own CPU time at the very end.
PROGRAM = """
import os, subprocess, sys, time
size = int(sys.argv[1])
block = bytearray(os.urandom(1 << 16)) * (size << 4)
if len(sys.argv) > 2:
    subprocess.run([sys.executable, __file__, sys.argv[2]], check=True)
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
time.sleep(0.15)
print(os.getpid(), time.process_time_ns(), flush=True)
"""


def counters(launch, path):
    """{pid: {name: figures}} of a recording, as the report has them."""
    said = launch.run([launch.sonde, "report", "--json", path])
    assert said.returncode == 0, said.stderr
    report = json.loads(said.stdout)
    pids = {process["id"]: process["pid"] for process in report["processes"]}
    found = {}
    for counter in report["counters"]:
        found.setdefault(pids[counter["process"]], {})[counter["name"]] = counter
    return found


def told(run):
    """{pid: CPU nanoseconds} as the processes printed them when they ended."""
    return {int(pid): int(ns) for pid, ns in (line.split() for line in run.stdout.splitlines())}


def points(path, name, pid=None, begin_ns=0, end_ns=1 << 63):
    """[value] of a counter, as time went by; of a part of the time alone."""
    recording = read(path)
    counters, processes, series = (recording[table] for table in ("counters", "processes", "series"))
    wanted = {
        number
        for number, (text, process) in enumerate(zip(counters["name"], counters["process"]))
        if recording["strings"][text] == name and pid in (None, processes["pid"][process])
    }
    rows = zip(series["value"], series["counter"], series["time_ns"])
    return [value for value, counter, time_ns in rows if counter in wanted and begin_ns <= time_ns <= end_ns]


def write(launch, text, name="program.py"):
    path = launch.folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("command", ["record", "trace", "line"])
def test_every_recording_has_them(modern_launch, command):
    launch, output = modern_launch, modern_launch.folder / f"{command}.sonde"
    script = write(launch, PROGRAM)
    run = launch.run(
        [launch.sonde, command, "--quiet", "-o", output, "--", launch.python.executable, script, "96", "32"]
    )
    assert run.returncode == 0, run.stderr
    found, ended = counters(launch, output), told(run)
    assert set(found) == set(ended)
    for pid, size in zip(ended, (32, 96)):  # the child prints first
        rss = found[pid]["rss"]
        assert rss["points"] > 3
        assert size * MIB < rss["most"] < (size + 60) * MIB
        assert found[pid]["cpu"]["most"] > 0.05


def test_every_python(launch):
    script = write(launch, PROGRAM)
    run = launch.traced(script, "48")
    assert run.returncode == 0, run.stderr
    [(pid, figures)] = counters(launch, launch.folder / "out.sonde").items()
    assert [pid] == list(told(run)) or launch.python.root
    assert 48 * MIB < figures["rss"]["most"] < 110 * MIB
    assert figures["cpu"]["points"] > 3


def test_cpu_time_is_exact_to_the_end(modern_launch):
    """The last point is taken when the process has ended: no less than its own last words say."""
    launch = modern_launch
    run = launch.traced(write(launch, PROGRAM), "8")
    [(pid, last_words_ns)] = told(run).items()
    total_ns = points(launch.folder / "out.sonde", "cpu", pid)[-1]
    assert last_words_ns <= total_ns < last_words_ns + 300e6


def test_a_process_that_runs_already(modern_launch):
    launch, output = modern_launch, modern_launch.folder / "attached.sonde"
    keep = "import time; b = bytearray(b'x' * (40 << 20)); print(1, flush=True); time.sleep(60)"
    with launch.start([launch.python.executable, "-c", keep]) as target:
        try:
            target.stdout.readline()
            run = launch.run([launch.sonde, "record", "-p", str(target.pid), "-d", "0.3", "-o", output])
            assert run.returncode == 0, run.stderr
            looked = launch.run(
                [launch.sonde, "mem", "--rss", "-p", str(target.pid), "-d", "0.3", "-o", "mem.sonde"]
            )
            assert looked.returncode == 0, looked.stderr
        finally:
            target.kill()
    for path in (output, launch.folder / "mem.sonde"):
        [(pid, figures)] = counters(launch, path).items()
        assert pid == target.pid
        assert 40 * MIB < figures["rss"]["least"] <= figures["rss"]["most"] < 90 * MIB


# ---- sonde mem --rss ----


def watch(launch, *words, **options):
    return launch.run([launch.sonde, "mem", "--rss", *words], **options)


def test_any_program(modern_launch):
    """Its exit code, its standard streams and its environment are its own; it need not be Python."""
    launch = modern_launch
    run = watch(
        launch,
        "-o",
        "sh.sonde",
        "--",
        "sh",
        "-c",
        'read x; echo "got $x $LD_PRELOAD"; sleep 0.3; exit 7',  # what is gone at once was never looked at
        input=b"this\n",
    )
    assert run.returncode == 7
    assert run.stdout == b"got this \n"
    [(_, figures)] = counters(launch, launch.folder / "sh.sonde").items()
    assert 0 < figures["rss"]["most"] < 20 * MIB
    killed = watch(launch, "-o", "killed.sonde", "--", "sh", "-c", "kill -TERM $$")
    assert killed.returncode == -signal.SIGTERM
    assert counters(launch, launch.folder / "killed.sonde")


def test_signals_are_passed_on(modern_launch):
    launch = modern_launch
    command = [launch.sonde, "mem", "--rss", "-o", "signals.sonde", "--"]
    trap = 'trap "echo caught; exit 3" USR1; echo ready; while :; do sleep 0.05; done'
    with launch.start([*command, "sh", "-c", trap]) as run:
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(signal.SIGUSR1)
        assert run.communicate(timeout=30)[0] == b"caught\n"
    assert run.returncode == 3


def test_children_each_by_their_number(modern_launch):
    launch, output = modern_launch, modern_launch.folder / "children.sonde"
    script = write(launch, PROGRAM)
    words = ["--interval", "0.02", "-o", output, "--", launch.python.executable, script, "64", "24"]
    run = watch(launch, "--children", *words)
    assert run.returncode == 0, run.stderr
    found, ended = counters(launch, output), told(run)
    assert set(found) == set(ended)
    for pid, size in zip(ended, (24, 64)):
        assert size * MIB < found[pid]["rss"]["most"] < (size + 40) * MIB
    lines = launch.run([launch.sonde, "report", output]).stdout.decode().splitlines()
    child, parent = ended
    assert lines[0] == f"{output}\t{found[parent]['rss']['most'] / MIB:.3f} MiB"
    assert lines[1] == f"  Child {child}\t\t\t{found[child]['rss']['most'] / MIB:.3f} MiB"
    alone = watch(launch, *words)
    assert alone.returncode == 0 and len(counters(launch, output)) == 1


def test_a_peak_between_two_looks_is_told(modern_launch):
    """Looked at twice a second, a program that has 100 MiB for a moment; the kernel has seen it."""
    launch, output = modern_launch, modern_launch.folder / "peak.sonde"
    code = "import time; time.sleep(0.2); b = bytearray(b'x') * (100 << 20); del b; time.sleep(1)"
    run = watch(launch, "--interval", "0.5", "-o", output, "--", launch.python.executable, "-c", code)
    assert run.returncode == 0, run.stderr
    values = points(output, "rss")
    assert max(values) > 100 * MIB > 2 * values[-1], values


def test_shared_pages_are_divided_or_left_out(modern_launch):
    """Two processes with the same 64 MiB: resident in both, each has half of them, none has them alone."""
    launch = modern_launch
    script = write(
        launch,
        "import mmap, os, time\n"
        "shared = mmap.mmap(-1, 64 << 20)\n"
        "shared.write(b'x' * (64 << 20))\n"
        "(child_end, ready), (stay, parent_end) = os.pipe(), os.pipe()\n"
        "child = os.fork()\n"
        "[shared[i] for i in range(0, 64 << 20, 4096)]\n"
        "if not child:\n"
        "    os.close(parent_end)\n"
        "    os.write(ready, b'1')\n"
        "    os._exit(len(os.read(stay, 1)))\n"
        "os.read(child_end, 1)\n"
        "print(time.monotonic_ns())\n"
        "time.sleep(0.6)\n"
        "print(time.monotonic_ns())\n",
    )
    asleep = {}
    for kind in ("rss", "pss", "uss"):
        output = launch.folder / f"{kind}.sonde"
        words = [launch.sonde, "mem", f"--{kind}", "--interval", "0.01", "-o", output, "--"]
        run = launch.run([*words, launch.python.executable, script])
        if run.returncode and b"smaps" in run.stderr:
            pytest.skip("this kernel has no smaps_rollup")
        assert run.returncode == 0, run.stderr
        asleep[kind] = points(output, kind, None, *map(int, run.stdout.split()))[-1]
    assert asleep["rss"] > 64 * MIB
    assert 20 * MIB < asleep["rss"] - asleep["pss"] < 60 * MIB
    assert asleep["rss"] - asleep["uss"] > 60 * MIB


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-p", "99999999"], b"cannot read the memory of process 99999999"),
        (["--pss", "--uss", "-c", "1"], b"--pss and --uss are different ways"),
        (["--interval", "0", "-c", "1"], None),
        (["--interval", "1e-9", "-c", "1"], b"--interval must be between"),
        (["-p", "1", "-c", "1"], b"nothing to start beside it"),
    ],
)
def test_mistakes_are_told(modern_launch, words, said):
    run = watch(modern_launch, *words)
    assert (run.returncode, said is None) in ((0, True), (2, False)), run.stderr
    assert said is None or said in run.stderr


# ---- mprof ----


MARKED = """
import time
@profile
def grow(size):
    block = bytearray(b"x" * (size << 20))
    time.sleep(0.25)
    return block
kept = grow(40)
grow(20)
"""


@pytest.fixture
def peer(modern_launch):
    """A Python with memory_profiler, which brings mprof along."""
    executable, reason = modern_launch.python.peer_environment(["memory_profiler"])
    if not executable:
        pytest.skip(reason)
    return executable


def peaks(text):
    """[(what, MiB)] of lines as mprof peak prints them."""
    rows = [line.split("\t") for line in text.decode().splitlines() if line.endswith(" MiB") and "\t" in line]
    return [(row[0], float(row[-1].split()[0])) for row in rows]


def test_mprof_reads_what_is_written(modern_launch, peer):
    launch = modern_launch
    script = write(launch, PROGRAM)
    run = watch(launch, "--children", "-o", "ours.dat", "--", launch.python.executable, script, "48", "16")
    assert run.returncode == 0, run.stderr
    theirs = launch.run([peer, "-W", "ignore", "-m", "mprof", "peak", "ours.dat"])
    assert theirs.returncode == 0, theirs.stderr
    said = peaks(launch.run([launch.sonde, "report", "ours.dat"]).stdout)
    assert len(said) == 2 and said == peaks(theirs.stdout)
    child = said[1][0].split()[-1]
    assert int(child) in told(run)
    started = float((launch.folder / "ours.dat").read_text().split("MEM ", 1)[1].split()[1])
    assert abs(started - time.time()) < 60  # seconds since 1970, not since the machine began


def test_what_mprof_writes_is_read(modern_launch, peer):
    """Points, children and the brackets of decorated functions; and all of it comes back to mprof."""
    launch = modern_launch
    script = write(launch, MARKED, "marked.py")
    run = launch.run([peer, "-W", "ignore", "-m", "mprof", "run", "-T", "0.02", "-o", "theirs.dat", script])
    assert run.returncode == 0 and (launch.folder / "theirs.dat").exists(), run.stderr
    text = (launch.folder / "theirs.dat").read_text()
    report = launch.run([launch.sonde, "report", "theirs.dat"])
    theirs = launch.run([peer, "-W", "ignore", "-m", "mprof", "peak", "theirs.dat"])
    assert report.returncode == 0, report.stderr
    assert peaks(report.stdout)[0] == peaks(theirs.stdout)[0]
    assert sum(line.startswith("FUNC ") for line in text.splitlines()) == 2
    [row] = [line.split() for line in report.stdout.decode().splitlines() if line.endswith("grow")]
    assert row[0] == "2" and float(row[1]) >= 0.5
    for step in (
        ["export", "-o", "theirs.sonde", "theirs.dat"],
        ["export", "-o", "back.dat", "theirs.sonde"],
    ):
        assert launch.run([launch.sonde, *step]).returncode == 0
    rows = [sorted(body.splitlines()) for body in (text, (launch.folder / "back.dat").read_text())]
    kinds = [[line.split()[0] for line in lines] for lines in rows]
    assert kinds[0] == kinds[1]
    memory = [[line for line in lines if line.startswith("MEM")] for lines in rows]
    assert memory[0] == memory[1]


def test_a_dat_file_may_be_cprofile_s(modern_launch):
    launch = modern_launch
    script = write(launch, "sum(range(10))")
    subprocess.run([sys.executable, "-m", "cProfile", "-o", launch.folder / "cpu.dat", script], check=True)
    assert b"cProfile file" in launch.run([launch.sonde, "report", "cpu.dat"]).stdout
    assert launch.traced(script, output="times.dat").returncode == 0
    assert (launch.folder / "times.dat").read_bytes()[1:6] == b"SONDE"


def test_a_program_behind_a_script_is_marked(modern_launch):
    """A wrapper that becomes the Python, as pyenv's and conda's do, is the same process."""
    launch = modern_launch
    launch.write("marked.py", "@profile\ndef work():\n    pass\nwork()\n")
    python = launch.python.executable
    run = watch(launch, "-o", "marked.dat", "--", "sh", "-c", f"exec {python} marked.py")
    assert run.returncode == 0, run.stderr
    assert (launch.folder / "marked.dat").read_text().count("FUNC ") == 1
