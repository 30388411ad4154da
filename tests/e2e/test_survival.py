"""Nothing that was recorded is lost: not by kill -9, not by a crash, not by a full disk."""

import contextlib
import os
import random
import resource
import signal
import subprocess
import time

import pytest
from conftest import USABLE, Launcher

KILLS = 50


class Counting:
    """A run of programs/counting.py under sonde; its own count can be read even after its death."""

    def __init__(self, launch, name):
        self.launch, self.output = launch, name + ".sonde"
        self.counter = launch.folder / (name + ".counter")
        self.counter.write_bytes(bytes(16))
        script = launch.program("counting.py")
        command = [*launch.tracer(self.output), "--", launch.python.executable, script, self.counter]
        self.process = launch.start(command, start_new_session=True)

    def count(self):
        return int.from_bytes(self.counter.read_bytes()[:8], "little")

    def pid(self):
        return int.from_bytes(self.counter.read_bytes()[8:], "little")

    def wait_until(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def recorded(self):
        return self.launch.counts("counting.py", self.output)["step"][0]


def test_target_killed_at_random_times(sonde, tmp_path):
    """Each of 50 recordings is complete to the last event: the target's count at its death, or one more."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    times = random.Random(seed)
    pythons = [python for python in USABLE if not python.free_threaded]
    for number in range(KILLS):
        launch = Launcher(sonde, pythons[number % len(pythons)], tmp_path)
        run = Counting(launch, f"run{number}")
        run.wait_until(run.pid)
        time.sleep(times.uniform(0, 0.3))
        os.kill(run.pid(), signal.SIGKILL)
        out, err = run.process.communicate(timeout=30)
        assert run.process.returncode == -signal.SIGKILL
        assert (out, err) == (b"", b"")
        count = run.count()
        assert count <= run.recorded() <= count + 1, (number, launch.python)


def test_both_killed(modern_launch):
    """Complete to the last checkpoint: what was counted before a checkpoint began is in the file."""
    run = Counting(modern_launch, "both")
    file = modern_launch.folder / run.output

    def size():
        return file.stat().st_size if file.exists() else 0

    counted = 0
    for _ in range(2):
        run.wait_until(run.pid)
        counted, before = run.count(), size()
        run.wait_until(lambda before=before: size() > before)
        time.sleep(0.1)  # a checkpoint may be several writes
    os.killpg(run.process.pid, signal.SIGKILL)
    run.process.communicate(timeout=30)
    assert counted > 0
    assert run.recorded() >= counted


def test_sonde_alone_killed(modern_launch):
    """The target outlives its recorder and ends as it would have."""
    launch = modern_launch
    launch.write(
        "x.py",
        """
        import os, time
        def f():
            pass
        print(os.getppid(), flush=True)
        input()
        for _ in range(200000):
            f()
        open('done', 'w').close()
        """,
    )
    command = [*launch.tracer(), "--", launch.python.executable, "x.py"]
    with launch.start(command, stdin=subprocess.PIPE) as process:
        os.kill(int(process.stdout.readline()), signal.SIGKILL)
        process.stdin.write(b"\n")
        process.stdin.close()
        deadline = time.monotonic() + 30
        while not (launch.folder / "done").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert launch.run([launch.sonde, "info", "out.sonde"]).returncode in (0, 2)


DEATHS = {
    "term": "os.kill(os.getpid(), 15)",
    "segv": "ctypes.string_at(0)",
    "abort": "os.abort()",
    "hard": "os._exit(0)",
    "uncaught": "1 / 0",
    "fatal": "ctypes.pythonapi.Py_FatalError(b'expected')",
    "exec": "os.execv('/bin/true', ['true'])",
}


@pytest.mark.parametrize("death", DEATHS)
def test_deaths_lose_nothing(launch, death):
    imports = "os, ctypes" if "ctypes" in DEATHS[death] else "os"
    launch.write(
        "x.py",
        f"""
        import {imports}
        def step():
            pass
        def deep(n):
            if n:
                return deep(n - 1)
            for _ in range(12345):
                step()
            {DEATHS[death]}
        deep(30)
        """,
    )
    if "ctypes" in imports and launch.plain("-c", "import ctypes").returncode:
        pytest.skip("this Python has no ctypes")
    done = launch.traced("x.py")
    assert done.returncode == launch.plain("x.py").returncode
    counts = launch.counts("x.py")
    assert counts["step"] == (12345, 12345)
    assert counts["deep"] == (31, 1)


def test_cut_and_damaged_files(modern_launch):
    """Cut anywhere, or with a byte changed anywhere, it is read as far as it is whole; nothing crashes."""
    launch = modern_launch
    assert launch.traced(launch.program("library.py")).returncode == 0
    good = (launch.folder / "out.sonde").read_bytes()
    whole = launch.recording().calls()
    last = -1
    for cut in sorted({len(good) * part // 40 for part in range(41)} | set(range(0, 64, 4))):
        (launch.folder / "cut.sonde").write_bytes(good[:cut])
        done = launch.run([launch.sonde, "report", "--json", "cut.sonde"])
        assert done.returncode in (0, 2), (cut, done.returncode, done.stderr)
        if done.returncode == 2:
            assert b"cut.sonde" in done.stderr
            assert last <= 0, f"{cut} bytes read worse than fewer"
        else:
            calls = launch.recording("cut.sonde").calls()
            assert last <= calls <= whole
            last = calls
    assert last == whole
    places = random.Random(1)
    for _ in range(40):
        damaged = bytearray(good)
        damaged[places.randrange(len(good))] ^= 1 << places.randrange(8)
        (launch.folder / "damaged.sonde").write_bytes(damaged)
        done = launch.run([launch.sonde, "report", "damaged.sonde"])
        assert done.returncode in (0, 2), done.stderr


def test_fork_storm(chosen_launch):
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os
        def step():
            pass
        def child():
            for _ in range(5):
                step()
            os._exit(0)
        for _ in range(20):
            pids = []
            for _ in range(10):
                pid = os.fork()
                if pid == 0:
                    child()
                pids.append(pid)
            for pid in pids:
                os.waitpid(pid, 0)
        step()
        print('done')
        """,
    )
    done = launch.traced("x.py", timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == (b"done\n", b"", 0)
    counts = launch.counts("x.py")
    assert counts["step"] == (1001, 1001)
    assert counts["child"] == (200, 200)


def test_thousand_threads(chosen_launch):
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import threading
        threading.stack_size(256 * 1024)
        def step():
            pass
        gate = threading.Event()
        def work():
            step()
            gate.wait()
            step()
            step()
        threads = [threading.Thread(target=work) for _ in range(1000)]
        for thread in threads:
            thread.start()
        gate.set()
        for thread in threads:
            thread.join()
        print('done')
        """,
    )
    done = launch.traced("x.py", timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == (b"done\n", b"", 0)
    counts = launch.counts("x.py")
    assert counts["step"] == (3000, 3000)
    assert counts["work"] == (1000, 1000)


def test_recursion_error(launch):
    """The program's own RecursionError comes where it came before, and tracing goes on after it."""
    launch.write(
        "x.py",
        """
        def endless(n):
            return endless(n + 1)
        def after():
            pass
        for _ in range(3):
            try:
                endless(0)
            except RecursionError as error:
                print(error)
            after()
        """,
    )
    plain, traced = launch.plain("x.py"), launch.traced("x.py")
    assert (traced.stdout, traced.stderr, traced.returncode) == (plain.stdout, plain.stderr, 0)
    assert launch.counts("x.py")["after"] == (3, 3)


def test_very_deep_recursion(chosen_launch):
    """Where Python's own recursion needs no C stack (3.11 and later), sonde's tracing must not either."""
    launch = chosen_launch
    if launch.python.numbers < (3, 11):
        pytest.skip("recursion needs C stack in this version with or without sonde")
    launch.write(
        "x.py",
        """
        import sys
        sys.setrecursionlimit(10**6)
        def down(n):
            return 1 + down(n - 1) if n else 0
        print(down(100000))
        """,
    )
    for options in ([], ["--no-c-calls"]):
        done = launch.traced("x.py", trace=options)
        assert (done.stdout, done.stderr, done.returncode) == (b"100000\n", b"", 0)
        assert launch.counts("x.py")["down"] == (100001, 1)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()


def limited(which, size):
    """A preexec function: the limit holds for sonde and for the target."""
    return lambda: resource.setrlimit(which, (size, size))


def test_little_memory(modern_launch):
    """Under a limit on address space the program still gets its own MemoryError, and nothing else changes."""
    launch = modern_launch
    launch.write(
        "x.py",
        """
        def step():
            pass
        try:
            data = bytearray(1 << 40)
        except MemoryError:
            print('no memory')
        for _ in range(1000):
            step()
        print('done')
        """,
    )
    for megabytes in (64, 128, 512, 4096):
        limit = limited(resource.RLIMIT_AS, megabytes << 20)
        plain = launch.plain("x.py", preexec_fn=limit)
        command = [*launch.tracer(f"{megabytes}.sonde"), "--", launch.python.executable, "x.py"]
        traced = launch.run(command, preexec_fn=limit)
        assert traced.stdout == plain.stdout == b"no memory\ndone\n"
        assert traced.returncode == 0 or (traced.returncode == 2 and traced.stderr)


WIDE = (
    "import random\ndef define(n):\n    name = 'f%030x' % random.getrandbits(120)\n    space = {}\n"
    "    exec('def %s(): pass' % name, space)\n    space[name]()\n"
    "for n in range(20000):\n    define(n)\nprint('done')\n"
)


def assert_says_so(done, output):
    """A recording that could not be written: said once, naming the file, and the target not disturbed."""
    assert done.stdout == b"done\n"
    assert done.returncode == 2
    assert output in done.stderr.decode()
    assert len(done.stderr.splitlines()) <= 3


def test_full_disk(modern_launch):
    launch = modern_launch
    if os.geteuid() != 0:
        pytest.skip("a small file system needs root")
    launch.write("x.py", WIDE)
    (launch.folder / "disk").mkdir()
    mount = 'mount -t tmpfs -o size=128k none disk; "$@"; code=$?; cp disk/* . ; exit $code'
    command = [launch.sonde, "trace", "-o", "disk/full.sonde", "--", launch.python.executable, "x.py"]
    unshare = ["unshare", "--mount", "--propagation", "private"]
    if launch.run([*unshare, "true"]).returncode != 0:
        pytest.skip("no mount of our own can be made here (a chroot?)")
    done = launch.run([*unshare, "sh", "-c", mount, "sh", *command])
    assert_says_so(done, "full.sonde")
    assert launch.run([launch.sonde, "info", "full.sonde"]).returncode in (0, 2)


def test_file_size_limit(modern_launch):
    """The limit of sonde itself: a write fails. (Under the target's own, no memory can be shared.)"""
    launch = modern_launch
    launch.write("x.py", "input()\n" + WIDE)
    command = [*launch.tracer(), "--", launch.python.executable, "x.py"]
    process = launch.start(command, stdin=subprocess.PIPE)
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
    while len(children(process.pid)) < 2:  # the witness and, after it, the target
        time.sleep(0.01)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100000, 100000))
    out, err = process.communicate(b"\n", timeout=60)
    assert_says_so(subprocess.CompletedProcess(command, process.returncode, out, err), "out.sonde")


def test_file_size_limit_of_the_target(modern_launch):
    """Refused before anything of the program ran, with the remedy."""
    launch = modern_launch
    launch.write("x.py", "print('ran')")
    command = [*launch.tracer(), "--", launch.python.executable, "x.py"]
    done = launch.run(command, preexec_fn=limited(resource.RLIMIT_FSIZE, 100000))
    assert (done.stdout, done.returncode) == (b"", 2)
    assert b"ulimit -f" in done.stderr


def test_max_size(modern_launch):
    """--max-size bounds what is kept; the run goes on, and the recording says what was left out."""
    launch = modern_launch
    launch.write("x.py", WIDE)
    done = launch.traced("x.py", trace=["--max-size", "1M"])
    assert (done.stdout, done.returncode) == (b"done\n", 0)
    assert done.stderr
    assert (launch.folder / "out.sonde").stat().st_size <= 1 << 20
    recording = launch.recording()
    assert recording.calls() > 0
    assert recording.notes()


def test_output_folder_vanishes(modern_launch):
    """The file that sonde has open stays good; the target is not disturbed."""
    launch = modern_launch
    (launch.folder / "gone").mkdir()
    code = "import shutil; shutil.rmtree('gone'); print('done')"
    done = launch.run(
        [launch.sonde, "trace", "-o", "gone/x.sonde", "--", launch.python.executable, "-c", code]
    )
    assert done.stdout == b"done\n"
    assert done.returncode in (0, 2)


def test_target_closes_every_descriptor(chosen_launch):
    """Daemons close all descriptors; the recording goes on, and no file of the program is written into."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os
        def step():
            pass
        os.closerange(3, 1024)
        files = [open('file%d' % n, 'w+') for n in range(40)]
        for _ in range(5000):
            step()
        if os.fork() == 0:
            step()
            os._exit(0)
        os.wait()
        print([file.read() for file in files] == [''] * 40)
        """,
    )
    done = launch.traced("x.py")
    assert (done.stdout, done.stderr, done.returncode) == (b"True\n", b"", 0)
    assert launch.counts("x.py")["step"] == (5001, 5001)
    for number in range(40):
        with contextlib.suppress(FileNotFoundError):
            assert (launch.folder / f"file{number}").read_bytes() == b""


def test_compiling_in_a_loop_does_not_grow(chosen_launch):
    """Code objects are kept alive for their addresses' sake, but not without bound; counts stay exact."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import resource
        total = 0
        for number in range(40000):
            total += eval(compile("%d + x" % number, "<made>", "eval"), {"x": 1})
        def define(number):
            space = {}
            exec("def made(a):\\n    return a + %d\\n" % number, space)
            return space["made"](1)
        for number in range(500):
            define(number)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        """,
    )
    plain, traced = int(launch.plain("x.py").stdout), int(launch.traced("x.py").stdout)
    assert traced - plain < 16000  # KiB; keeping all of it would be 40,000
    table = launch.recording().table()
    assert table.functions[("<made>", 1, "<module>")] == (40000, 40000)
    assert table.functions[("<string>", 1, "made")] == (500, 500)


def test_more_threads_than_rows(modern_launch):
    """Threads that do not fit are counted with others that have ended: no call is missing."""
    launch = modern_launch
    launch.write(
        "x.py",
        """
        import threading
        def work(): pass
        for turn in range(500):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        """,
    )
    done = launch.traced("x.py", trace=["--max-size", "1M"])
    assert done.returncode == 0
    assert b"so many threads" in done.stderr
    assert launch.counts("x.py")["work"] == (500, 500)
