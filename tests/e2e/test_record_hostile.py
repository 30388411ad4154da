"""Programs that do with signals, threads, processes and limits what they like: under `sonde record` they
print, return and leave behind what they would without it."""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from conftest import read
from samples import Samples, record

SPIN = """
import time
def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(100))
"""

SIGNALS = {
    "every real-time signal is the program's": """
        import signal
        hits = []
        for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
            spin(0.005)
            print(signal.signal(number, lambda *given: hits.append(given[0])) == signal.SIG_DFL)
        spin(0.3)
        print(hits)
        for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
            signal.raise_signal(number)
        print(len(hits))
        """,
    "SIGPROF is the program's, and so are all three timers": """
        import signal
        seen = set()
        for number in (signal.SIGPROF, signal.SIGVTALRM, signal.SIGALRM):
            signal.signal(number, lambda *given: seen.add(given[0]))
        for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0.001, 0.001)
        spin(0.4)
        for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        print(sorted(seen))
        """,
    "all signals are blocked": """
        import signal
        before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        spin(0.3)
        print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.sigpending())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
        spin(0.1)
        """,
    "all signals are waited for": """
        import os, signal, threading
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        enough = threading.Event()
        def send():  # equal signals that wait count once: none may be the last
            while not enough.is_set():
                time.sleep(0.001)
                os.kill(os.getpid(), signal.SIGUSR1)
        thread = threading.Thread(target=send)
        thread.start()
        got = set()
        for turn in range(20):
            got.add(signal.sigwait(signal.valid_signals()))
            spin(0.005)
            got.add(signal.sigwaitinfo(signal.valid_signals()).si_signo)
            spin(0.005)
        enough.set()
        thread.join()
        print(sorted(got))
        """,
    "all signals go to a descriptor": """
        import ctypes, os, select, signal
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        every = (ctypes.c_ulong * 16)(*[2 ** 64 - 1] * 16)
        fd = ctypes.CDLL(None).signalfd(-1, every, os.O_NONBLOCK)
        for turn in range(30):
            spin(0.01)
            print(len(select.select([fd], [], [], 0)[0]), end="")
        os.kill(os.getpid(), signal.SIGUSR1)
        print(select.select([fd], [], [], 10)[0] == [fd])
        """,
    "handlers run on a stack of their own": """
        import ctypes, signal
        libc = ctypes.CDLL(None)
        class Stack(ctypes.Structure):
            _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
        memory = ctypes.create_string_buffer(16384)
        print(libc.sigaltstack(ctypes.byref(Stack(ctypes.addressof(memory), 0, 16384)), None))
        spin(0.3)
        """,
    "faulthandler": """
        import faulthandler, os, signal
        with open("dumps", "w+") as file:
            faulthandler.enable(file)
            faulthandler.register(signal.SIGUSR1, file=file)
            faulthandler.dump_traceback_later(0.05, repeat=True, file=file)
            for turn in range(100):
                spin(0.003)
                os.kill(os.getpid(), signal.SIGUSR1)
            faulthandler.cancel_dump_traceback_later()
            faulthandler.disable()
            faulthandler.unregister(signal.SIGUSR1)
            text = open("dumps").read()
        print(text.count("Timeout") > 0, text.count("(most recent call first)") >= 100)
        """,
    "a storm of signals": """
        import os, signal, threading
        count = 0
        def handler(*given):
            global count
            count += 1
        signal.signal(signal.SIGUSR1, handler)
        signal.signal(signal.SIGRTMIN, handler)
        for turn in range(2000):
            os.kill(os.getpid(), (signal.SIGUSR1, signal.SIGRTMIN)[turn % 2])
            sum(range(500))
        print(count)
        """,
}

THREADS = {
    "threads on small stacks": """
        import threading
        for size in range(32768, 131072, 4096):  # the least differs
            try:
                threading.stack_size(size)
                break
            except ValueError:
                pass
        threads = [threading.Thread(target=spin, args=(0.3,)) for _ in range(4)]
        for each in threads: each.start()
        for each in threads: each.join()
        print("ended")
        """,
    "64 threads": """
        import sys, threading
        sys.setswitchinterval(0.0001)
        threads = [threading.Thread(target=spin, args=(0.5,)) for _ in range(64)]
        for each in threads: each.start()
        for each in threads: each.join()
        print("ended")
        """,
    "1100 threads": """
        import threading
        threading.stack_size(65536)
        go = threading.Event()
        threads = [threading.Thread(target=go.wait) for _ in range(1100)]
        for each in threads: each.start()
        spin(0.3)
        go.set()
        for each in threads: each.join()
        print("ended")
        """,
    "threads born and dying": """
        import threading
        for turn in range(300):
            threads = [threading.Thread(target=spin, args=(0.0002,)) for _ in range(4)]
            for each in threads: each.start()
            for each in threads: each.join()
        print(threading.active_count())
        """,
    "few descriptors": """
        import resource, threading
        resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
        threads = [threading.Thread(target=spin, args=(0.2,)) for _ in range(10)]
        for each in threads: each.start()
        for each in threads: each.join()
        print("ended")
        """,
}

PROCESSES = {
    "a storm of forks": """
        import os
        codes = []
        for turn in range(60):
            child = os.fork()
            if child == 0:
                spin(0.002)
                os._exit(turn % 7)
            spin(0.002)
            codes.append(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
        print(codes)
        """,
    "forks that fork": """
        import os
        def family(depth):
            for turn in range(2 * bool(depth)):
                child = os.fork()
                if child == 0:
                    family(depth - 1)
                    spin(0.005)
                    os._exit(depth)
                os.waitpid(child, 0)
        family(3)
        print("ended")
        """,
    "vfork and exec": """
        import subprocess
        print([subprocess.call(["sh", "-c", "exit %d" % turn], close_fds=False) for turn in range(20)])
        """,
    "a daemon": """
        import os
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 3)
                spin(0.1)
                os.mkdir("daemon")
                os._exit(0)
            os._exit(0)
        os.wait()
        while not os.path.exists("daemon"):
            time.sleep(0.01)
        print("ended")
        """,
    "another user": """
        import os
        if os.getuid() == 0:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        spin(0.2)
        print(os.getuid() == 0)
        """,
    "another root": """
        import os
        if os.getuid() == 0:
            os.chroot(".")
        spin(0.2)
        print("ended")
        """,
}


# Calls that a sandbox refuses: process_vm_readv and -writev, ptrace, perf_event_open, pidfd_open,
# rt_tgsigqueueinfo, sched_setattr. The program says so itself, and what it starts has it from it.
# PUNISHED are numbers of calls, ANSWER is what the kernel does about them, ACT is the call that says so.
SANDBOX = """
import ctypes, errno, os, subprocess, sys
class Step(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte)]
    _fields_ += [("k", ctypes.c_uint)]
class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.POINTER(Step))]
load, equal, give = 0x20, 0x15, 0x06
steps = [Step(load, 0, 0, 0)]
for number in PUNISHED:
    steps += [Step(equal, 0, 1, number), Step(give, 0, 0, ANSWER)]
steps.append(Step(give, 0, 0, 0x7fff0000))
libc = ctypes.CDLL(None)
spin(0.3)
filter = Filter(len(steps), (Step * len(steps))(*steps))
print(libc.prctl(38, 1, 0, 0, 0), ACT, flush=True)
spin(0.3)
child = os.fork()
if child == 0:
    spin(0.1)
    os._exit(3)
print(os.waitpid(child, 0)[1])
print(subprocess.call([sys.executable, "-c", "print(sum(range(1000000)))"]), flush=True)
"""


def write(launch, text):
    program = launch.write("x.py", text)
    program.write_text(SPIN + program.read_text())
    return "x.py"


def check_same(launch, text, rate=1000):
    program = write(launch, text)
    plain = launch.plain(program)
    if (launch.folder / "daemon").exists():
        (launch.folder / "daemon").rmdir()
    done = record(launch, program, rate=rate)
    assert plain.returncode == 0, plain.stderr.decode()
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
    return Samples(launch.folder / "out.sonde")


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(chosen_launch, name):
    found = check_same(chosen_launch, SIGNALS[name])
    assert found.samples + found.noted("every real-time signal") > 3  # some of them end within a few ms


@pytest.mark.parametrize("name", THREADS)
def test_threads(chosen_launch, name):
    found = check_same(chosen_launch, THREADS[name])
    assert found.samples > 50


@pytest.mark.parametrize("name", PROCESSES)
def test_processes(chosen_launch, name):
    found = check_same(chosen_launch, PROCESSES[name], rate=5000)
    assert found.samples > 20


def test_threads_that_block_all_signals_are_sampled(chosen_launch):
    launch = chosen_launch
    check_same(launch, SIGNALS["all signals are blocked"])
    counts = Samples(launch.folder / "out.sonde").counts("spin", "<module>")
    running = sum(row.count for row in Samples(launch.folder / "out.sonde").rows if row.running)
    assert counts["spin"] > 0.8 * counts["<module>"] * 0.5
    assert running > 50


def sandbox(launch, punished, answer, act="libc.prctl(22, 2, ctypes.byref(filter), 0, 0)"):
    """Runs it with and without sonde, and gives what was recorded."""
    text = SANDBOX.replace("PUNISHED", str(punished)).replace("ANSWER", answer).replace("ACT", act)
    program = write(launch, text)
    plain = launch.plain(program)
    done = record(launch, program)
    assert plain.stdout.startswith(b"0 0\n"), plain.stderr.decode()
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
    return done, Samples(launch.folder / "out.sonde")


X86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="calls have other numbers here")


@X86_64
def test_a_sandbox(chosen_launch):
    """Where calls are refused the program goes on; what can be sampled is, and of the rest it is said."""
    refused = (310, 311, 101, 298, 434, 297, 314)
    done, found = sandbox(chosen_launch, refused, "0x50000 | errno.EPERM")
    assert b"runs without being recorded" in done.stderr and done.stderr.count(b"\n") == 1
    assert found.counts("spin")["spin"] > 20
    assert found.noted("cannot be read") > 0


@X86_64
@pytest.mark.parametrize("act", ["libc.prctl(22, 2", "libc.syscall(317, 1, 0"])
def test_a_deadly_sandbox(chosen_launch, act):
    """Where the program would be killed for our calls none is made any more, which is said."""
    punished = (310, 311, 101, 319, 297)
    done, found = sandbox(chosen_launch, punished, "0x80000000", act + ", ctypes.byref(filter), 0, 0)")
    assert done.stderr == b""
    assert found.counts("spin")["spin"] > 20
    assert found.noted("a seccomp filter kills") > 20
    assert found.noted("processes not followed") == 2
    assert len(found.data["processes"]["pid"]) == 2  # the first row is none


@X86_64
def test_a_sandbox_that_was_refused(chosen_launch):
    """A filter that the kernel does not take changes nothing."""
    launch = chosen_launch
    program = write(
        launch,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl.argtypes = [ctypes.c_long] * 5
        for filter in (None, 8, 1 << 60):
            print(libc.prctl(22, 2, filter or 0, 0, 0), ctypes.get_errno())
        print(libc.syscall(317, 99, 0, None), ctypes.get_errno())
        spin(0.4)
        """,
    )
    plain = launch.plain(program)
    assert record(launch, program).stdout == plain.stdout
    found = Samples(launch.folder / "out.sonde")
    assert found.counts("spin")["spin"] > 20
    assert found.noted("seccomp") == 0


def test_no_call_is_interrupted(chosen_launch):
    """Calls that no other signal interrupts are not interrupted, whatever the thread did before."""
    launch = chosen_launch
    program = write(
        launch,
        """
        import ctypes
        libc = ctypes.CDLL(None)
        class Time(ctypes.Structure):
            _fields_ = [("seconds", ctypes.c_long), ("parts", ctypes.c_long)]
        poll = libc.epoll_create1(0)
        events = (ctypes.c_char * 120)()
        semaphore = ctypes.create_string_buffer(64)
        libc.sem_init(semaphore, 0, 0)
        waits = {
            "usleep": lambda: libc.usleep(500),
            "poll": lambda: libc.poll(None, 0, 1),
            "select": lambda: libc.select(0, None, None, None, ctypes.byref(Time(0, 500))),
            "epoll_wait": lambda: libc.epoll_wait(poll, events, 10, 1),
        }
        interrupted = dict.fromkeys(waits, 0)
        for turn in range(60):
            for work in (10, 1000, 20000, 60000):
                for name, wait in waits.items():
                    sum(range(work))
                    interrupted[name] += wait() != 0
        print(interrupted)
        """,
    )
    plain = launch.plain(program)
    done = record(launch, program)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 0)
    assert b": 0" in plain.stdout and b": 1" not in plain.stdout


def test_stopped_and_continued(chosen_launch):
    launch = chosen_launch
    program = write(launch, "print('begun', flush=True)\nspin(0.5)\nprint('ended')\n")
    command = [launch.sonde, "record", "--quiet", "-o", launch.folder / "out.sonde", "--"]
    with launch.start([*command, launch.python.executable, program]) as process:
        assert process.stdout.readline() == b"begun\n"
        target = child_named(process.pid, "x.py")
        os.kill(target, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(target, signal.SIGCONT)
        out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == (b"ended\n", b"", 0)


def below(pid):
    """All processes started by a process, and by these."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    parents, all_of_them = {str(pid)}, []
    for _ in range(8):
        more = [row for row in rows if row[1] in parents and row[0] not in parents]
        parents |= {row[0] for row in more}
        all_of_them += more
    return [(int(row[0]), row[2]) for row in all_of_them]


def child_named(pid, words):
    return next(each for each, command in below(pid) if words in command and "record" not in command)


def samplers_in(folder):
    """The samplers of programs that were started there."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            here = os.readlink(path.parent / "cwd").endswith(str(folder))
            found += [path.parent.name] if here and path.read_text() == "sonde-sampler\n" else []
        except OSError:
            continue
    return found


def test_a_killed_recorder_leaves_the_program_running(chosen_launch):
    launch = chosen_launch
    program = write(launch, "print('begun', flush=True)\nspin(1.5)\nopen('after', 'w').write('ended')\n")
    command = [launch.sonde, "record", "--quiet", "-o", launch.folder / "out.sonde", "--"]
    with launch.start([*command, launch.python.executable, program]) as process:
        assert process.stdout.readline() == b"begun\n"
        while not samplers_in(launch.folder):
            time.sleep(0.01)
        process.kill()
    after = launch.folder / "after"
    until = time.monotonic() + 30
    while time.monotonic() < until and not (after.exists() and after.read_text() == "ended"):
        time.sleep(0.05)
    assert after.read_text() == "ended"
    while time.monotonic() < until and samplers_in(launch.folder):
        time.sleep(0.05)
    assert samplers_in(launch.folder) == []


def wakeups(pid):
    text = pathlib.Path("/proc", pid, "status").read_text()
    return int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def test_the_sampler_of_a_killed_recorder_comes_to_rest(modern_launch):
    launch = modern_launch
    program = write(launch, "print('begun', flush=True)\ntime.sleep(60)\n")
    command = [launch.sonde, "record", "--quiet", "-o", launch.folder / "out.sonde", "--"]
    with launch.start([*command, launch.python.executable, program]) as process:
        assert process.stdout.readline() == b"begun\n"
        target = child_named(process.pid, "x.py")
        while not samplers_in(launch.folder):
            time.sleep(0.01)
        (sampler,) = samplers_in(launch.folder)
        process.kill()
        until = time.monotonic() + 40
        woken = 1000
        while time.monotonic() < until and woken > 100:
            before = wakeups(sampler)
            time.sleep(1)
            woken = wakeups(sampler) - before
        os.kill(target, signal.SIGKILL)
    assert woken <= 100


def test_full_disk(modern_launch):
    """The program goes on to its end; that nothing more can be written is told when it happens, and what was
    written until then can be read."""
    launch = modern_launch
    small = launch.folder / "small"
    small.mkdir()
    keep = 'mount -t tmpfs -o size=32k none "$0" && "$@"; code=$?; cp "$0"/* . ; exit $code'
    mounted = ["unshare", "--mount", "sh", "-c", keep, small]
    if launch.run([*mounted, "true"]).returncode:
        pytest.skip("no small file system can be mounted")
    launch.program("grammar.py")
    code = "import runpy, sys; sys.argv[1:] = ['2']; runpy.run_path('grammar.py', run_name='__main__'); "
    code += "sys.stderr.write('ended\\n')"
    done = record(launch, "-c", code, rate=10000, output="small/out.sonde", before=mounted)
    told, ended, kept = done.stderr.decode().splitlines()
    assert done.returncode == 2 and ended == "ended"
    assert "out.sonde: No space left on device; the program goes on" in told
    assert "is kept in" in kept and "out.sonde, which can be read" in kept
    info = launch.run([launch.sonde, "info", "--json", "out.sonde"])
    assert info.returncode == 0 and not info.stderr
    assert len(read(launch.folder / "out.sonde")["samples"]["node"]) > 100


# What a library does that follows the program's files: it takes memory in every call.
FOLLOWER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
static void take(void)
{
    void *taken[40];
    for (int i = 0; i < 40; i++)
        taken[i] = malloc(16 + 16 * (i % 8));
    for (int i = 0; i < 40; i++)
        free(taken[i]);
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int close(int fd) { take(); return REAL(close)(fd); }
ssize_t read(int fd, void *to, size_t size) { take(); return REAL(read)(fd, to, size); }
ssize_t pread(int fd, void *to, size_t size, off_t at) { take(); return REAL(pread)(fd, to, size, at); }
ssize_t pread64(int fd, void *to, size_t size, off_t at) { take(); return REAL(pread64)(fd, to, size, at); }
int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    take();
    return REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    take();
    return REAL(open64)(path, flags, mode);
}
"""


def test_a_library_that_follows_files(modern_launch):
    """ncu's, Darshan's: the sampler, which shares the program's memory, must not come by it."""
    source, library = modern_launch.folder / "follower.c", modern_launch.folder / "follower.so"
    source.write_text(FOLLOWER)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
    program = """
import threading, time
end = time.perf_counter() + 2
def born(): return [bytes(100) for _ in range(200)]
while time.perf_counter() < end:
    for thread in [threading.Thread(target=born) for _ in range(4)]:
        thread.start()
        thread.join()
print("done")
"""
    output = modern_launch.folder / "out.sonde"
    words = [modern_launch.sonde, "record", "--quiet", "-r", "5000", "-o", output, "--"]
    words += [modern_launch.python.executable, "-c", program]
    done = modern_launch.run(words, environment={"LD_PRELOAD": str(library)})
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr.decode()
    assert len(read(output)["samples"]["node"]) > 100
