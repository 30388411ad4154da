"""Rare conditions: the target runs as without sonde, and the recorder outlives what becomes of it."""

import os
import re
import signal
import stat
import time

import pytest

SIGNALS = "print([line for line in open('/proc/self/status') if line.startswith('SigIgn')])"


def test_ignored_sigchld(modern_launch):
    """A parent that ignores SIGCHLD passes that on: the target's end must be heard of all the same."""
    launch = modern_launch

    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    plain = launch.plain("-c", SIGNALS, preexec_fn=ignore)
    traced = launch.traced("-c", SIGNALS, preexec_fn=ignore)
    assert (traced.returncode, traced.stdout) == (0, plain.stdout)


SHELLS = """
import os, threading, time

def wait(name):
    os.system(f"while [ ! -e {name} ]; do sleep 0.05; done")

def start(name):
    thread = threading.Thread(target=wait, args=(name,))
    thread.start()
    while not os.popen(f"pgrep -P {os.getpid()} -f 'e {name}'").read():
        time.sleep(0.02)
    return thread

first, second = start("one"), start("two")
for name, thread in (("one", first), ("two", second)):
    open(name, "w").close()
    thread.join()
"""


def test_shells_of_two_threads(modern_launch):
    """system(3) ignores SIGINT while a shell runs; two at a time must not leave it ignored."""
    launch = modern_launch
    launch.write("shells.py", SHELLS + SIGNALS + "\n")
    traced = launch.traced("shells.py")
    (launch.folder / "one").unlink()
    (launch.folder / "two").unlink()
    plain = launch.plain("shells.py")
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout)
    assert traced.returncode == 0, traced.stderr


@pytest.mark.parametrize("error", ["ValueError(1)", "SystemExit(3)"])
def test_exception_ends_a_plain_thread(launch, error):
    program = f"""
        import _thread, time
        def work():
            done.append(1)
            raise {error}
        done = []
        _thread.start_new_thread(work, ())
        while not done or _thread._count():
            time.sleep(0.01)
        """
    launch.write("raising.py", program)
    said = [re.sub(rb"0x[0-9a-f]+", b"0x", run("raising.py").stderr) for run in (launch.plain, launch.traced)]
    assert said[0] == said[1]


@pytest.mark.parametrize("form", ["-", "/dev/stdin"])
def test_script_on_standard_input(modern_launch, form):
    launch = modern_launch
    traced = launch.run([*launch.tracer(), form, "a"], input=b"import sys; print(sys.argv, __name__)")
    assert (traced.returncode, traced.stderr) == (0, b"")
    assert traced.stdout.decode().split() == [f"['{form}',", "'a']", "__main__"]


VICTIM = """
import os, time
def work(): pass
for i in range(1000): work()
print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("start,size", [(0, 200), (16, 16), (32, 40), (128, 8192)])
def test_target_overwrites_the_shared_memory(modern_launch, start, size):
    """What a program writes into the call tree by mistake costs its own numbers, never the recorder."""
    launch = modern_launch
    launch.write("victim.py", VICTIM)
    command = [*launch.tracer(), "--", launch.python.executable, "victim.py"]
    with launch.start(command) as process:
        target = int(process.stdout.readline())
        output = launch.folder / "out.sonde"
        while not output.exists() or output.stat().st_size < 200:
            time.sleep(0.01)  # what is overwritten before the first checkpoint was never a recording
        try:
            overwrite(target, start, b"\xff" * size)
        finally:
            os.kill(target, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    assert launch.run([launch.sonde, "info", "out.sonde"]).returncode == 0


def overwrite(pid, start, data):
    with open(f"/proc/{pid}/maps") as maps:
        base = next(int(line.split("-")[0], 16) for line in maps if "memfd:sonde" in line)
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    except PermissionError:
        pytest.skip("the memory of another process cannot be written here")
    os.pwrite(memory, data, base + start)
    os.close(memory)


def test_bad_expression(modern_launch):
    launch = modern_launch
    for option in ("--include", "--exclude"):
        done = launch.run([*launch.tracer(trace=[option, "["]), "-c", "print(1)"])
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"'['" in done.stderr
    assert not (launch.folder / "out.sonde").exists()


def test_half_written_files_are_no_recordings(modern_launch):
    launch = modern_launch
    assert launch.traced("-c", "pass").returncode == 0
    (launch.folder / "merged.sonde.17.tmp").write_bytes((launch.folder / "out.sonde").read_bytes())
    done = launch.run([launch.sonde, "list"])
    assert b"out.sonde" in done.stdout and b".tmp" not in done.stdout


def test_nothing_is_imported_for_the_program(launch):
    program = ["-I", "-S", "-c", "import sys; print(sorted(sys.modules))"]
    assert launch.traced(*program).stdout == launch.plain(*program).stdout


NESTED = """
import json, sonde

def work():
    for i in range(10):
        json.dumps({"a": i})

work()
profile = sonde.Profile()
profile.runcall(work)
profile.create_stats()
print(sorted((key[2], row[0]) for key, row in profile.stats.items() if key[2] in ("work", "dumps", "encode")))
"""


@pytest.mark.parametrize("trace", [["--exclude-library"], ["--exclude", "work"]], ids=" ".join)
def test_a_profile_inside_sees_what_the_recording_leaves_out(launch, trace):
    launch.write("nested.py", NESTED)
    done = launch.traced("nested.py", trace=trace)
    assert done.stdout == b"[('dumps', 10), ('encode', 10), ('work', 1)]\n", done.stderr


def make_device(path, minor):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        path.open("wb").close()
    except OSError:
        pytest.skip("no device can be made here")


def test_devices_are_not_removed(modern_launch):
    launch = modern_launch
    null, full = launch.folder / "null", launch.folder / "full"
    make_device(null, 3)
    make_device(full, 7)
    done = launch.run([*launch.tracer("null"), "-c", "print(1)"])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")
    done = launch.run([*launch.tracer("full"), "-c", "print(1)"])
    assert done.returncode == 2 and b"full" in done.stderr
    assert launch.run([*launch.tracer("null"), "--", "/bin/true"]).returncode == 0
    assert null.is_char_device() and full.is_char_device()


def test_a_mistyped_command_costs_no_recording(modern_launch):
    launch = modern_launch
    assert launch.traced("-c", "pass").returncode == 0
    before = (launch.folder / "out.sonde").read_bytes()
    for command in ("pyhton", "./pyhton", "/etc/passwd", ""):
        done = launch.run([*launch.tracer(), "--", command, "x.py"])
        assert done.returncode == 2 and b"cannot run " + command.encode() in done.stderr
    assert (launch.folder / "out.sonde").read_bytes() == before


LISTS = {
    "execl": 'execl("/bin/sh", "sh", "-c", "exec $PYTHON -c pass", (char *)0)',
    "execlp": 'execlp("sh", "sh", "-c", "exec $PYTHON -c pass", (char *)0)',
    "execle": 'execle("/bin/sh", "sh", "-c", "exec $PYTHON -c pass", (char *)0, environ)',
}


@pytest.mark.parametrize("function", LISTS)
def test_programs_started_with_a_list_of_arguments(modern_launch, function):
    launch = modern_launch
    launch.write(
        "start.c",
        f"#define _GNU_SOURCE\n#include <unistd.h>\nint main(void) {{ return {LISTS[function]}; }}\n",
    )
    assert launch.run(["cc", "-o", "start", "start.c"]).returncode == 0
    environment = {"PYTHON": launch.python.executable}
    done = launch.run([*launch.tracer(), "--", "./start"], environment=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (launch.folder / "out.sonde").exists()


HANDLED = """
import signal, sys
number = int(sys.argv[1])
signal.signal(number, lambda *_: None)
print("ready", flush=True)
print(signal.sigtimedwait([number], 0) or signal.pause())
"""


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGPROF, signal.SIGIO, signal.SIGRTMIN + 3])
def test_signals_sent_to_sonde_reach_the_program(modern_launch, number):
    launch = modern_launch
    launch.write("handled.py", HANDLED)
    command = [*launch.tracer(), "--", launch.python.executable, "handled.py", str(int(number))]
    with launch.start(command) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(30) == 0
    assert (launch.folder / "out.sonde").exists()
