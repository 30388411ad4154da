"""`sonde top` in a terminal, and as tables of text."""

import functools
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from screen import PATIENCE, Screen

ROW = re.compile(r"^ *([\d.]+)% +([\d.]+)% +([\d.]+)s +([\d.]+)s  (.*)$")
HEADING = "  >%Own  %Total  OwnTime  TotalTime  Function (filename:line)"
TERMINALS = ["xterm-256color", "screen", "linux", "vt100", "xterm-unheard-of"]
FUNCTIONS = ("spin", "most", "some", "few", "<module>")
COLOUR = re.compile(rb"\x1b\[(?:\d+;)*3[1-6](?:;\d+)*m")
LEAVE_FULL_SCREEN = b"\x1b[?1049l"


def table(lines):
    """{label: (own %, total %, own s, total s)} of the rows of a table."""
    rows = filter(None, map(ROW.match, lines))
    return {match[5]: tuple(map(float, match.groups()[:4])) for match in rows}


def named(rows, name):
    return next((values for label, values in rows.items() if label.startswith(name + " (")), (0.0,) * 4)


def top(launch, *words, options=()):
    return [launch.sonde, "top", *options, "--", launch.python.executable, *words]


def shares(launch, seconds="600"):
    launch.program("shares.py")
    return "shares.py", seconds, "1"


@pytest.fixture
def watched(modern_launch):
    """shares.py on a screen, once it has a table."""
    command = top(modern_launch, *shares(modern_launch), options=["--delay", "0.2"])
    with Screen(modern_launch, command) as screen:
        screen.wait_for(lambda screen: all(named(table(screen.lines), name)[3] for name in FUNCTIONS))
        yield screen


def children(pid):
    """The processes that a process has started, from the oldest on."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def is_gone(pid):
    """It has ended; nobody may have asked for its exit code yet."""
    try:
        return state_of(pid) in "ZX"
    except OSError:
        return True


def wait_until(fact):
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.02)


def python_of(screen):
    """The program that is watched: the child that runs Python."""

    def of(pid):
        return "shares.py" in Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1]

    return next(pid for pid in children(screen.process.pid) if of(pid))


# ---- what is seen ----


def test_numbers(watched):
    rows = watched.wait_for(lambda screen: (r := table(screen.lines)) and named(r, "spin")[2] > 3 and r)
    assert watched.lines[4] == HEADING
    assert "Python 3." in watched.lines[0] and "shares.py" in watched.lines[0]
    own, total, own_time, total_time = named(rows, "spin")
    assert 80 < own <= 100.5 and own <= total <= 100.5 and own_time <= total_time
    times = {name: named(rows, name)[3] for name in ("most", "some", "few")}
    together = sum(times.values())
    assert 0.4 < times["most"] / together < 0.8  # 0.6, 0.3 and 0.1 in the long run
    assert 0.15 < times["some"] / together < 0.45
    assert 0.02 < times["few"] / together < 0.2
    facts = r"GIL: \d+%  Active: (9\d|10\d)%  Threads: 1 \(0 idle\)  Samples: \d+ at 1000 Hz"
    assert re.search(facts, watched.text)
    watched.wait_for(lambda screen: screen.lines[2].startswith("CPU") and "█" in screen.lines[2])
    watched.wait_for(lambda screen: screen.lines[3].startswith("GIL") and "█" in screen.lines[3])


def is_sorted(heading, screen):
    column = ["%Own", "%Total", "OwnTime", "TotalTime"].index(heading[1:])
    values = [row[column] for row in table(screen.lines).values()]
    is_whole = heading in screen.text and len(values) >= len(FUNCTIONS)
    return is_whole and values == sorted(values, reverse=True)


def test_columns_sort(watched):
    for key, heading in zip("2341", (">%Total", ">OwnTime", ">TotalTime", ">%Own")):
        watched.press(key)
        watched.wait_for(functools.partial(is_sorted, heading))


def test_lines_and_threads(watched):
    watched.press("l")
    watched.wait_for(lambda screen: {"spin (shares.py:14)", "spin (shares.py:15)"} & set(short(screen.lines)))
    watched.press("t")
    watched.wait_for_text("Thread: where it is")
    assert sum(": " in label for label in table(watched.lines)) == 1
    watched.press("t")
    watched.wait_for_text("Function (filename:line)")


def short(lines):
    return [re.sub(r"\(.*/", "(", label) for label in table(lines)]


def test_filter(watched):
    watched.press("/^(some|few) ")
    watched.wait_for_text("/^(some|few) _")
    watched.press("\r")
    watched.wait_for(lambda screen: {label.split()[0] for label in table(screen.lines)} == {"few", "some"})
    watched.press("\x1b")
    watched.wait_for_text("spin (")


def test_help_pause_and_reset(watched):
    watched.press("?")
    watched.wait_for_text("sort by the column")
    watched.press("x")
    watched.wait_for_text("spin (")
    watched.press("p")
    watched.wait_for_text("PAUSED")
    before = watched.text
    end = time.monotonic() + 1
    while time.monotonic() < end:
        watched.take(0.2)
    assert watched.text == before
    watched.press("p")
    watched.wait_for(lambda screen: "PAUSED" not in screen.text and screen.text != before)
    watched.wait_for(lambda screen: named(table(screen.lines), "spin")[2] > 1.5)
    watched.press("r")
    watched.wait_for(lambda screen: named(table(screen.lines), "spin")[2] < 1)


@pytest.mark.parametrize("size", [(10, 40), (50, 200), (3, 20)])
def test_sizes(watched, size):
    watched.resize(*size)
    if size[0] > 3:
        watched.wait_for(lambda screen: "spin (" in screen.text and screen.lines[-1].startswith("?:help"))
    watched.resize(24, 80)
    watched.wait_for(lambda screen: screen.lines[4] == HEADING and "q:quit" in screen.lines[23])


@pytest.mark.parametrize("term", TERMINALS)
def test_terminals(modern_launch, term):
    command = top(modern_launch, *shares(modern_launch), options=["--delay", "0.2"])
    with Screen(modern_launch, command, TERM=term) as screen:
        screen.wait_for_text("spin (")
        assert bool(COLOUR.search(screen.written)) == (term != "vt100")
        screen.press("q")
        assert screen.end() == 0


def test_no_colour_when_none_is_wanted(modern_launch):
    command = top(modern_launch, *shares(modern_launch), options=["--delay", "0.2"])
    with Screen(modern_launch, command, NO_COLOR="1", LANG="C") as screen:
        screen.wait_for_text("spin (")
        screen.wait_for(lambda screen: re.match("CPU +[^ ]", screen.lines[2]))
        assert not COLOUR.search(screen.written)
        assert max(screen.written) < 128


# ---- how it ends ----


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_quitting_puts_all_back(watched, key):
    program = python_of(watched)
    assert watched.modes() != watched.modes_before
    watched.press(key)
    assert watched.end() == 0
    assert watched.modes() == watched.modes_before
    assert LEAVE_FULL_SCREEN in watched.written
    after = watched.written.rsplit(LEAVE_FULL_SCREEN, 1)[1].decode()
    assert "KeyboardInterrupt" in after and "Whole time:" in after and "spin (" in after
    assert is_gone(program)


def test_program_that_ends_itself(modern_launch):
    modern_launch.write("x.py", "import sys\nprint('first', repr(sys.stdin.read()))\nsys.exit(3)")
    with Screen(modern_launch, top(modern_launch, "x.py")) as screen:
        assert screen.end() == 3
        after = screen.written.rsplit(LEAVE_FULL_SCREEN, 1)[1]
        assert b"first ''\r\n" in after
        assert screen.modes() == screen.modes_before


def test_programs_output_is_shown_on_demand(modern_launch):
    text = "import time\nprint('one\\ntwo', flush=True)\nend = time.time() + 9\nwhile time.time() < end: pass"
    modern_launch.write("x.py", text)
    with Screen(modern_launch, top(modern_launch, "x.py", options=["--delay", "0.2"])) as screen:
        screen.wait_for_text("<module> (")
        screen.press("o")
        screen.wait_for(lambda screen: " The program's output\none\ntwo\n" in screen.text)


def test_program_that_is_killed(watched):
    os.kill(python_of(watched), signal.SIGKILL)
    assert watched.end() == -signal.SIGKILL
    assert watched.modes() == watched.modes_before


def test_stubborn_program_is_killed(modern_launch):
    modern_launch.write(
        "x.py",
        """
        import signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        def stays():
            while True: time.time()
        stays()
        """,
    )
    with Screen(modern_launch, top(modern_launch, "x.py", options=["--delay", "0.2"])) as screen:
        screen.wait_for_text("stays (")
        screen.press("q")
        assert screen.end() == 0


@pytest.mark.parametrize("which", ["watcher", "recorder"])
def test_either_process_puts_the_terminal_back(watched, which):
    program, recorder = python_of(watched), watched.process.pid
    watcher = next(pid for pid in children(recorder) if is_reading(pid))
    os.kill(watcher if which == "watcher" else recorder, signal.SIGKILL)
    watched.wait_for(lambda screen: LEAVE_FULL_SCREEN in screen.written)
    wait_until(lambda: watched.modes() == watched.modes_before)
    watched.end()
    if which == "watcher":
        assert watched.process.returncode == 2
        assert is_gone(program)
    else:
        os.kill(program, signal.SIGKILL)


def is_reading(pid):
    """Of sonde's children only the watcher has both the terminal and the socket, and is no Python."""
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    is_ours = os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "sonde"
    return is_ours and {"/dev/pts", "socket"} <= {re.split("/[0-9]|:", link)[0] for link in links}


@pytest.mark.parametrize("term", ["dumb", "", "unheard-of"])
def test_terminals_that_cannot(modern_launch, term):
    with Screen(modern_launch, top(modern_launch, "-c", "print('it ran')"), TERM=term) as screen:
        assert screen.end() == 2
        assert b"--batch" in screen.written and b"it ran" not in screen.written


def test_without_a_terminal(modern_launch):
    done = modern_launch.run(top(modern_launch, "-c", "print('it ran')"))
    assert done.returncode == 2 and b"--batch" in done.stderr and done.stdout == b""


# ---- tables of text ----


def tables(text):
    """The tables in a text, each as its rows; the last is of the whole time."""
    parts = text.split(HEADING + "\n")[1:]
    return [table(part.split("\n\n")[0].splitlines()) for part in parts]


def test_batch(launch):
    options = ["--batch", "--delay", "0.4", "-o", launch.folder / "tables"]
    done = launch.run(top(launch, *shares(launch, "1.5"), options=options))
    assert done.returncode == 0, done.stderr
    truth = dict(zip(("most", "some", "few"), map(int, done.stdout.split())))
    text = (launch.folder / "tables").read_text()
    found = tables(text)
    assert len(found) >= 3 and "Whole time:\n" in text
    assert f"Python {launch.python.version}" in text
    whole = found[-1]
    times = {name: named(whole, name)[3] for name in truth}
    for name, true in truth.items():
        assert abs(times[name] / sum(times.values()) - true / sum(truth.values())) < 0.15
    # The times add up: those of the whole are at least those of any interval before.
    assert all(named(rows, "spin")[2] <= named(whole, "spin")[2] for rows in found)


def test_batch_ends_after_its_duration(modern_launch):
    options = ["-b", "--delay", "0.2", "-d", "1", "-l", "--limit", "3"]
    done = modern_launch.run(top(modern_launch, *shares(modern_launch), options=options))
    assert done.returncode == 0
    found = tables(done.stdout.decode())
    assert len(found) >= 2 and all(len(rows) <= 3 for rows in found)
    assert "shares.py:1" in done.stdout.decode()


def test_batch_shows_idle_threads_when_asked(modern_launch):
    modern_launch.write(
        "x.py",
        """
        import threading, time
        def sleeps(): time.sleep(1)
        def works():
            end = time.monotonic() + 1
            while time.monotonic() < end: pass
        thread = threading.Thread(target=sleeps)
        thread.start()
        works()
        thread.join()
        """,
    )
    commands = [top(modern_launch, "x.py", options=["-b", *more]) for more in ([], ["-i"])]
    without, idle = (tables(modern_launch.run(command).stdout.decode())[-1] for command in commands)
    assert named(without, "sleeps")[3] < 0.3 < named(idle, "sleeps")[3]
    assert named(without, "works")[3] > 0.5


def test_processes_are_counted(modern_launch):
    modern_launch.write(
        "x.py",
        """
        import os, time
        child = os.fork()
        def works():
            end = time.monotonic() + 1.5
            while time.monotonic() < end: pass
        works()
        if child: os.waitpid(child, 0)
        """,
    )
    done = modern_launch.run(top(modern_launch, "x.py", options=["-b", "--delay", "0.3"]))
    assert done.returncode == 0
    assert b"Processes: 2" in done.stdout
    assert named(tables(done.stdout.decode())[-1], "works")[3] > 1.6


CRUNCH = """
static inline __attribute__((always_inline)) unsigned mix(unsigned value)
{
    return value * 2654435761u ^ value >> 7;
}

__attribute__((noinline)) unsigned crunch(unsigned turns)
{
    volatile unsigned result = 1;
    for (unsigned turn = 0; turn < turns; turn++)
        result = mix(result);
    return result;
}
"""


def crunching(launch):
    """A program that is in native code nearly all the time: its words."""
    launch.write("crunch.c", CRUNCH)
    if launch.run(["cc", "-O2", "-g", "-shared", "-fPIC", "-o", "libcrunch.so", "crunch.c"]).returncode:
        pytest.skip("no compiler")
    launch.write(
        "x.py",
        """
        import ctypes, sys, time
        library = ctypes.CDLL(sys.argv[1])
        def calls():
            library.crunch(10**6)
        def works():
            end = time.monotonic() + 1.5
            while time.monotonic() < end: calls()
        works()
        """,
    )
    return "x.py", launch.folder / "libcrunch.so"


def test_native_functions(modern_launch):
    """As a recording names them: those that were inlined, too; the interpreter's own are left out."""
    launch, words = modern_launch, crunching(modern_launch)
    done = launch.run(top(launch, *words, options=["-b", "-n", "--delay", "0.3", "--limit", "100"]))
    assert done.returncode == 0, done.stderr
    rows = tables(done.stdout.decode())[-1]
    command = [launch.sonde, "record", "--quiet", "-n", "-f", "raw", "-o", "out.txt", "--"]
    assert launch.run([*command, launch.python.executable, *words]).returncode == 0
    recorded = re.findall(r"(?:^|;)([^\s;]+) \(", (launch.folder / "out.txt").read_text(), re.MULTILINE)
    assert {"mix", "crunch", "calls", "works"} <= set(recorded)
    whole = named(rows, "works")[3]  # on a busy machine the start takes long, too
    assert named(rows, "mix")[2] + named(rows, "crunch")[2] > 0.8 * whole > 0.5, rows
    assert all(named(rows, function)[3] > 0.4 * whole for function in ("mix", "crunch", "calls")), rows
    assert any(label == "crunch (crunch.c)" or label.endswith("/crunch.c)") for label in rows)
    assert not any("_PyEval_" in label for label in rows)
    without = tables(launch.run(top(launch, *words, options=["-b"])).stdout.decode())[-1]
    assert named(without, "calls")[2] > 0.8 * named(without, "works")[3] > 0.5
    assert not named(without, "crunch")[3]


def test_mistakes_are_named(modern_launch):
    for options in (["--delay", "0"], ["-r", "0"], ["-d", "-1"], ["--limit", "0"], ["-o", "x"]):
        done = modern_launch.run([modern_launch.sonde, "top", *options, "-c", "1"])
        assert done.returncode == 2 and done.stderr.startswith(b"sonde: error: --"), (options, done.stderr)
    done = modern_launch.run([modern_launch.sonde, "top", "-b", "--", "/nonexistent/python"])
    assert done.returncode == 2 and b"/nonexistent/python" in done.stderr
    done = modern_launch.run([modern_launch.sonde, "top", "-b", "-o", "/nonexistent/x", "-c", "1"])
    assert done.returncode == 2 and b"/nonexistent/x" in done.stderr


def test_a_reader_that_goes_away_ends_it(modern_launch):
    """`sonde top -b x.py | head -3`"""
    command = top(modern_launch, *shares(modern_launch), options=["-b", "--delay", "0.2"])
    with modern_launch.start(command, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 2


# ---- a process that runs already ----


@pytest.fixture
def running(modern_launch):
    """shares.py, on its own."""
    command = [modern_launch.python.executable, *shares(modern_launch)]
    with modern_launch.start(command, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: "shares.py" in Path(f"/proc/{process.pid}/cmdline").read_text())
        time.sleep(0.5)  # so that its functions are there
        yield process
        process.kill()


def test_watching_a_process_leaves_it_alone(modern_launch, running):
    command = [modern_launch.sonde, "top", "--delay", "0.2", "-p", str(running.pid)]
    with Screen(modern_launch, command) as screen:
        screen.wait_for(lambda screen: all(named(table(screen.lines), name)[3] for name in FUNCTIONS))
        screen.press("o")
        screen.wait_for_text("The program writes elsewhere")
        screen.press("q")
        assert screen.end() == 0
        assert screen.modes() == screen.modes_before
    assert running.poll() is None
    wait_until(lambda: state_of(running.pid) == "R")


def test_the_end_of_a_watched_process_is_the_end(modern_launch, running):
    command = [modern_launch.sonde, "top", "--delay", "0.2", "-p", str(running.pid)]
    with Screen(modern_launch, command) as screen:
        screen.wait_for_text("spin (")
        running.kill()
        running.wait()
        assert screen.end() == 0
        assert f"process {running.pid} has ended".encode() in screen.written
        assert screen.modes() == screen.modes_before


def test_batch_of_a_process(modern_launch, running):
    command = [modern_launch.sonde, "top", "-b", "-d", "1.5", "--delay", "0.5", "-p", str(running.pid)]
    done = modern_launch.run(command)
    assert done.returncode == 0, done.stderr
    found = tables(done.stdout.decode())
    assert len(found) >= 2 and named(found[-1], "spin")[0] > 50
    assert running.poll() is None


def test_processes_that_cannot_be_watched(modern_launch):
    done = modern_launch.run([modern_launch.sonde, "top", "-b", "-p", "999999999"])
    assert done.returncode == 2 and b"there is no process 999999999" in done.stderr
    done = modern_launch.run([modern_launch.sonde, "top", "-b", "-p", str(os.getpid()), "x.py"])
    assert done.returncode == 2 and b"nothing to start" in done.stderr
