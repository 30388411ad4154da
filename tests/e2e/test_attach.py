"""record -p: a program that runs already is sampled from outside, and does not notice."""

import collections
import contextlib
import ctypes
import math
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest
from samples import Grammar, Samples
from test_record_truth import of_program_only

IMPOSSIBLE_ALLOWED = 0.0005
ERRORS_ALLOWED = 0.001
DEVIATIONS = 4.5
TICKER = """
    import sys, time
    def beat():
        total = 0
        for number in range(2000):
            total += number
        return total
    print("ready", flush=True)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        assert beat() == 1999000
    print("done", flush=True)
"""


def attach(launch, pid, *more, rate=1000, output="out.sonde", before=(), timeout=60):
    command = [*before, launch.sonde, "record", "--quiet", "-p", str(pid), "-r", str(rate)]
    command += ["-o", launch.folder / output, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=launch.folder)


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def running(launch, *words, **options):
    """The interpreter with these words, once it runs Python. It is ended whatever happens."""
    with launch.start([launch.python.executable, *words], **options) as process:
        try:
            while "python" not in os.path.basename(os.readlink(f"/proc/{process.pid}/exe")):
                time.sleep(0.01)
            time.sleep(0.2)
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def ticking(launch, seconds=30):
    """A program that beats until it is ended."""
    launch.write("ticker.py", TICKER)
    with running(launch, "ticker.py", str(seconds)) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process


def ends_well(process):
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    return out


def test_stacks_that_were(launch):
    program = launch.program("grammar.py")
    grammar = Grammar(program)
    with running(launch, program, "60") as process:
        done = attach(launch, process.pid, "-d", "3", rate=5000)
        assert (done.returncode, done.stderr) == (0, "")
    found = Samples(launch.folder / "out.sonde")
    stacks = collections.Counter(row.stack for row in of_program_only(found.rows, grammar))
    bad = {stack: stacks[stack] for stack in stacks if not stack or not grammar.is_legal(stack)}
    taken = sum(stacks.values())
    assert taken > 100  # a machine with more to do takes fewer
    assert sum(bad.values()) <= taken * IMPOSSIBLE_ALLOWED, bad
    assert found.errors <= found.samples * ERRORS_ALLOWED


def test_native_stacks(launch):
    """Whole stacks, down to the root, and every evaluator has its Python frames."""
    program = launch.program("flutter.py")
    with running(launch, program, "60") as process:
        assert attach(launch, process.pid, "--native", "-d", "1.5").returncode == 0
    found = Samples(launch.folder / "out.sonde")
    meta = {key: int(value) for key, value in found.data["meta"].items() if key.startswith("native_")}
    assert meta["native_samples"] > 30  # a machine with more to do takes fewer
    assert meta["native_whole"] >= meta["native_samples"] * 0.99
    assert meta["native_disagreements"] <= meta["native_samples"] * 0.01
    assert {"a3", "key"} <= {frame.name for row in found.rows for frame in row.stack}
    assert any("libc" in text for text in found.data["strings"])


def sampled_shares(launch, rate):
    """Samples of each function, and what the program itself says of its time."""
    with running(launch, launch.program("shares.py"), "3", "10") as process:
        assert attach(launch, process.pid, rate=rate).returncode == 0
        spent = dict(zip(("most", "some", "few"), map(int, ends_well(process).split())))
    return Samples(launch.folder / "out.sonde"), spent


@pytest.mark.alone
def test_shares(chosen_launch):
    """As in launch mode, but for the beginning: the shares repeat every 10 ms. Where the sampler had to
    wait for a CPU one look stands for several instants, which are then not independent."""
    launch = chosen_launch
    rate = 2000
    for _ in range(3):
        found, spent = sampled_shares(launch, rate)
        looks = int(found.data["meta"]["achieved_hz"])
        if looks > rate / 4:
            break
    else:
        pytest.skip(f"this machine has too much to do: {looks} looks a second")
    counts, instants_each = found.counts(*spent), max(1, rate / looks)
    total = sum(counts.values())
    together = sum(row.count**2 for row in found.rows if row.running) / total
    assert total > 1000
    for name, nanoseconds in spent.items():
        share = nanoseconds / sum(spent.values())
        variance = total * share * (1 - share) * max(2 * instants_each - 1, together)
        deviation = math.sqrt(variance) + 0.002 * total
        assert abs(counts[name] - total * share) < DEVIATIONS * deviation, (name, share, counts, looks)


def test_many_threads(chosen_launch):
    """Threads that sleep, that run, and that come and go; each is told apart from the others."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import threading, time
        end = time.monotonic() + 3
        def sleeper():
            while time.monotonic() < end: time.sleep(0.2)
        def runner():
            while time.monotonic() < end: sum(range(100))
        def visitor():
            for _ in range(200): sum(range(100))
        def host():
            while time.monotonic() < end:
                guest = threading.Thread(target=visitor)
                guest.start()
                guest.join()
        all = [threading.Thread(target=target) for target in [sleeper] * 60 + [runner] * 2 + [host]]
        for each in all: each.start()
        for each in all: each.join()
        """,
    )
    with running(launch, "x.py") as process:
        assert attach(launch, process.pid).returncode == 0
        ends_well(process)
    found = Samples(launch.folder / "out.sonde")
    of_function = collections.defaultdict(set)
    for row in found.rows:
        for name in {frame.name for frame in row.stack} & {"sleeper", "runner", "host", "visitor"}:
            of_function[name].add(row.thread)
    assert len(of_function["sleeper"]) == 60
    assert len(of_function["runner"]) == 2
    assert len(of_function["host"]) == 1
    threads = [*of_function["sleeper"], *of_function["runner"], *of_function["host"]]
    assert len(set(threads)) == 63
    assert found.errors <= found.samples * ERRORS_ALLOWED + 2


def test_program_does_not_notice(chosen_launch):
    """Threads, forks and execs under fire: the same output as without."""
    launch = chosen_launch
    program = launch.program("storm.py")
    with running(launch, "-W", "error", program) as process:
        assert attach(launch, process.pid, "-s", rate=5000).returncode == 0
        assert ends_well(process) == b"1 thread\nno child\n"


def test_children_are_followed_if_asked(chosen_launch):
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os, subprocess, sys, time
        def parent(): time.sleep(1.2)
        def child():
            end = time.monotonic() + 1.2
            while time.monotonic() < end: pass
        time.sleep(0.5)
        if os.fork() == 0:
            child()
            os._exit(0)
        code = "import time; end = time.monotonic() + 0.8\\nwhile time.monotonic() < end: pass"
        subprocess.Popen(["sh", "-c", "sleep 0.1; " + sys.executable + " -c '" + code + "'; true"])
        parent()
        os.wait(), os.wait()
        """,
    )
    for more, processes in (([], 1), (["-s"], 3)):
        with running(launch, "x.py") as process:
            assert attach(launch, process.pid, *more).returncode == 0
            ends_well(process)
        found = Samples(launch.folder / "out.sonde")
        # On a busy machine the shell may be met while it is still a copy of the Python that starts it.
        assert len(found.data["processes"]["pid"]) - 1 in (processes, processes + bool(more))
        assert (found.counts("child")["child"] > 50) == bool(more)


def test_another_program_takes_over(chosen_launch):
    """exec: the next Python is sampled as a process of its own; at the end comes one that is none."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import os, sys, time
        end = time.monotonic() + 0.5
        while time.monotonic() < end: pass
        left = int(sys.argv[1])
        program = [sys.executable, "x.py", str(left - 1)] if left else ["/bin/sleep", "8"]
        os.execv(program[0], program)
        """,
    )
    with running(launch, "x.py", "2") as process:
        done = attach(launch, process.pid)
        assert state(process.pid) == "S"
    assert done.returncode == 0
    assert "it is no Python program" in done.stderr
    found = Samples(launch.folder / "out.sonde")
    assert len(found.data["processes"]["pid"]) - 1 == 3
    assert found.samples > 500


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_program_dies(modern_launch, end):
    with ticking(modern_launch) as process:
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -{int(end)} {process.pid}"])
        done = attach(modern_launch, process.pid, rate=5000)
        killer.wait()
        assert (done.returncode, done.stderr) == (0, "")
        assert process.wait(timeout=10) == -end
    assert Samples(modern_launch.folder / "out.sonde").samples > 500


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_sonde_is_ended(modern_launch, end):
    """The recording is written, the program goes on."""
    launch = modern_launch
    with ticking(launch, 2) as process:
        command = [launch.sonde, "record", "-p", str(process.pid), "-o", "out.sonde"]
        with subprocess.Popen(command, cwd=launch.folder, stderr=subprocess.PIPE, text=True) as sonde:
            time.sleep(0.6)
            sonde.send_signal(end)
            assert sonde.stderr.read().splitlines()[-1].startswith("sonde: Samples: ")
        assert sonde.returncode == 0
        assert process.poll() is None
        assert ends_well(process) == b"done\n"
    assert Samples(launch.folder / "out.sonde").samples > 100


def test_sonde_is_killed(chosen_launch):
    """At any moment: the program is never left stopped."""
    launch = chosen_launch
    chance = random.Random(4)
    with ticking(launch, 4) as process:
        for turn in range(12):
            command = [launch.sonde, "record", "-p", str(process.pid), "-r", "10000", "-o", f"{turn}.sonde"]
            with subprocess.Popen(command, cwd=launch.folder, stderr=subprocess.DEVNULL) as sonde:
                time.sleep(0.05 + chance.random() * 0.1)
                sonde.kill()
            assert state(process.pid) in "RS"
        assert ends_well(process) == b"done\n"


def test_again_and_again(modern_launch):
    launch = modern_launch
    with ticking(launch, 5) as process:
        for turn in range(10):
            assert attach(launch, process.pid, "-d", "0.2", output=f"{turn}.sonde").returncode == 0
            assert 0 < Samples(launch.folder / f"{turn}.sonde").samples < 600
        assert ends_well(process) == b"done\n"


def test_a_stopped_program_stays_stopped(modern_launch):
    """SIGSTOP before and during; afterwards it goes on."""
    launch = modern_launch
    with ticking(launch, 3) as process:
        process.send_signal(signal.SIGSTOP)
        while state(process.pid) != "T":
            time.sleep(0.01)
        done = attach(launch, process.pid, "-d", "0.3")
        before, after = done.stderr.splitlines()
        assert done.returncode == 0 and Samples(launch.folder / "out.sonde").samples == 0
        assert f"process {process.pid} is stopped" in before and f"kill -CONT {process.pid}" in before
        assert f"process {process.pid} was and is stopped" in after
        assert state(process.pid) == "T"
        process.send_signal(signal.SIGCONT)
        stopper = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -STOP {process.pid}"])
        done = attach(launch, process.pid, "-d", "0.8", rate=5000)
        assert done.returncode == 0 and f"process {process.pid} is now stopped" in done.stderr
        stopper.wait()
        assert state(process.pid) == "T"
        process.send_signal(signal.SIGCONT)
        assert ends_well(process) == b"done\n"


def test_every_signal_arrives(modern_launch):
    """Real-time signals are queued, and each writes one byte when it is delivered."""
    launch = modern_launch
    launch.write(
        "x.py",
        """
        import os, signal, time
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.signal(signal.SIGRTMIN + 1, lambda number, frame: None)
        signal.set_wakeup_fd(writer)
        child = os.fork()
        if child == 0:
            time.sleep(0.5)
            for turn in range(2000):
                os.kill(os.getppid(), signal.SIGRTMIN + 1)
                end = time.perf_counter() + 0.0002
                while time.perf_counter() < end: pass
            os._exit(0)
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            sum(range(100))
        signal.set_wakeup_fd(-1)
        print(len(os.read(reader, 10000)))
        """,
    )
    with running(launch, "x.py") as process:
        assert attach(launch, process.pid, rate=5000).returncode == 0
        assert ends_well(process) == b"2000\n"


def test_calls_are_not_interrupted(chosen_launch):
    """epoll_wait and usleep end with EINTR even when nobody handles a signal: they must not be disturbed."""
    launch = chosen_launch
    launch.write(
        "x.py",
        """
        import ctypes, errno, os
        libc = ctypes.CDLL(None, use_errno=True)
        epoll = libc.epoll_create1(0)
        place = ctypes.create_string_buffer(12)
        interrupted = 0
        for turn in range(400):
            if libc.usleep(1000) != 0 or libc.epoll_wait(epoll, place, 1, 1) != 0:
                interrupted += ctypes.get_errno() == errno.EINTR
        print(interrupted)
        """,
    )
    with running(launch, "x.py") as process:
        assert attach(launch, process.pid).returncode == 0
        assert int(ends_well(process)) <= 2


def test_its_files_are_gone(chosen_launch):
    """A program whose interpreter was deleted, as by an upgrade."""
    launch = chosen_launch
    if launch.python.root:
        pytest.skip("its libraries are in another root")
    copy = launch.folder / "python-copy"
    shutil.copy(os.path.realpath(launch.python.executable), copy)
    script = "import sys; print(sys.prefix)"
    prefix = launch.plain("-c", script).stdout.decode().strip()
    launch.write("ticker.py", TICKER)
    with launch.start([copy, "ticker.py", "1"], environment={"PYTHONHOME": prefix}) as process:
        assert process.stdout.readline() == b"ready\n"
        copy.unlink()
        assert attach(launch, process.pid).returncode == 0
        assert ends_well(process) == b"done\n"
    assert Samples(launch.folder / "out.sonde").counts("beat")["beat"] > 200


def test_another_namespace(chosen_launch):
    """In a container the program numbers its processes and threads from 1."""
    launch = chosen_launch
    alone = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child"]
    if launch.python.root or subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespace can be made for it here")
    launch.write(
        "x.py",
        """
        import threading, time
        def naps():
            while True: time.sleep(0.02)
        def spins():
            while True: sum(range(100))
        for target in (naps, naps, spins): threading.Thread(target=target, daemon=True).start()
        print("ready", flush=True)
        time.sleep(60)
        """,
    )
    with launch.start([*alone, launch.python.executable, "x.py"]) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            inner = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            assert attach(launch, inner.strip(), "-d", "1").returncode == 0
        finally:
            process.kill()
    found = Samples(launch.folder / "out.sonde")
    of_function = collections.defaultdict(set)
    for row in found.rows:
        for frame in row.stack:
            of_function[frame.name].add(row.thread)
    assert (len(of_function["naps"]), len(of_function["spins"])) == (2, 1)
    assert found.errors <= found.samples * ERRORS_ALLOWED + 2


# ---- refusals


def refused(launch, pid, **options):
    done = attach(launch, pid, "-d", "0.1", **options)
    assert done.returncode == 2, done.stderr
    assert not (launch.folder / "out.sonde").exists()
    return done.stderr


def test_no_such_process(modern_launch):
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert f"there is no process {process.pid}" in refused(modern_launch, process.pid)


def test_a_zombie(modern_launch):
    with subprocess.Popen(["true"]) as process:
        while state(process.pid) != "Z":
            time.sleep(0.01)
        text = refused(modern_launch, process.pid)
    assert f"has ended already; its parent, process {os.getpid()}," in text


def test_a_thread(modern_launch):
    launch = modern_launch
    launch.write("x.py", "import threading, time; threading.Thread(target=time.sleep, args=[9]).start()")
    with running(launch, "x.py") as process:
        while len(threads := os.listdir(f"/proc/{process.pid}/task")) < 2:
            time.sleep(0.01)
        thread = max(map(int, threads))
        assert f"{thread} is a thread of process {process.pid}" in refused(launch, thread)


def test_a_kernel_thread(modern_launch):
    threads = [path for path in pathlib.Path("/proc").glob("[0-9]*") if is_kernel_thread(path)]
    if not threads:
        pytest.skip("the kernel's threads are not seen here")
    assert "thread of the kernel" in refused(modern_launch, threads[0].name)


def is_kernel_thread(path):
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[6]) & 0x200000
    except OSError:
        return False


def test_no_python(modern_launch):
    with subprocess.Popen(["sleep", "9"]) as process:
        time.sleep(0.1)
        assert "it is no Python program" in refused(modern_launch, process.pid)
        process.kill()


def test_free_threaded(free_threaded_launch):
    launch = free_threaded_launch
    with running(launch, "-c", "import time; time.sleep(9)") as process:
        assert "free-threaded Python 3." in refused(launch, process.pid)


def test_traced_by_another(modern_launch):
    """One tracer at a time: the message names the other."""
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt, detach = 0x4206, 0x4207, 17
    with ticking(modern_launch) as process:
        if libc.ptrace(seize, process.pid, None, None) != 0:
            pytest.skip("ptrace is not allowed here")
        text = refused(modern_launch, process.pid)
        libc.ptrace(interrupt, process.pid, None, None)
        os.waitpid(process.pid, os.WUNTRACED | 0x40000000)
        libc.ptrace(detach, process.pid, None, None)
    assert f"is being traced by process {os.getpid()} (" in text


@pytest.mark.parametrize(
    "how, words",
    [
        (["--reuid=65534", "--regid=65534", "--clear-groups"], "belongs to user root (0)"),
        (["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"], "--cap-add=SYS_PTRACE"),
    ],
)
def test_no_right(modern_launch, how, words):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become another user")
    before = ["setpriv", *how]
    if subprocess.run([*before, modern_launch.sonde, "--version"], capture_output=True).returncode != 0:
        pytest.skip("that user cannot run this sonde")
    os.chmod(modern_launch.folder, 0o777)
    with ticking(modern_launch) as process:
        assert words in refused(modern_launch, process.pid, before=before)


def test_nothing_beside_it(modern_launch):
    command = [modern_launch.sonde, "record", "-p", "1", "x.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=modern_launch.folder)
    assert done.returncode == 2
    assert "there is nothing to start beside it" in done.stderr


@pytest.mark.parametrize("command", ["record", "top"])
def test_numbers_that_no_process_has(modern_launch, command):
    for pid in ("0", "-1", "4294967297"):
        done = modern_launch.run([modern_launch.sonde, command, "-p", pid])
        assert done.returncode == 2
        assert f"-p (--pid) must be the number of a process, which {pid} is not".encode() in done.stderr
