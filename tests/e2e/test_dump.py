"""sonde dump on every interpreter found: stacks, variables, threads, core files, what cannot be dumped."""

import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import interpreters
import pytest

CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")


class Standing:
    """A program that stands still at a known place, and what it said of itself."""

    def __init__(self, launch, place, **options):
        self.launch = launch
        self.command = [launch.python.executable, str(launch.program("dumped.py")), place]
        self.process = launch.start(self.command, stdin=subprocess.PIPE, **options)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        self.said = json.loads(line)

    def settle(self):
        """Until all its threads sleep."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        for _ in range(3000):
            states = [(task / "status").read_text() for task in tasks.iterdir()]
            if all(re.search(r"State:\s+[ST]", state) for state in states):
                return
            time.sleep(0.01)

    def dump(self, *options):
        command = [self.launch.sonde, "dump", "-p", str(self.process.pid), *options]
        result = subprocess.run(command, capture_output=True, timeout=60)
        assert result.returncode == 0, result.stderr.decode()
        return result.stdout.decode()

    def threads(self, *options):
        return json.loads(self.dump("-j", *options))

    def end(self):
        """Lets it go on; it must end well."""
        self.process.stdin.close()
        assert self.process.wait(30) == 0, self.process.stderr.read().decode()


@pytest.fixture
def standing(launch):
    started = []

    def start(place, **options):
        started.append(Standing(launch, place, **options))
        return started[-1]

    yield start
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def same_stack(frames, said):
    """The frames below the one that waits are those that the program saw; only it has moved on."""
    names = [frame["name"] for frame in frames]
    assert names[:2] == ["wait", "hold_still"]
    assert [[frame["name"], frame["filename"], frame["line"]] for frame in frames[2:]] == said


def shown(frame):
    return {variable["name"]: variable["repr"] for variable in frame["locals"]}


@pytest.mark.parametrize("place", ["plain", "generated", "awaited"])
def test_stack_and_variables_are_those_of_python(standing, place):
    program = standing(place)
    program.settle()
    (thread,) = program.threads("-l")
    same_stack(thread["frames"], program.said["stack"])
    assert shown(thread["frames"][2]) == program.said["variables"]
    assert thread["os_thread_id"] == program.process.pid == thread["pid"]
    assert thread["state"] == "idle" and not thread["owns_gil"] and not thread["active"]
    assert thread["thread_name"] == "MainThread"
    assert "\n    wait (" in program.dump()
    program.end()


def test_attributes_with_two_letters(standing):
    program = standing("plain")
    program.settle()
    (thread,) = program.threads("-l", "-l")
    name, address = program.said["details"]
    text = shown(thread["frames"][2])["thing"]
    assert text == f"<__main__.{name} object at {address} size=3 label='a thing'>"
    arguments = [variable["name"] for variable in thread["frames"][2]["locals"] if variable["arg"]]
    assert sorted(arguments) == ["only", "others", "positional", "rest", "second"]
    program.end()


def test_text(standing):
    program = standing("plain")
    program.settle()
    text = program.dump("--locals")
    head = re.escape(" ".join(program.command))
    version = re.escape(str(program.launch.python).split()[0].rstrip("t"))
    process = program.process.pid
    assert re.match(rf"Process {process}: {head}\nPython {version} \(/.*\)\nGIL: held by nobody\n", text)
    assert f'\nThread {program.process.pid} (idle): "MainThread"\n    wait (' in text
    assert "\n        Arguments:\n            positional: 'x'\n" in text
    assert "\n        Locals:\n            truth: True\n            nothing: None\n" in text
    program.end()


def test_a_deadlock_is_seen(standing):
    program = standing("deadlocked")
    program.settle()
    rows = {thread["thread_name"]: thread for thread in program.threads("-l")}
    assert {name: row["thread_id"] for name, row in rows.items()} == program.said["threads"]
    one, two = (shown(rows[name]["frames"][0]) for name in ("one", "two"))
    assert one["own"] == two["other"] and one["own"].startswith("<locked _thread.lock ")
    owner = rows["two"]["thread_id"]
    assert one["other"] == two["own"] and f"<locked _thread.RLock object owner={owner} count=1" in two["own"]
    assert {row["state"] for row in rows.values()} == {"idle"}
    program.end()


def test_who_holds_the_gil_and_who_waits(standing):
    program = standing("busy")
    holders, waiting, told = [], [], ""
    held_by, waited_for = (
        re.compile(rf"^GIL: {what} by thread \d+ \"Thread-", re.MULTILINE)
        for what in ("held", "waited for")
    )
    for _ in range(500):  # at an instant between two holders there is none
        _, *threads = program.threads()
        assert len(threads) == 3 and all(thread["frames"] for thread in threads), threads
        holders += [thread for thread in threads if thread["owns_gil"]]
        waiting += [thread for thread in threads if thread["state"] == "waiting for the GIL"]
        told += program.dump()
        if holders and waiting and held_by.search(told) and waited_for.search(told):
            break
    assert all("spin" in thread["frames"][0]["name"] for thread in holders + waiting) and holders and waiting
    assert all(thread["state"] == "active" for thread in holders)
    assert held_by.search(told) and waited_for.search(told), told
    program.end()


def check_tasks(threads, said):
    """The tasks are those of Python: names, awaiters, and where they wait."""
    (thread,) = threads
    names = {task["id"]: task["name"] for task in thread["tasks"]}
    found = {}
    for task in thread["tasks"]:
        frames = [[frame["name"], frame["filename"], frame["line"]] for frame in task["frames"]]
        awaiters = sorted(names[awaiter] for awaiter in task["awaited_by"])
        found[task["name"]] = [task["running"], awaiters, frames]
    assert found == said
    assert len(found) == len(thread["tasks"]) == 9
    assert any(len(awaiters) == 2 for _, awaiters, _ in found.values())
    assert thread["tasks_left_out"] == 0


def test_tasks(standing, launch, python):
    if python.numbers < (3, 14):
        pytest.skip("asyncio says where its tasks are from 3.14 on")
    program = standing("tasks", preexec_fn=unlimited)
    program.settle()
    check_tasks(program.threads(), program.said["tasks"])
    check_tasks(program.threads("-n"), program.said["tasks"])
    text = program.dump()
    assert "    Tasks of its event loop: 9\n        Task-1\n            TaskGroup._aexit (" in text
    assert "\n        below a generator, awaited by Task-2\n            sleep (" in text
    core = make_core(program)
    check_tasks(json.loads(dump_core(launch, core, "-j").stdout), program.said["tasks"])


def test_threads_without_tasks(standing):
    program = standing("awaited")
    assert [len(thread["tasks"]) for thread in program.threads()] in ([0], [1])
    program.end()


def test_stopped_processes(standing):
    program = standing("plain")
    program.settle()
    program.process.send_signal(signal.SIGSTOP)
    for _ in range(500):
        if "(stopped)" in program.dump().split("\n")[0]:
            break
    (thread,) = program.threads("-l")
    same_stack(thread["frames"], program.said["stack"])
    assert thread["process_info"]["stopped"]
    program.process.send_signal(signal.SIGCONT)
    program.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a namespace")
def test_processes_that_number_themselves_differently(modern_launch):
    inside = ["unshare", "--pid", "--fork", "--mount-proc", modern_launch.python.executable]
    program = modern_launch.program("dumped.py")
    if modern_launch.run([*inside, "-c", ""]).returncode:
        pytest.skip("no namespace can be made here: in a chroot /proc cannot be mounted for it")
    with modern_launch.start([*inside, program, "deadlocked"], stdin=subprocess.PIPE) as outer:
        said = json.loads(outer.stdout.readline())
        (pid,) = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        result = modern_launch.run([modern_launch.sonde, "dump", "-j", "-p", pid])
        outer.stdin.close()
        assert outer.wait(30) == 0 and said["pid"] == 1
    threads = json.loads(result.stdout)
    assert {thread["thread_name"]: thread["thread_id"] for thread in threads} == said["threads"]
    assert threads[0]["os_thread_id"] == int(pid)
    assert all(thread["frames"] for thread in threads)


def test_a_process_that_hangs_in_native_code(standing):
    program = standing("native")
    for _ in range(500):
        text = program.dump()
        if "idle+gil" in text:
            break
        time.sleep(0.01)
    assert re.search(r"GIL: held by thread \d+ .*, which sleeps without letting go of it\n", text)
    assert "    native (" in text


def python_frames(frames):
    return [frame for frame in frames if not frame["native"]]


def check_native(frames, said):
    same_stack(python_frames(frames), said)
    inner = frames[: [frame["name"] for frame in frames].index("wait")]
    assert all(frame["native"] for frame in inner) and inner[0]["module"].startswith("libc")
    assert any("read" in frame["name"] for frame in inner), inner


def skip_where_files_have_other_names(launch):
    """From a chroot, the files of a process in another root with mounts of its own have names of neither."""
    if launch.python.root and not interpreters.root_is_mounted():
        pytest.skip("in a chroot the files of a process in another root cannot be found")


def test_native_frames(standing, launch):
    skip_where_files_have_other_names(launch)
    program = standing("plain")
    program.settle()
    (thread,) = program.threads("-n", "-l")
    check_native(thread["frames"], program.said["stack"])
    assert shown(python_frames(thread["frames"])[2]) == program.said["variables"]
    text = program.dump("--native")
    assert re.search(r": \"MainThread\"\n(    .*\n)*    \S*read\S* \(.*\)\n(    .*\n)*    wait \(", text)
    program.end()


def test_threads_that_run_no_python(standing, launch):
    skip_where_files_have_other_names(launch)
    program = standing("foreign")
    assert len(program.threads()) == 1
    python, foreign = program.threads("-n")
    assert python["thread_name"] == "MainThread" and foreign["os_thread_id"] != python["os_thread_id"]
    assert not foreign["problem"] and not python_frames(foreign["frames"])
    assert any("sleep" in frame["name"] for frame in foreign["frames"])
    program.end()


# ---- core files ----


def make_core(program):
    """Ends the program with a core file in its folder."""
    if CORE_PATTERN.read_text().strip() not in ("core", "core.%p"):
        pytest.skip(f"this machine does not leave core files beside programs ({CORE_PATTERN})")
    program.process.send_signal(signal.SIGABRT)
    program.process.wait(60)
    found = list(program.launch.folder.glob("core*"))
    if not found:
        pytest.skip("no core file was left (a limit of this machine)")
    return found[0]


def unlimited():
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError:
        limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


def dump_core(launch, core, *options):
    command = [launch.sonde, "dump", "--core", core, *options]
    if launch.python.root:
        command += ["--search-dir", launch.python.root]
    return subprocess.run(command, capture_output=True, timeout=60)


def test_core_files(standing, launch):
    program = standing("plain", preexec_fn=unlimited)
    program.settle()
    core = make_core(program)
    result = dump_core(launch, core, "-j", "-l")
    assert result.returncode == 0, result.stderr.decode()
    (thread,) = json.loads(result.stdout)
    same_stack(thread["frames"], program.said["stack"])
    assert shown(thread["frames"][2]) == program.said["variables"]
    assert thread["died"] and thread["process_info"]["signal"] == signal.SIGABRT
    assert thread["pid"] == program.process.pid
    (thread,) = json.loads(dump_core(launch, core, "-j", "-n").stdout)
    check_native(thread["frames"], program.said["stack"])
    text = dump_core(launch, core).stdout.decode()
    assert f"Core file {core}, died of signal 6 (Aborted)\n" in text
    cut_short(launch, core)


def cut_short(launch, core):
    """What is not there cannot be shown, but nothing worse happens."""
    whole = core.read_bytes()
    for size in (0, 63, 700, 5000, len(whole) // 4, len(whole) - 4096):
        core.write_bytes(whole[:size])
        result = dump_core(launch, core, "-l")
        assert result.returncode in (0, 2), (size, result.stderr.decode())
        if result.returncode:
            assert str(core) in result.stderr.decode()
    core.unlink()


# ---- what cannot be dumped ----


def refused(launch, *arguments):
    result = launch.run([launch.sonde, "dump", *map(str, arguments)])
    assert result.returncode == 2 and not result.stdout, result
    return result.stderr.decode()


def test_mistakes(modern_launch, tmp_path):
    assert "name a process with -p PID" in refused(modern_launch)
    for pid in ("-3", "0", "99999999999"):
        assert f"-p (--pid) must be the number of a process, which {pid} is" in refused(
            modern_launch, "-p", pid
        )
    assert "--subprocesses is for --pid" in refused(modern_launch, "-s", "--core", "x")
    assert "exclude each other" in refused(modern_launch, "-p", 1, "--core", "x")
    assert "one word too many" in refused(modern_launch, 1234)
    assert "no_such_core" in refused(modern_launch, "--core", "no_such_core")
    empty = tmp_path / "empty"
    empty.touch()
    assert "empty: it is no core file" in refused(modern_launch, "--core", empty)
    assert "it is no core file" in refused(modern_launch, "--core", modern_launch.sonde)
    assert "it is no core file" in refused(modern_launch, "--core", tmp_path)


def test_no_such_process(modern_launch):
    with modern_launch.start(["true"]) as ended:
        ended.wait()
    assert str(ended.pid) in refused(modern_launch, "-p", ended.pid)


def test_other_programs(modern_launch):
    with modern_launch.start(["sleep", "1000"], preexec_fn=unlimited) as sleeping:
        try:
            message = refused(modern_launch, "-p", sleeping.pid)
            assert f"process {sleeping.pid}: it is no Python program" in message
            sleeping.send_signal(signal.SIGABRT)
            sleeping.wait(60)
        finally:
            sleeping.kill()
    for core in modern_launch.folder.glob("core*"):
        assert "no Python" in refused(modern_launch, "--core", core)


def test_older_pythons_are_refused(modern_launch):
    import interpreters

    older = interpreters.oldest_unsupported()
    if not older:
        pytest.skip("no older Python was found")
    with modern_launch.start([older, "-c", "import time; print(1, flush=True); time.sleep(1000)"]) as program:
        try:
            program.stdout.readline()
            message = refused(modern_launch, "-p", program.pid)
            assert re.search(r"Python 3\.\d cannot be read by sonde", message)
        finally:
            program.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_without_the_right(modern_launch):
    other = ["setpriv", "--reuid=65534", "--clear-groups"]
    command = [*other, modern_launch.sonde, "dump", "-p", str(os.getpid())]
    result = subprocess.run(command, capture_output=True)
    assert result.returncode == 2
    assert b"sudo" in result.stderr or b"setpriv" in result.stderr


def test_deep_stacks_say_what_is_left_out(modern_launch):
    code = (
        "import sys\nsys.setrecursionlimit(10**5)\ndef f(n):\n    if n: return f(n - 1)\n"
        "    print('there', flush=True)\n    sys.stdin.read()\nf(9998)"
    )
    launch = modern_launch
    process = launch.start([launch.python.executable, "-c", code], stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"there\n"
    command = [launch.sonde, "dump", "-p", str(process.pid)]
    (thread,) = json.loads(subprocess.run([*command, "-j"], capture_output=True).stdout)
    assert len(thread["frames"]) + thread["frames_left_out"] == 10000
    text = subprocess.run(command, capture_output=True, text=True).stdout
    assert text.endswith(f"    ... and {thread['frames_left_out']} more\n")
    process.communicate()


def test_the_main_thread_without_threading(launch):
    """Python calls it so when it imports threading, which many programs never do."""
    code = "import sys; assert 'threading' not in sys.modules; print(1, flush=True); sys.stdin.read()"
    with launch.start([launch.python.executable, "-S", "-c", code], stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        command = [launch.sonde, "dump", "-j", "-p", str(process.pid)]
        (thread,) = json.loads(subprocess.run(command, capture_output=True).stdout)
        process.communicate()
    assert thread["thread_name"] == "MainThread"


def test_thousands_of_threads(modern_launch):
    """None is left out, however many there are."""
    code = (
        "import sys, threading\nthreading.stack_size(65536)\nstop = threading.Event()\n"
        "for _ in range(4200): threading.Thread(target=stop.wait, daemon=True).start()\n"
        "print('there', flush=True)\nsys.stdin.read()\n"
    )
    launch = modern_launch
    with launch.start([launch.python.executable, "-c", code], stdin=subprocess.PIPE) as process:
        if process.stdout.readline() != b"there\n":
            pytest.skip("this machine allows too few threads")
        command = [launch.sonde, "dump", "-j", "-p", str(process.pid)]
        threads = json.loads(subprocess.run(command, capture_output=True, timeout=120).stdout)
        process.kill()
    assert len(threads) == 4201
    assert len({thread["os_thread_id"] for thread in threads}) == 4201
    assert all("wait" in thread["frames"][0]["name"] for thread in threads[1:])


# ---- the processes below ----

FAMILY = """
import os, subprocess, sys
def child(): print("child", os.getpid(), flush=True); sys.stdin.read()
def parent(): print("parent", os.getpid(), flush=True); sys.stdin.read()
if sys.argv[1:] == ["child"]:
    child()
else:
    # A shell stands between the two; another program is no Python.
    subprocess.Popen(["sh", "-c", sys.executable + " " + sys.argv[0] + " child; true"])
    subprocess.Popen(["sleep", "60"])
    parent()
"""


@contextlib.contextmanager
def family(launch, *before):
    """A Python below a shell below a Python: the process that was started, and the pids of the two."""
    program = launch.write("family.py", FAMILY)
    command = [*before, launch.python.executable, program]
    with launch.start(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process, dict(process.stdout.readline().decode().split() for _ in range(2))
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def dumped(launch, pid, *options):
    result = subprocess.run([launch.sonde, "dump", "-p", str(pid), *options], capture_output=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode()


def test_the_processes_below(launch):
    with family(launch) as (process, pids):
        text = dumped(launch, process.pid, "--subprocesses")
        threads = json.loads(dumped(launch, process.pid, "-s", "-j"))
        alone = json.loads(dumped(launch, process.pid, "-j"))
    assert re.findall(r"^Process (\d+): ", text, re.MULTILINE) == [pids["parent"], pids["child"]]
    found = {str(thread["pid"]): [frame["name"] for frame in thread["frames"]] for thread in threads}
    assert list(found) == [pids["parent"], pids["child"]]
    assert "parent" in found[pids["parent"]] and "child" in found[pids["child"]]
    assert {thread["pid"] for thread in alone} == {process.pid}
    assert alone[0]["process_info"]["ppid"] == os.getpid()


def test_the_processes_below_another_program(modern_launch):
    """mpirun, a shell: it is no Python itself, but what it has started is."""
    launch = modern_launch
    with family(launch, "sh", "-c", '"$@"; true', "sh") as (process, pids):
        text = dumped(launch, process.pid, "-s")
    assert re.findall(r"^Process (\d+): ", text, re.MULTILINE) == [pids["parent"], pids["child"]]
    with modern_launch.start(["sh", "-c", "sleep 60; true"], start_new_session=True) as shell:
        time.sleep(0.1)
        assert f"process {shell.pid}: it is no Python program" in refused(launch, "-s", "-p", shell.pid)
        os.killpg(shell.pid, signal.SIGKILL)


EARLY = """
#include <unistd.h>
__attribute__((constructor)) static void wait(void)
{
    char byte;
    if (write(1, "early\\n", 6) == 6 && read(0, &byte, 1) == 1)
        return;
}
"""


def test_a_process_that_is_just_starting(launch):
    """Its interpreter is loaded and has not begun: its version is not written yet, its types are not made."""
    if launch.python.root:
        pytest.skip("what this compiler makes does not run in another root")
    launch.write("early.c", EARLY)
    if launch.run(["cc", "-shared", "-fPIC", "-o", "early.so", "early.c"]).returncode:
        pytest.skip("no compiler")
    command = [launch.python.executable, "-c", "import time\nwhile True: time.sleep(1)"]
    early = {"LD_PRELOAD": str(launch.folder / "early.so")}
    with launch.start(command, stdin=subprocess.PIPE, environment=early) as process:
        assert process.stdout.readline() == b"early\n"
        dumping = launch.start([launch.sonde, "dump", "-j", "-p", str(process.pid)])
        time.sleep(0.1)
        process.stdin.write(b"x")
        process.stdin.flush()
        out, err = dumping.communicate(timeout=60)
        process.kill()
    assert (dumping.returncode, err) == (0, b""), err
    assert {thread["thread_name"] for thread in json.loads(out)} <= {"MainThread"}
