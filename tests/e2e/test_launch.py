"""The target runs as without sonde: what it sees, what it prints, how it ends."""

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from screen import open_terminal


def same(launch, *arguments, **options):
    """Runs with and without sonde and asserts that nothing differs; gives the plain run."""
    plain = launch.plain(*arguments, **options)
    traced = launch.traced(*arguments, **options)
    assert_same(traced, plain)
    assert (launch.folder / "out.sonde").stat().st_size > 0
    return plain


def assert_same(traced, plain):
    """Byte for byte; what is shown on failure is the lines that differ."""
    for ours, theirs in ((traced.stdout, plain.stdout), (traced.stderr, plain.stderr)):
        pairs = itertools.zip_longest(ours.splitlines(), theirs.splitlines())
        assert [pair for pair in pairs if pair[0] != pair[1]] == []
        assert ours == theirs
    assert traced.returncode == plain.returncode


def same_command(launch, plain_command, traced_command, **options):
    plain = launch.run(plain_command, **options)
    assert_same(launch.run(traced_command, **options), plain)
    return plain


FORMS = {
    "script": ["probe.py", "one", "--two", "-o", "x"],
    "options": ["-O", "-X", "dev", "-W", "error", "probe.py", "x"],
    "isolated": ["-I", "probe.py"],
    "no-environment": ["-E", "probe.py"],
    "no-site": ["-S", "probe.py"],
    "unbuffered": ["-u", "-B", "-q", "probe.py"],
    "module": ["-m", "package.tool", "a", "b"],
    "package": ["-m", "package"],
    "code": ["-c", "import sys; sys.argv.append('x'); exec(open('probe.py').read())", "arg"],
    "folder": ["folder", "arg"],
    "zip": ["app.zip", "arg"],
    "link": ["link.py", "arg"],
    "absolute": ["{folder}/sub/deep.py"],
}


def lay_out(launch):
    probe = pathlib.Path(launch.program("probe.py")).read_text()
    launch.write("package/__init__.py", "VALUE = 5\n")
    launch.write("package/sibling.py", "from . import VALUE\n")
    launch.write("package/tool.py", "from .sibling import VALUE\nassert VALUE == 5\n" + probe)
    launch.write("package/__main__.py", "from .sibling import VALUE\nassert VALUE == 5\n" + probe)
    launch.write("folder/__main__.py", probe)
    launch.write("sub/deep.py", probe)
    with zipfile.ZipFile(launch.folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", probe)
    (launch.folder / "link.py").symlink_to("sub/deep.py")


@pytest.mark.parametrize("form", FORMS)
def test_target_sees_the_same(launch, form):
    lay_out(launch)
    plain = same(launch, *[part.format(folder=launch.folder) for part in FORMS[form]])
    assert plain.returncode == 0
    assert b"name __main__" in plain.stdout


def test_script_from_stdin(launch):
    probe = pathlib.Path(launch.program("probe.py")).read_bytes()
    assert b"name __main__" in same(launch, "-", "arg", input=probe).stdout
    assert b"name __main__" in same(launch, input=probe).stdout


def test_environment_is_clean(launch):
    """No LD_PRELOAD or SONDE_ variable is left; the user's own LD_PRELOAD is kept."""
    lay_out(launch)
    out = launch.traced("probe.py").stdout.decode()
    names = [line.split()[1] for line in out.splitlines() if line.startswith("environment")]
    assert "PYTHONHASHSEED" in names
    assert not [name for name in names if name.startswith(("SONDE", "LD_"))]
    library = next((str(path) for path in pathlib.Path("/lib/x86_64-linux-gnu").glob("libm.so.6")), None)
    if library and not launch.python.root:
        same(launch, "-c", "import os; print(os.environ['LD_PRELOAD'])", environment={"LD_PRELOAD": library})


def has_python3(launch):
    """`sonde trace SCRIPT` takes python3 from PATH: give it ours."""
    folder = launch.folder / "bin"
    folder.mkdir()
    launch.write("bin/python3", f'#!/bin/sh\nexec {launch.python.executable} "$@"\n').chmod(0o755)
    launch.environment["PATH"] = f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize("form", ["script", "module", "code"])
def test_short_forms(launch, form):
    """sonde trace SCRIPT, -m MODULE and -c CODE are `-- python3 …`."""
    lay_out(launch)
    has_python3(launch)
    plain = same_command(launch, ["python3", *FORMS[form]], [*launch.tracer(), *FORMS[form]])
    assert plain.returncode == 0


def test_program_on_path(launch):
    """A Python program without .py, found on PATH, run by its own first line."""
    lay_out(launch)
    probe = (launch.folder / "probe.py").read_text()
    (launch.folder / "bin").mkdir()
    launch.write("bin/extract_spectra", f"#!{launch.python.executable}\n" + probe).chmod(0o755)
    launch.environment["PATH"] = f"{launch.folder}/bin:" + launch.environment["PATH"]
    same_command(launch, ["extract_spectra", "a"], [*launch.tracer(), "extract_spectra", "a"])
    same_command(launch, ["extract_spectra", "a"], [*launch.tracer(), "--", "extract_spectra", "a"])


def test_program_by_env_line(modern_launch):
    launch = modern_launch
    lay_out(launch)
    has_python3(launch)
    probe = (launch.folder / "probe.py").read_text()
    launch.write("bin/tool", "#!/usr/bin/env python3\n" + probe).chmod(0o755)
    same_command(launch, ["tool", "a"], [*launch.tracer(), "tool", "a"])


def test_default_output_name(modern_launch):
    """NAME.<run id>.sonde in the working directory, never overwriting."""
    launch = modern_launch
    launch.write("x.py", "print(1)\n")
    for _ in range(2):
        done = launch.run([launch.sonde, "trace", "--", launch.python.executable, "x.py"])
        assert done.returncode == 0
    names = sorted(path.name for path in launch.folder.glob("*.sonde"))
    assert len(names) == 2
    assert all(name.startswith("x.") and len(name.split(".")) == 3 for name in names), names


def test_nothing_is_said_when_nobody_looks(modern_launch):
    """Notes and hints go to a terminal only; a program's captured standard error is its own."""
    launch = modern_launch
    done = launch.run(
        [launch.sonde, "trace", "-o", "x.sonde", "--", launch.python.executable, "-c", "print(1)"]
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"1\n", b"", 0)


def test_pickle_of_main_classes(launch):
    launch.write(
        "x.py",
        """
        import pickle
        class Thing:
            pass
        data = pickle.dumps(Thing())
        assert b'__main__' in data
        print(type(pickle.loads(data)))
        """,
    )
    assert b"__main__.Thing" in same(launch, "x.py").stdout


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(launch, method):
    launch.write(
        "x.py",
        f"""
        import multiprocessing as m, os, sys
        class Thing:
            def __init__(self, n):
                self.n = n
        def work(thing):
            return thing.n * 2, sorted(os.environ), sys.argv, __name__
        if __name__ == '__main__':
            with m.get_context('{method}').Pool(2) as pool:
                print(pool.map(work, [Thing(n) for n in range(5)]))
                pool.close()
                pool.join()
        """,
    )
    assert b"8, [" in same(launch, "x.py", "arg").stdout


ENDS = {
    "zero": ("print('x')", 0),
    "three": ("import sys; sys.exit(3)", 3),
    "text": ("import sys; sys.exit('some text')", 1),
    "uncaught": ("def f():\n    return 1 / 0\nf()", 1),
    "syntax": ("def f(:\n", 1),
    "large": ("import sys; sys.exit(300)", 300 - 256),
    "hard": ("import os; os._exit(9)", 9),
    "term": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "segv": ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
    "abort": ("import os; os.abort()", -signal.SIGABRT),
    "interrupt": (
        "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)",
        -signal.SIGINT,
    ),
    "pipe": (
        "import signal, os; signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), 13)",
        -signal.SIGPIPE,
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_ends(launch, end):
    """The exit code, or the signal that killed the target, is sonde's own."""
    code, expected = ENDS[end]
    launch.write("x.py", code + "\n")
    if end == "segv" and launch.plain("-c", "import ctypes").returncode:
        pytest.skip("this Python has no ctypes")
    assert same(launch, "x.py").returncode == expected


def test_shell_sees_the_signal(modern_launch):
    launch = modern_launch
    launch.write("x.py", ENDS["term"][0])
    command = [*launch.tracer(), "--", launch.python.executable, "x.py"]
    script = '"$@"; echo $?'
    done = launch.run(["sh", "-c", script, "sh", *command])
    assert done.stdout == b"143\n"


def on_terminal(launch, command):
    """The command as the foreground job of a new pseudo terminal: (process, the terminal's other end)."""
    master, slave = open_terminal()
    setup = "import os, sys, fcntl, termios as t; fcntl.ioctl(0, t.TIOCSCTTY, 0); "
    setup += "os.execvp(sys.argv[1], sys.argv[1:])"
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    entered = launch.python.enter(command, launch.folder)
    process = subprocess.Popen(
        [sys.executable, "-c", setup, *entered],
        cwd=launch.folder,
        env=launch.environment,
        start_new_session=True,
        **streams,
    )
    os.close(slave)
    return process, master


def read_until(master, text):
    seen = b""
    while text not in seen:
        seen += os.read(master, 4096)
    return seen


def test_interrupt_from_the_terminal(launch):
    """Ctrl-C reaches both; the target gets it once, raises KeyboardInterrupt and ends as it likes."""
    launch.write(
        "x.py",
        """
        import time
        try:
            print('ready', flush=True)
            for turn in range(600):  # a signal just before a sleep is noticed only after it
                time.sleep(0.1)
        except KeyboardInterrupt:
            print('interrupted', flush=True)
            time.sleep(0.3)
            raise SystemExit(5)
        """,
    )
    process, master = on_terminal(launch, [*launch.tracer(), "--", launch.python.executable, "x.py"])
    try:
        read_until(master, b"ready")
        os.write(master, b"\x03")
        read_until(master, b"interrupted")
        assert process.wait(timeout=30) == 5
    finally:
        os.close(master)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_signals_to_sonde_reach_the_target(modern_launch, number):
    """A batch system signals the process that it started: sonde."""
    launch = modern_launch
    launch.write(
        "x.py",
        f"""
        import signal, sys, time
        signal.signal({int(number)}, lambda *a: (print('got it'), sys.exit(6)))
        print('ready', flush=True)
        time.sleep(60)
        """,
    )
    command = [*launch.tracer(), "--", launch.python.executable, "x.py"]
    with launch.start(command) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == (b"got it\n", b"", 6)
    assert (launch.folder / "out.sonde").stat().st_size > 0


def test_stdin_passes_through(launch):
    text = b"line\n" * 10000
    code = "import sys; data = sys.stdin.read(); print(len(data)); sys.stderr.write('e' * 70000)"
    assert same(launch, "-c", code, input=text).stdout == b"50000\n"


def test_output_that_is_closed_early(modern_launch):
    """`sonde trace … | head -1` ends as without sonde."""
    launch = modern_launch
    code = "for i in range(100000): print(i)"
    command = [*launch.tracer(), "--", launch.python.executable, "-c", code]
    done = launch.run(["sh", "-c", '"$@" | head -1', "sh", *command])
    plain = launch.run(["sh", "-c", '"$@" | head -1', "sh", launch.python.executable, "-c", code])
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
    assert done.stderr == plain.stderr


def test_children_that_are_not_python(launch):
    code = (
        "import subprocess; print(subprocess.run(['sh', '-c', 'echo hello; env | sort; exit 4'], "
        "capture_output=True))"
    )
    out = same(launch, "-c", code).stdout
    assert b"hello" in out and b"returncode=4" in out


def test_child_pythons(launch):
    """Children started with subprocess see what they would see, also with an environment of their own."""
    launch.write("child.py", "import os, sys; print(sys.argv, sorted(os.environ))\n")
    launch.write(
        "x.py",
        """
        import subprocess, sys
        for env in (None, {'A': 'b'}, {}):
            for options in ([], ['-I'], ['-E', '-S']):
                command = [sys.executable, *options, 'child.py', 'x']
                print(subprocess.run(command, env=env, stdout=subprocess.PIPE).stdout)
        """,
    )
    same(launch, "x.py")


def test_exec_into_another_python(launch):
    launch.write(
        "next.py",
        """
        import sys, os
        print(sys.argv, sorted(os.environ))
        sys.exit(8)
        """,
    )
    code = "import os, sys; os.execv(sys.executable, [sys.executable, 'next.py', 'arg'])"
    plain = same(launch, "-c", code)
    assert plain.returncode == 8 and b"next.py" in plain.stdout
    code = "import os, sys; os.execve(sys.executable, [sys.executable, 'next.py', 'arg'], {'ONLY': '1'})"
    assert b"ONLY" in same(launch, "-c", code).stdout


def test_daemon_grandchild_does_not_hold_sonde(launch):
    """A daemon outlives the target; sonde ends with the target, and the daemon goes on undisturbed."""
    launch.write(
        "x.py",
        """
        import os, sys, time
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writer, b'!')
                null = os.open(os.devnull, os.O_RDWR)
                for number in range(3):
                    os.dup2(null, number)
                end = time.time() + 2.5
                while time.time() < end:
                    sorted(range(10), key=lambda n: -n)
                open('daemon-done', 'w').close()
            os._exit(0)
        os.wait()
        os.read(reader, 1)
        print('parent done')
        """,
    )
    done = launch.traced("x.py", timeout=20)
    assert (done.stdout, done.returncode) == (b"parent done\n", 0)
    assert b"still run" in done.stderr
    assert not (launch.folder / "daemon-done").exists(), "sonde waited for the daemon"
    deadline = time.monotonic() + 20
    while not (launch.folder / "daemon-done").exists():
        assert time.monotonic() < deadline, "the daemon died"
        time.sleep(0.05)


def test_virtual_environment(launch):
    """sys.prefix, site-packages and the executable are the virtual environment's."""
    made = launch.plain("-m", "venv", "--without-pip", "venv")
    if made.returncode:
        pytest.skip("this Python makes no virtual environments: " + made.stderr.decode().strip())
    lay_out(launch)
    launch.write("venv/lib/python{}.{}/site-packages/only_here.py".format(*launch.python.numbers), "X = 1\n")
    probe = (launch.folder / "probe.py").read_text()
    launch.write("x.py", "import only_here\n" + probe)
    inside = launch.folder / "venv" / "bin" / "python"
    same_command(launch, [inside, "x.py"], [*launch.tracer(), "--", inside, "x.py"])


def test_output_of_warnings_at_fork(launch):
    """3.12 and later warn when a process with threads forks: sonde adds none."""
    code = "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)"
    assert same(launch, "-W", "error", "-c", code).returncode == 0


def test_other_tools_in_the_target(launch):
    """The program's own use of cProfile, sys.setprofile, sys.settrace and monitoring works beside sonde."""
    launch.write(
        "x.py",
        """
        import cProfile, pstats, sys, threading
        def leaf():
            return 1
        def work():
            return sum(leaf() for _ in range(10))
        profile = cProfile.Profile()
        profile.runcall(work)
        rows = pstats.Stats(profile).stats
        print(sorted((k[2], v[:2]) for k, v in rows.items() if k[0] == __file__))
        events = []
        def hook(frame, event, arg):
            # sonde's events at the call of setprofile make it report that call's own end, in the module body
            if frame.f_code.co_filename == __file__ and frame.f_code.co_name != "<module>":
                events.append((event, frame.f_code.co_name))
            return hook
        sys.settrace(hook)
        work()
        sys.settrace(None)
        print(len(events))
        events.clear()
        sys.setprofile(lambda f, e, a: hook(f, e, a) and None)
        work()
        sys.setprofile(None)
        print(len(events), sys.getprofile())
        if hasattr(sys, 'monitoring'):
            m = sys.monitoring
            starts = []
            m.use_tool_id(m.PROFILER_ID, 'mine')
            m.register_callback(m.PROFILER_ID, m.events.PY_START, lambda c, at: starts.append(c.co_name))
            m.set_events(m.PROFILER_ID, m.events.PY_START)
            work()
            m.set_events(m.PROFILER_ID, 0)
            m.free_tool_id(m.PROFILER_ID)
            print(starts)
        """,
    )
    plain = launch.plain("x.py")
    traced = launch.traced("x.py")
    assert traced.stdout.decode() == plain.stdout.decode()
    assert traced.returncode == plain.returncode == 0


def test_terminal_stays_a_terminal(launch):
    code = "import os; print([os.isatty(n) for n in range(3)], os.tcgetpgrp(0) == os.getpgrp())"
    process, master = on_terminal(launch, [*launch.tracer(), "--", launch.python.executable, "-c", code])
    try:
        read_until(master, b"[True, True, True] True")
        assert process.wait(timeout=30) == 0
    finally:
        os.close(master)


def test_stdin_reading_in_child_of_pipe(modern_launch):
    """cat file | sonde trace -- python reads it line by line."""
    launch = modern_launch
    command = [
        *launch.tracer(),
        "--",
        launch.python.executable,
        "-c",
        "for line in open(0): print(line, end='')",
    ]
    process = launch.start(command, stdin=subprocess.PIPE)
    out, err = process.communicate(b"a\nb\n", timeout=30)
    assert (out, err, process.returncode) == (b"a\nb\n", b"", 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["group", "sonde"])
def test_a_signal_comes_once(modern_launch, send, number):
    """Sent to the whole group (scancel, a batch system) or to sonde alone, the program gets it just once."""
    launch = modern_launch
    launch.write(
        "x.py",
        f"""
        import signal, time
        seen = []
        signal.signal({int(number)}, lambda *_: seen.append(1))
        print("ready", flush=True)
        while not seen:
            time.sleep(0.01)
        time.sleep(0.3)
        print(len(seen))
        """,
    )
    command = [*launch.tracer(), "--", launch.python.executable, "x.py"]
    process = launch.start(command, start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    send(process.pid, number)
    out, _ = process.communicate(timeout=20)
    assert (out, process.returncode) == (b"1\n", 0)
