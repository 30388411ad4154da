"""Debug builds of CPython (--with-pydebug; Debian's python3.11-dbg) are read and traced as releases are.

None is needed: where none is found there is nothing to test.
"""

import glob
import json
import subprocess
import time

import interpreters
import pytest
from conftest import USABLE, Launcher
from samples import Samples, record

PROBE = "import platform, sys; sys.gettotalrefcount(); print(platform.python_version())"
SPIN = """
    import sys, time
    def leaf(number):
        text = "a leaf"
        return sum(each * each for each in range(number))
    def spin(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end: leaf(300)
    def count():
        for number in range(100): leaf(number)
    print("ready", flush=True)
    spin(float(sys.argv[1]))
    count()
"""


def debug_builds():
    """What is called python3.11d in the root file systems of the interpreters that are tested."""
    found = {}
    for root in sorted({interpreter.root or "" for interpreter in USABLE}):
        for path in sorted(glob.glob(root + "/usr/bin/python3.*d")):
            inside = path[len(root) :]
            command = [*(["chroot", root] if root else []), inside, "-c", PROBE]
            probe = subprocess.run(command, capture_output=True, text=True, check=False)
            if probe.returncode == 0:
                version = probe.stdout.strip()
                row = {"version": version, "root": root, "command": [inside], "free_threaded": False}
                found.setdefault((root, version), interpreters.Interpreter(row))
    return list(found.values())


FOUND = debug_builds()
NONE_FOUND = pytest.param(None, marks=pytest.mark.skip(reason="no debug build was found (python3.11-dbg)"))


@pytest.fixture(params=FOUND or [NONE_FOUND], ids=repr)
def debug_launch(request, sonde, tmp_path):
    launch = Launcher(sonde, request.param, tmp_path)
    launch.write("x.py", SPIN)
    yield launch
    request.param.leave()


@pytest.fixture
def spinning(debug_launch):
    with debug_launch.start([debug_launch.python.executable, "x.py", "60"]) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        yield process
        process.kill()


def check_samples(path):
    found = Samples(path)
    counts = found.counts("leaf", "spin")
    assert counts["leaf"] > 0.3 * found.samples and counts["spin"] >= counts["leaf"] > 20
    assert found.errors <= found.samples * 0.01


def test_record(debug_launch):
    done = record(debug_launch, "x.py", "1")
    assert (done.returncode, done.stderr) == (0, b"")
    check_samples(debug_launch.folder / "out.sonde")


def test_attach(debug_launch, spinning):
    launch = debug_launch
    command = [launch.sonde, "record", "--quiet", "-p", str(spinning.pid), "-d", "1", "-o", "out.sonde"]
    done = subprocess.run(command, capture_output=True, cwd=launch.folder, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    check_samples(launch.folder / "out.sonde")


def test_dump(debug_launch, spinning):
    command = [debug_launch.sonde, "dump", "-j", "-l", "-p", str(spinning.pid)]
    for _ in range(50):
        (thread,) = json.loads(subprocess.run(command, capture_output=True, timeout=60).stdout)
        named = {frame["name"]: frame for frame in thread["frames"]}
        if "leaf" in named:
            break
    assert thread["thread_name"] == "MainThread" and not thread["problem"]
    variables = {variable["name"]: variable["repr"] for variable in named["leaf"]["locals"]}
    assert variables["number"] == "300" and variables["text"] == "'a leaf'"


def test_trace(debug_launch):
    done = debug_launch.traced("x.py", "0")
    assert (done.returncode, done.stderr) == (0, b"")
    counts = debug_launch.counts("x.py")
    assert counts["count"] == (1, 1) and counts["leaf"][0] >= 100
