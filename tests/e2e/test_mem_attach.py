"""sonde mem --pid: a Python that runs already loads the counting, and is rid of it at the end."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import interpreters
import pytest
from conftest import USABLE, Launcher, read

SERVER = """
    import sys, threading, time

    kept = []

    def keep():
        kept.append(bytearray(100_000))

    def throw_away():
        bytearray(1_000_000)

    def serve():
        for turn in range(5):
            keep()
            throw_away()

    def wait_for_ever():
        threading.Event().wait()

    if "threads" in sys.argv:
        threading.Thread(target=wait_for_ever, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        exec(line)
        print("served", flush=True)
"""
KEEP, THROW_AWAY = 6, 9  # lines of the program


@contextlib.contextmanager
def serving(launch, *words):
    """A program that does what it is told on its standard input."""
    launch.write("server.py", SERVER)
    command = [launch.python.executable, "-u", "server.py", *words]
    with launch.start(command, stdin=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def tell(process, line):
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"served\n"


def ends_well(process):
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")


@contextlib.contextmanager
def counting(launch, process, *words, output="out.sonde"):
    """sonde mem --pid, once the program has let it in; ended by Ctrl-C, unless it has ended."""
    command = [launch.sonde, "mem", "--exact", "--pid", process.pid, "-o", launch.folder / output, *words]
    command = launch.python.enter([str(word) for word in command], launch.folder)
    before = areas(process)
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=launch.folder) as sonde:
        end = time.monotonic() + 30
        while areas(process) <= before and sonde.poll() is None and time.monotonic() < end:
            tell(process, "pass")  # a thread that waits for input cannot let anybody in
        tell(process, "pass")  # what lets it in is over by then
        yield sonde
        if sonde.poll() is None:
            sonde.send_signal(signal.SIGINT)
        while sonde.poll() is None and process.poll() is None:
            tell(process, "pass")
        err = sonde.communicate(timeout=60)[1]
        assert (sonde.returncode, err) == (0, b"")


def areas(process):
    """The pieces of memory that it shares with recorders, by their numbers."""
    lines = pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if "memfd:sonde" in line}


def lines_of(path):
    """{(function, line): (live bytes, blocks, total bytes, blocks)} of what lines allocate themselves."""
    tables = read(path)
    heap, nodes, codes, strings = (tables[name] for name in ("heap", "nodes", "codes", "strings"))
    last = {key: row for row, key in enumerate(zip(heap["thread"], heap["node"], heap["allocator"]))}
    found = {}
    for (_, node, _), row in last.items():
        code = nodes["code"][node]
        if strings[codes["file"][code]].endswith("server.py"):
            key = strings[codes["name"][code]], nodes["line"][node]
            columns = ("live_bytes", "live_count", "total_bytes", "total_count")
            numbers = [heap[column][row] for column in columns]
            found[key] = tuple(map(sum, zip(found.get(key, (0, 0, 0, 0)), numbers)))
    return found


NEW = [interpreter for interpreter in USABLE if interpreter.numbers >= (3, 14)]
OLD = [interpreter for interpreter in USABLE if interpreter.numbers < (3, 14)]


@pytest.fixture(params=NEW, ids=repr)
def launch_new(request, sonde, tmp_path):
    """Pythons that run scripts from outside."""
    return Launcher(sonde, request.param, tmp_path)


@pytest.fixture(params=OLD, ids=repr)
def launch_old(request, sonde, tmp_path):
    return Launcher(sonde, request.param, tmp_path)


def check_recording(path, turns, alive=True):
    """bytearray(n) takes some bytes more; the list of them may take some at the same line."""
    lines = lines_of(path)
    live_bytes, live, total_bytes, total = lines["keep", KEEP]
    assert turns * 100_000 <= total_bytes <= turns * 100_064 + 16384 and turns <= total <= turns + 10
    if alive:
        assert turns * 100_000 <= live_bytes <= turns * 100_064 + 4096 and turns <= live <= turns + 1
    live_bytes, live, total_bytes, total = lines["throw_away", THROW_AWAY]
    assert (live_bytes, live, total) == (0, 0, turns)
    assert turns * 1_000_000 <= total_bytes <= turns * 1_000_064


def scripts(process):
    """The folders that hold what this program was asked to run."""
    with contextlib.suppress(FileNotFoundError):
        found = pathlib.Path("/tmp").glob("sonde-??????/attach.py")
        words = f"# sonde asks process {process.pid} "
        return {path.parent for path in found if path.read_text().startswith(words)}
    return scripts(process)  # those of other tests come and go


def test_what_is_allocated_meanwhile(launch_new):
    with serving(launch_new) as process:
        tell(process, "serve(); serve()")
        with counting(launch_new, process):
            tell(process, "serve(); serve(); serve()")
        check_recording(launch_new.folder / "out.sonde", 15)
        assert not areas(process)
        tell(process, "kept.clear(); serve()")
        with counting(launch_new, process, "-d", "600", output="again.sonde"):
            tell(process, "serve()")
        check_recording(launch_new.folder / "again.sonde", 5)
        assert not areas(process)
        ends_well(process)
        assert not scripts(process)


def test_one_way_after_the_other(modern_launch):
    """What one recording had put in place is not there any more for the next."""
    if modern_launch.python.numbers < (3, 14):
        pytest.skip("the newest Python does not run scripts from outside")
    with serving(modern_launch) as process:
        for words in (["--native"], [], ["--log"], ["--python-allocators"], ["--native"], []):
            output = f"out{'-'.join(words)}.sonde"
            tell(process, "kept.clear()")
            with counting(modern_launch, process, *words, output=output):
                tell(process, "serve()")
            # Native frames are the innermost there; of Python's allocator the object itself is a block, too.
            lines = {} if "--native" in words else lines_of(modern_launch.folder / output)
            blocks = 10 if "--python-allocators" in words else 5
            assert "--native" in words or lines["throw_away", THROW_AWAY][3] == blocks
        assert not areas(process)
        ends_well(process)


def test_threads_that_wait_for_ever(launch_new):
    with serving(launch_new, "threads") as process:
        with counting(launch_new, process):
            tell(process, "serve()")
        check_recording(launch_new.folder / "out.sonde", 5)
        ends_well(process)


def test_program_that_ends_meanwhile(launch_new):
    with serving(launch_new) as process, counting(launch_new, process) as sonde:
        tell(process, "serve()")
        ends_well(process)
        sonde.wait(timeout=60)
    check_recording(launch_new.folder / "out.sonde", 5, alive=False)


def test_children_are_left_alone(launch_new):
    with serving(launch_new) as process:
        with counting(launch_new, process):
            tell(process, "serve()")
            fork = "import os; child = os.fork(); serve(); os._exit(0) if not child else os.waitpid(child, 0)"
            tell(process, fork)
        check_recording(launch_new.folder / "out.sonde", 10)
        ends_well(process)


def test_recorder_that_was_killed(launch_new):
    with serving(launch_new) as process:
        command = [launch_new.sonde, "mem", "--pid", str(process.pid), "-o", launch_new.folder / "lost.sonde"]
        command = launch_new.python.enter(command, launch_new.folder)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=launch_new.folder) as sonde:
            while not areas(process):
                tell(process, "pass")
            sonde.kill()
        for folder in scripts(process):
            shutil.rmtree(folder)
        tell(process, "serve()")
        with counting(launch_new, process):
            tell(process, "serve()")
        check_recording(launch_new.folder / "out.sonde", 5)
        ends_well(process)


def test_what_counts_already(launch_new):
    with serving(launch_new) as process:
        package = launch_new.python.place or os.fspath(interpreters.sonde_folder())
        package += "/" + os.fspath(interpreters.package_folder().relative_to(interpreters.sonde_folder()))
        tell(process, f"sys.path.insert(0, {package!r}); import sonde; m = sonde.memory().start()")
        command = [launch_new.sonde, "mem", "--pid", str(process.pid), "-o", launch_new.folder / "out.sonde"]
        command = launch_new.python.enter(command, launch_new.folder)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=launch_new.folder) as sonde:
            while sonde.poll() is None:
                tell(process, "pass")
            assert sonde.returncode == 2
            assert "the allocations of this process are counted already" in sonde.stderr.read()
        tell(process, "serve(); m.stop(); assert m.total_bytes >= 5_500_000, m")
        ends_well(process)
    assert not (launch_new.folder / "out.sonde").exists()


def test_older_pythons_are_refused(launch_old):
    with serving(launch_old) as process:
        done = launch_old.run([launch_old.sonde, "mem", "-p", str(process.pid)])
        assert done.returncode == 2
        for words in ("3.14 and later", "could make it hang", f"sonde mem --rss --pid {process.pid}"):
            assert words in done.stderr.decode()
        tell(process, "serve()")
        ends_well(process)
