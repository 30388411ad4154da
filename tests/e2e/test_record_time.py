"""What time means while sampling: when it ends, whose it is, which clock counts."""

import os
import pty
import signal
import time

from test_record import Samples, record

SPIN = """
    import sys, time
    def spin(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
"""


def write_spinner(launch, rest, name="x.py"):
    from textwrap import dedent

    launch.write(name, dedent(SPIN) + dedent(rest))


def test_duration_ends_sampling_not_the_program(modern_launch):
    """The recording is there, closed, while the program still runs; then its exit code is passed on."""
    launch = modern_launch
    write_spinner(
        launch,
        """
        import os
        while not os.path.exists("go"):
            spin(0.01)
        print("end")
        sys.exit(7)
        """,
    )
    command = [launch.sonde, "record", "-d", "0.3", "-f", "raw", "-o", launch.folder / "out.txt"]
    with launch.start([*command, "--", launch.python.executable, "x.py"]) as process:
        for _ in range(600):
            if (launch.folder / "out.txt").exists() and not (launch.folder / "out.txt.sonde").exists():
                break
            time.sleep(0.05)
        assert process.poll() is None
        assert b"spin" in (launch.folder / "out.txt").read_bytes()
        (launch.folder / "go").touch()
        out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == (b"end\n", 7)
    assert err.splitlines()[-1].startswith(b"sonde: Samples: ")


def test_bad_duration(modern_launch):
    launch = modern_launch
    for text in ("0", "-1", "x", "1s", "nan", "1e300"):
        done = launch.run([launch.sonde, "record", f"--duration={text}", "--", "true"])
        assert done.returncode == 2 and b"--duration" in done.stderr, text
    done = record(launch, "-c", "pass", more=["-d", "unlimited"])
    assert done.returncode == 0


def test_interrupt_ends_sampling(modern_launch):
    """A program that survives Ctrl-C goes on; the recording is complete all the same."""
    launch = modern_launch
    write_spinner(
        launch,
        """
        import os, signal
        def handle(number, frame):
            print("interrupted", flush=True)
        signal.signal(signal.SIGINT, handle)
        print("ready", flush=True)
        while not os.path.exists("go"):
            spin(0.01)
        print("end")
        """,
    )
    command = [launch.sonde, "record", "--quiet", "-o", launch.folder / "out.sonde"]
    with launch.start([*command, "--", launch.python.executable, "x.py"]) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"interrupted\n"
        for _ in range(600):
            if b"closed by the recorder" in launch.run([launch.sonde, "info", "out.sonde"]).stdout:
                break
            time.sleep(0.05)
        assert process.poll() is None
        (launch.folder / "go").touch()
        out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == (b"end\n", 0)
    assert any("spin" in stack for stack, _, _ in Samples(launch.folder / "out.sonde").stacks)


def run_on_terminal(launch, command):
    """What a terminal shows of the command's standard error."""
    ours, theirs = pty.openpty()
    with launch.start(command, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            shown += more
        process.wait()
    os.close(ours)
    return shown


def test_progress_on_a_terminal_only(modern_launch):
    launch = modern_launch
    write_spinner(launch, "spin(1.6)")
    command = [launch.sonde, "record", "-o", launch.folder / "a.sonde", "--", launch.python.executable, "x.py"]
    shown = run_on_terminal(launch, command)
    assert b" samples, 0 errors" in shown and shown.count(b"\r\x1b[Ksonde: ") >= 2
    last = shown.decode().splitlines()[-2:]
    assert "Overhead: program slowed by about " in last[0] and "lost: 0" in last[0]
    assert "Samples: " in last[1] and last[1].rstrip().endswith(" Errors: 0")
    command[3] = launch.folder / "b.sonde"
    assert b"\r" not in launch.run(command).stderr
