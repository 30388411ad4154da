"""sonde record --native: Python and native frames as one stack, in programs whose legal stacks are known."""

import os
import re
import shutil
import subprocess

import interpreters
import pytest
from conftest import PROGRAMS
from samples import Samples, record

FOUND = interpreters.everything()
# Every function has a frame of its own, so that who calls whom can be judged.
COMPILE = ["-O2", "-g", "-fPIC", "-shared", "-fno-optimize-sibling-calls"]
GUESSED = 32  # enum sample_state


def headers_of(interpreter):
    """The options that find an interpreter's headers, or None."""
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    enter = ["chroot", interpreter.root] if interpreter.root else []
    place = subprocess.check_output([*enter, interpreter.executable, "-c", code], text=True).strip()
    root = interpreter.root or ""
    if not os.path.exists(f"{root}{place}/Python.h"):
        return None
    return [f"-I{root}{place}", *(["-idirafter", f"{root}/usr/include"] if root else [])]


@pytest.fixture(scope="session")
def any_headers():
    """For what is of the stable ABI. The oldest: newer ones have what older Pythons lack."""
    headers = next((found for found in map(headers_of, FOUND) if found), None)
    if not headers:
        pytest.skip("no interpreter with headers")
    return headers


@pytest.fixture(scope="session")
def called_back(any_headers, tmp_path_factory):
    """The folder of the C++ extension: built once, of the stable ABI, with the OpenMP library beside it."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("called_back")
    openmp = subprocess.check_output(["g++", "-print-file-name=libgomp.so.1"], text=True).strip()
    options = ["-static-libstdc++", "-static-libgcc", "-Wl,-rpath,$ORIGIN"]
    if os.path.exists(openmp):
        shutil.copy(openmp, folder / "libgomp.so.1")
        options.append("-fopenmp")
    command = ["g++", *COMPILE, *any_headers, PROGRAMS / "called_back.cc"]
    subprocess.run([*command, "-o", folder / "called_back.abi3.so", *options], check=True)
    return folder


@pytest.fixture(scope="session")
def cython_source(tmp_path_factory):
    """The C of programs/cython_work.pyx: made once, compiled for each Python."""
    for interpreter in reversed([each for each in FOUND if not each.root and not each.free_threaded]):
        python, _ = interpreter.peer_environment(["cython"])
        if python:
            break
    else:
        pytest.skip("no Cython for any interpreter")
    source = tmp_path_factory.mktemp("cython") / "cython_work.c"
    subprocess.run([python, "-m", "cython", PROGRAMS / "cython_work.pyx", "-o", source], check=True)
    return source


class Native:
    """A recording with native frames: what was counted, and its stacks as names from the root in."""

    def __init__(self, launch, output="out.sonde"):
        self.samples = Samples(launch.folder / output)
        meta = self.samples.data["meta"]
        self.counts = {name[7:]: int(value) for name, value in meta.items() if re.match("native_", name)}
        raw = launch.folder / "raw.txt"
        shown = launch.run([launch.sonde, "export", "-f", "raw", "-o", raw, launch.folder / output])
        assert shown.returncode == 0, shown.stderr
        rows = self.samples.data["samples"]
        self.guessed = sum(count for count, state in zip(rows["count"], rows["state"]) if state & GUESSED)
        self.stacks = []
        for line in raw.read_text().splitlines():
            stack, _, count = line.rpartition(" ")
            names = [re.sub(r" \([^()]*\)$", "", frame) for frame in stack.split(";")]
            self.stacks.append((names, int(count)))

    def assert_whole(self):
        """At least 99 % to the root, at least 99 % with as many evaluators as calls from C."""
        counts = self.counts
        assert counts["samples"] > 50, counts
        assert counts["whole"] >= 0.99 * counts["samples"], counts
        assert counts["disagreements"] <= 0.01 * counts["samples"], counts
        assert self.samples.errors == 0

    def count(self, holds):
        return sum(count for names, count in self.stacks if holds(names))


def record_native(launch, *words, rate=2000, **options):
    """The recording of a run whose output is that of the program alone."""
    plain = launch.plain(*words, **options)
    done = record(launch, *words, rate=rate, more=["--native"], **options)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
    return Native(launch)


def simple(name):
    """A function's name without scope and arguments: `descend<0>`, `apply_to`, `<lambda>`; "" for what the
    compiler made of it (lambdas, cold parts)."""
    if "lambda(" in name or "[clone" in name:
        return ""
    return re.sub(r"^.*(?:::|\.)(?=[\w<])|\(.*", "", re.sub(r"\(anonymous namespace\)", "", name))


def breaks(names, callers):
    """Who is called by somebody else than those it is always called by: {function: callers}."""
    known = [name for name in map(simple, names) if name in callers or name == "outer"]
    return [
        (outer, inner)
        for outer, inner in zip(["", *known], known)
        if inner in callers and outer not in callers[inner]
    ]


def test_cpp_that_calls_back(launch, called_back):
    for file in called_back.iterdir():
        shutil.copy(file, launch.folder)
    native = record_native(launch, launch.program("called_back.py"), "12000")
    native.assert_whole()
    callers = {
        "middle": {"descend<0>"},
        "innermost": {"descend<0>"},
        "sorted_by_callback": {"middle"},
        "<lambda>": {"sorted_by_callback"},
        "apply_to": {"outer", "middle", "<lambda>"},
        "descend<0>": {"apply_to"},
    }
    broken = [(breaks(names, callers), names, count) for names, count in native.stacks]
    broken = [row for row in broken if row[0]]
    # Only while an exception is thrown, and if so then marked.
    assert all(any(re.match("_Unwind|uw_", name) for name in names) for _, names, _ in broken), broken
    assert sum(row[2] for row in broken) <= native.guessed <= 0.05 * native.count(bool), broken
    assert native.count(lambda names: "innermost" in names) > 20
    # Threads that never ran Python.
    assert native.count(lambda names: "spin_for" in map(simple, names) and "<module>" not in names) > 5


def test_cython(launch, any_headers, cython_source):
    limited = ["-DCYTHON_LIMITED_API", "-DPy_LIMITED_API=0x03090000", *any_headers]
    headers = headers_of(launch.python) or limited
    library = launch.folder / "cython_work.so"
    subprocess.run(["gcc", *COMPILE, "-O1", "-w", *headers, cython_source, "-o", library], check=True)
    launch.write(
        "x.py",
        """
        import cython_work
        def called(number): return sum(range(number % 50))
        def outer(number): return cython_work.twice(called, number)
        def over(number): return sum(cython_work.generated(cython_work.Summed(called), number % 5))
        print(sum(outer(number) + over(number) for number in range(40000)))
        """,
    )
    native = record_native(launch, "x.py")
    native.assert_whole()
    by_cython = native.count(lambda names: any("through_c" in name for name in names))
    assert by_cython > 20
    of_called = [
        (names[: names.index("called")], count) for names, count in native.stacks if "called" in names
    ]
    right = [
        count
        for before, count in of_called
        if any("through_c" in name for name in before) and {"outer", "over"} & set(before)
    ]
    assert sum(right) == sum(count for _, count in of_called) > 0, of_called


def test_numpy_with_blas_threads(launch):
    python, why = launch.python.peer_environment(["numpy"])
    if not python:
        pytest.skip(why)
    environment = {"OPENBLAS_NUM_THREADS": "2"}
    command = [launch.sonde, "record", "--quiet", "--native", "-o", launch.folder / "out.sonde", "--", python]
    done = launch.run([*command, launch.program("native_numpy.py"), "1.5"], environment=environment)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    native = Native(launch)
    native.assert_whole()
    libraries = {text for text in native.samples.data["strings"] if "openblas" in text and ".so" in text}
    assert libraries
    assert native.count(lambda names: "<module>" not in names and len(names) > 1) > 5


def test_garbage_collection(launch):
    """Its frame stands above the Python frame that set it off, never at the root."""
    launch.write(
        "x.py",
        """
        import gc
        class Node: pass
        def tangle(count):
            nodes = [Node() for _ in range(count)]
            for one, other in zip(nodes, nodes[1:]): one.next, other.last = other, one
            return nodes
        def collects():
            for _ in range(40): gc.collect()
        kept = tangle(20000)
        collects()
        """,
    )
    native = record_native(launch, "x.py")
    native.assert_whole()
    collecting = [(names, count) for names, count in native.stacks if "<garbage collection>" in names]
    before = {names[names.index("<garbage collection>") - 1].split(".")[-1] for names, _ in collecting}
    assert all(names[0] != "<garbage collection>" for names, _ in collecting), collecting
    assert "collects" in before and before <= {"collects", "tangle", "<listcomp>", "<module>", "Node"}, before


def test_libraries_come_and_threads_and_forks(launch):
    """Code that is loaded, and threads and processes that come and go, at a high rate: the same output."""
    launch.write(
        "x.py",
        """
        import faulthandler, importlib, os, threading
        faulthandler.enable()
        names = "array bisect decimal hashlib json math random sqlite3 ssl struct unicodedata zlib".split()
        def load(turn):
            for name in names:
                try:
                    importlib.import_module(name)
                except ImportError:
                    continue
            return sum(number * number for number in range(20000))
        threading.stack_size(128 * 1024)
        for turn in range(20):
            threads = [threading.Thread(target=load, args=(turn,)) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        for turn in range(6):
            child = os.fork()
            if not child:
                load(turn)
                os._exit(turn)
            print(os.waitpid(child, 0)[1] >> 8)
        """,
    )
    native = record_native(launch, "-W", "ignore", "x.py", rate=5000)
    native.assert_whole()


def test_sleeping_threads(launch):
    """What the kernel tells of a sleeping thread says what it sleeps in; nothing interrupts it."""
    launch.write(
        "x.py",
        """
        import time
        def sleeps():
            start = time.perf_counter()
            time.sleep(0.3)
            return time.perf_counter() - start >= 0.3
        print(all(sleeps() for _ in range(2)))
        """,
    )
    done = record(launch, "x.py", more=["--native"])
    assert (done.stdout, done.returncode) == (b"True\n", 0)
    raw = launch.run([launch.sonde, "export", "-f", "raw", "-i", "-o", "-", launch.folder / "out.sonde"])
    asleep = [line for line in raw.stdout.decode().splitlines() if "sleeps (" in line]
    counts = [int(line.rpartition(" ")[2]) for line in asleep]
    inside = sum(count for line, count in zip(asleep, counts) if re.search(r"nanosleep|select", line))
    assert sum(counts) > 200 and inside > 0.9 * sum(counts), asleep
