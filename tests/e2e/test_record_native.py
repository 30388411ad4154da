"""sonde record --native: Python and native frames as one stack, in programs whose legal stacks are known."""

import collections
import os
import re
import shutil
import subprocess

import interpreters
import pytest
from conftest import PROGRAMS
from samples import Samples, record

FOUND = interpreters.everything()
RUNS_MAX = 8  # one or two will do, unless the machine is busy
# Every function has a frame of its own, so that who calls whom can be judged.
COMPILE = ["-O2", "-g", "-fPIC", "-shared", "-fno-optimize-sibling-calls"]


@pytest.fixture(scope="session")
def any_headers():
    """For what is of the stable ABI. The oldest: newer ones have what older Pythons lack."""
    headers = next((found for found in map(interpreters.headers_of, FOUND) if found), None)
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
    """A recording with native frames, or several of one program: counts, and stacks from the root in."""

    def __init__(self, launch, output="out.sonde"):
        self.samples = Samples(launch.folder / output)
        meta = self.samples.data["meta"]
        counts = {name[7:]: int(value) for name, value in meta.items() if re.match("native_", name)}
        self.counts, self.errors = collections.Counter(counts), self.samples.errors
        self.running = [(row.stack[::-1], row.count, row.guessed) for row in self.samples.rows if row.running]
        self.asleep = [row.stack[::-1] for row in self.samples.rows if not row.running]

    def add(self, other):
        self.counts.update(other.counts)
        self.errors += other.errors
        self.running += other.running
        self.asleep += other.asleep

    def assert_whole(self, least):
        """At least 99 % to the root, at least 99 % with as many evaluators as calls from C; what does not
        reach the root is marked."""
        counts = self.counts
        assert counts["samples"] >= least, counts
        assert counts["whole"] >= 0.99 * counts["samples"], counts
        assert counts["disagreements"] <= 0.01 * counts["samples"], counts
        assert counts["samples"] - counts["whole"] <= counts["guessed"], counts
        assert self.errors == 0

    def count(self, holds):
        return sum(count for stack, count, _ in self.running if holds(names_of(stack)))


def names_of(stack):
    return [frame.name for frame in stack]


def record_native(launch, *words, rate=5000, wanted=2000, python=None, **options):
    """Runs whose output is that of the program alone, until there are as many samples as are wanted: a busy
    machine takes fewer."""
    python = python or launch.python.executable
    plain = launch.run([python, *words], **options)
    command = [launch.sonde, "record", "--quiet", "--native", "-r", str(rate)]
    command += ["-o", launch.folder / "out.sonde", "--"]
    native = None
    for _ in range(RUNS_MAX):
        done = launch.run([*command, python, *words], **options)
        assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
        run = Native(launch)
        if native:
            native.add(run)
        native = native or run
        if native.counts["samples"] >= wanted:
            break
    native.assert_whole(wanted)
    return native


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
    callers = {
        "middle": {"descend<0>"},
        "innermost": {"descend<0>"},
        "sorted_by_callback": {"middle"},
        "<lambda>": {"sorted_by_callback"},
        "apply_to": {"outer", "middle", "<lambda>"},
        "descend<0>": {"apply_to"},
    }
    broken = [
        (breaks(names_of(stack), callers), names_of(stack), count, guessed)
        for stack, count, guessed in native.running
    ]
    broken = [row for row in broken if row[0]]
    # Only while an exception is thrown, or the recorder lacks a CPU to read a new library; and then marked.
    assert all(guessed for _, _, _, guessed in broken), broken
    assert sum(count for _, _, count, _ in broken) < 0.01 * native.count(bool), broken
    assert native.count(lambda names: "innermost" in names) > 300
    # Threads that never ran Python.
    assert native.count(lambda names: "spin_for" in map(simple, names) and "<module>" not in names) > 50


class Source:
    """A Cython source: the lines that comments name, and those of each function."""

    def __init__(self, path):
        self.marks, self.places, name, owner = {}, {}, None, ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if marked := re.search(r"  # (\w+)$", line):
                self.marks[marked[1]] = number
            if begins := re.match(r"cdef class (\w+)|( *)c?def (?:inline )?(?:double )?(\w+)\(", line):
                owner = begins[1] + "." if begins[1] else owner if begins[2] else ""
                name = owner + begins[3] if begins[3] else None
            if name:
                self.places.setdefault(name, set()).add(number)
        self.places["generator"] = self.places["generated"]  # as Cython calls the body of one


def test_cython(launch, any_headers, cython_source):
    limited = ["-DCYTHON_LIMITED_API", "-DPy_LIMITED_API=0x03090000", *any_headers]
    headers = interpreters.headers_of(launch.python) or limited
    library = launch.folder / "cython_work.so"
    subprocess.run(["gcc", *COMPILE, "-w", *headers, cython_source, "-o", library], check=True)
    launch.write(
        "x.py",
        """
        import cython_work
        def called(number): return sum(range(number % 50))
        def outer(number): return cython_work.twice(called, number)
        def over(number): return sum(cython_work.generated(cython_work.Summed(called), number % 5))
        print(sum(outer(number) + over(number) for number in range(30000)))
        print(cython_work.weighed(20000000))
        """,
    )
    native = record_native(launch, "x.py")
    source = Source(PROGRAMS / "cython_work.pyx")
    lines_of_calls = {
        ("through_c", "called"): "calls",
        ("through_c", "through_c"): "recurses",
        ("twice", "through_c"): "twice",
        ("generator", "Summed.__call__"): "yields",
        ("Summed.__call__", "twice"): "called",
        ("weighed", "weigh"): "inlines",
    }
    met = collections.Counter()
    believed = [(stack, count) for stack, count, guessed in native.running if not guessed]
    # Post-link optimizers (3.14.6) leave code without a description: some rest on a guess.
    assert sum(count for _, count in believed) > 0.8 * native.count(lambda names: True)
    for stack, count in believed:
        known = [frame._replace(name=frame.name.replace("cython_work.", "")) for frame in stack]
        known = [frame for frame in known if frame.name in source.places or frame.file.endswith("x.py")]
        for frame, inner in zip(known, [*known[1:], None]):
            if frame.name not in source.places:
                continue
            assert os.path.basename(frame.file) == "cython_work.pyx", stack
            assert frame.line in source.places[frame.name], stack
            if call := inner and lines_of_calls.get((frame.name, inner.name)):
                assert frame.line == source.marks[call], stack
                met[call] += count
    assert set(met) == set(lines_of_calls.values()) and min(met.values()) > 10, met
    # Inlined: no function of its own in the file, but a frame.
    assert "cython_work_weigh\n" not in subprocess.check_output(["nm", library], text=True)
    inlined = [stack[-2:] for stack, _ in believed if names_of(stack)[-1:] == ["cython_work.weigh"]]
    assert inlined and {frame.name for frame, _ in inlined} == {"cython_work.weighed"}, inlined
    for stack, _ in believed:
        names = names_of(stack)
        if "called" in names:
            before = names[: names.index("called")]
            assert "cython_work.through_c" in before and {"outer", "over"} & set(before), stack


def test_numpy_with_blas_threads(launch):
    python, why = launch.python.peer_environment(["numpy"])
    if not python:
        pytest.skip(why)
    environment = {"OPENBLAS_NUM_THREADS": "2"}
    words = [launch.program("native_numpy.py"), "2"]
    native = record_native(launch, *words, rate=2000, python=python, environment=environment)
    libraries = {text for text in native.samples.data["strings"] if "openblas" in text and ".so" in text}
    assert libraries
    assert native.count(lambda names: "<module>" not in names and len(names) > 1) > 100


def test_garbage_collection(chosen_launch):
    """Its frame stands above the Python frame that set it off, never at the root."""
    launch = chosen_launch
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
    native = record_native(launch, "x.py", rate=4000, wanted=500)
    stacks = [names_of(stack) for stack, _, _ in native.running]
    collecting = [names for names in stacks if "<garbage collection>" in names]
    before = {names[names.index("<garbage collection>") - 1].split(".")[-1] for names in collecting}
    assert all(names[0] != "<garbage collection>" for names in collecting), collecting
    assert "collects" in before and before <= {"collects", "tangle", "<listcomp>", "<module>", "Node"}, before


def test_libraries_come_and_threads_and_forks(chosen_launch):
    """Code that is loaded, and threads and processes that come and go, at a high rate: the same output."""
    launch = chosen_launch
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
    record_native(launch, "-W", "ignore", "x.py", wanted=1000)


def test_sleeping_threads(chosen_launch):
    """What the kernel tells of a sleeping thread says what it sleeps in, and who called that, up to the root;
    nothing interrupts it."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os, queue, select, threading, time
        def sleeps():
            start = time.perf_counter()
            time.sleep(0.003)
            return time.perf_counter() - start >= 0.003
        def reads(): os.read(ends[0], 1)
        def polls(): select.select([ends[2]], [], [], 0.003)
        def waits(): items.get()
        def locks(): lock.acquire(timeout=0.003)
        def again(act):
            for turn in range(TURNS): act()
        TURNS, ends, items, lock = 150, os.pipe() + os.pipe(), queue.Queue(), threading.Lock()
        lock.acquire()
        threads = [threading.Thread(target=again, args=(each,)) for each in (reads, polls, waits, locks)]
        for thread in threads: thread.start()
        right = 0
        for turn in range(TURNS):
            right += sleeps()
            os.write(ends[1], b"x")
            items.put(1)
        for thread in threads: thread.join()
        print(right)
        """,
    )
    done = record(launch, "x.py", rate=2000, more=["--native"])
    assert (done.stdout, done.stderr, done.returncode) == (b"150\n", b"", 0)
    native = Native(launch)
    assert native.counts["sleeping"] >= 150, native.counts  # each sleep is one
    assert native.counts["sleeping_whole"] >= 0.99 * native.counts["sleeping"], native.counts
    for name, where in (
        ("sleeps", "nanosleep|select"),
        ("reads", "read"),
        ("polls", "select"),
        ("waits", "futex|sem_|cond_|libc"),
        ("locks", "futex|sem_|cond_|libc"),
    ):
        stacks = [names_of(stack) for stack in native.asleep]
        inside = [names[names.index(name) + 1 :] for names in stacks if name in names]
        right = [inner for inner in inside if any(re.search(where, each) for each in inner)]
        assert len(right) >= 0.95 * len(inside) > 10, (name, inside)
