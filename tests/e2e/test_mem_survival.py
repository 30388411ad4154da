"""sonde mem when the program is killed, runs out of memory, forks, or brings its own allocator: what was
recorded is readable and shows what was alive, and the program does what it would have done."""

import resource
import shutil
import signal
import subprocess
import time

import pytest
from conftest import PROGRAMS
from heaps import Heap, blocks, mem

__all__ = ["blocks"]  # a fixture

HOLDING = """
import os, signal, sys, time
import blocks
def hold():
    blocks.take(5000, 40)
    blocks.take(100, 7)
hold()
print("ready", flush=True)
if sys.argv[1] == "wait":
    time.sleep(15)
os.kill(os.getpid(), int(sys.argv[1]))
time.sleep(60)
"""
HELD = {4: ((200000, 40), (200000, 40)), 5: ((700, 7), (700, 7))}


@pytest.fixture
def holding(launch, blocks):
    shutil.copy(blocks, launch.folder)
    return launch.write("holding.py", HOLDING)


def held(launch, output="out.sonde"):
    """{line: (total, live)} of what hold() took."""
    found = Heap(launch.folder / output).by_line("holding.py")
    return {line: (found[line, "malloc"].total, found[line, "malloc"].live) for line in HELD}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_killed_program_shows_what_was_alive(launch, holding, number):
    run = mem(launch, holding, str(int(number)))
    assert run.returncode == -number, run.stderr
    assert held(launch) == HELD


def test_a_killed_recorder_loses_at_most_an_interval(launch, holding):
    command = [launch.sonde, "mem", "--quiet", "--exact", "-o", launch.folder / "out.sonde", "--"]
    with launch.start([*command, launch.python.executable, holding, "wait"]) as process:
        assert process.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if held(launch) == HELD:
                    break
            except (OSError, KeyError):
                pass  # nothing was written yet
            time.sleep(0.1)
        process.kill()
    assert held(launch) == HELD


EXHAUSTED = """
import sys
import blocks
kept = []
try:
    while True:
        kept.append(bytearray(16 << 20))
except MemoryError:
    count = len(kept)
    kept.clear()
    blocks.take(1000, 3)
    print(count)
"""


def test_memory_that_was_refused_is_not_counted(launch, blocks):
    """A limit on the address space: what was had until then is the peak."""
    shutil.copy(blocks, launch.folder)
    program = launch.write("exhausted.py", EXHAUSTED)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    run = mem(launch, program, preexec_fn=limit)
    assert run.returncode == 0, run.stderr
    count = int(run.stdout)
    assert count > 5
    found = Heap(launch.folder / "out.sonde").by_line("exhausted.py")
    large = [numbers for (line, _), numbers in found.items() if line == 6]
    assert sum(numbers.peak[1] for numbers in large if numbers.peak[0] >= 16 << 20) == count
    assert found[10, "malloc"].live == (3000, 3)


def installed(library):
    """The path of a library that the loader finds by name."""
    place = shutil.which("ldconfig") or "/sbin/ldconfig"
    listed = subprocess.run([place, "-p"], capture_output=True, text=True, check=False).stdout
    paths = [line.split("=> ")[1] for line in listed.splitlines() if f"\t{library} " in line]
    if not paths:
        pytest.skip(f"{library} is not installed")
    return paths[0]


NEWS = """
import ctypes
library = ctypes.CDLL("./news.so")
take, give, take_wide, pass_wide = library.take, library.give, library.take_wide, library.pass_wide
take(0, 0)
take(3000, 20)
give(5)
take_wide()
pass_wide()
assert library.fail() == 1
take(48, 3)
"""


@pytest.mark.parametrize("library", [None, "libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_new_and_delete_are_counted_once(modern_launch, library):
    """The C++ library's own are malloc and free; those of other allocators are seen for themselves."""
    launch = modern_launch
    if not shutil.which("g++"):
        pytest.skip("no g++")
    environment = {"LD_PRELOAD": installed(library)} if library else {}
    source, built = PROGRAMS / "news.cc", launch.folder / "news.so"
    subprocess.run(["g++", "-O1", "-std=c++17", "-fPIC", "-shared", source, "-o", built], check=True)
    run = mem(launch, launch.write("news.py", NEWS), environment=environment, cwd=launch.folder)
    assert run.returncode == 0, run.stderr
    found = Heap(launch.folder / "out.sonde").by_line("news.py")
    kind, wide = ("new", "new") if library else ("malloc", "aligned")
    assert (found[5, kind].total, found[5, kind].live) == ((60000, 20), (45000, 15))
    assert (found[7, wide].total, found[7, wide].live) == ((640, 1), (0, 0))
    assert (found[10, kind].total, found[10, kind].live) == ((144, 3), (144, 3))


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_other_allocators_stay_the_programs_own(modern_launch, blocks, library):
    """Preloaded by the user: they are used, and seen."""
    launch = modern_launch
    path = installed(library)
    shutil.copy(blocks, launch.folder)
    used = f"assert {library[:-2]!r} in open('/proc/self/maps').read()\n"
    program = launch.write("holding.py", "import blocks\nblocks.take(5000, 40)\nblocks.give(10)\n" + used)
    run = mem(launch, program, environment={"LD_PRELOAD": path})
    assert run.returncode == 0, run.stderr
    numbers = Heap(launch.folder / "out.sonde").by_line("holding.py")[2, "malloc"]
    assert (numbers.total, numbers.live) == ((200000, 40), (150000, 30))


STORM = """
import os, signal, threading
import blocks
signal.signal(signal.SIGALRM, lambda *_: bytearray(3000))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
def work():
    for _ in range(2000):
        blocks.without_gil(64, 1)
        bytearray(2000)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for i in range(30):
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        bytearray(100000)
        os._exit(i)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == i
for thread in threads:
    thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
print("done")
"""


def test_threads_forks_and_signals_at_once(launch, blocks):
    """Blocks of all threads are counted; nothing deadlocks."""
    shutil.copy(blocks, launch.folder)
    program = launch.write("storm.py", STORM)
    run = mem(launch, program, timeout=120)
    assert (run.returncode, run.stdout) == (0, b"done\n"), run.stderr
    assert Heap(launch.folder / "out.sonde").by_line("storm.py")[7, "malloc"].total == (64 * 16000, 16000)
