"""One build serves every Python: no interpreter needs sonde installed to be traced."""

import hashlib

import interpreters
import pytest

HELLO = "def hello():\n    return 'hello'\nprint(hello())\n"


def test_every_version_is_traced_by_one_build(launch):
    launch.write("x.py", HELLO)
    done = launch.traced("x.py")
    assert (done.stdout, done.stderr, done.returncode) == (b"hello\n", b"", 0)
    recording = launch.recording()
    assert launch.counts("x.py")["hello"] == (1, 1)
    first = recording.first_process()
    processes = recording.data["processes"]
    assert recording.text[processes["python"][first]] == launch.python.version
    assert recording.text[processes["exe"][first]]


def test_no_part_is_built_for_a_version():
    """Every shared object of the package is the stable ABI's or none of Python's."""
    objects = list((interpreters.package_folder() / "sonde").rglob("*.so"))
    assert objects
    assert not [path.name for path in objects if ".cpython-" in path.name]


def test_sonde_can_be_imported_under_sonde(launch):
    """Not installed in the target, and yet there for programs that use it."""
    code = "import sonde; print(hasattr(sonde, 'Profile'))"
    if launch.plain("-c", code).returncode == 0:
        pytest.skip("sonde is installed in this interpreter")
    done = launch.traced("-c", code)
    assert (done.stdout, done.stderr, done.returncode) == (b"True\n", b"", 0)


def test_an_installed_sonde_wins(launch):
    """A program that brings a module named sonde gets its own."""
    launch.write("sonde.py", "MINE = True\n")
    launch.write("x.py", "import sonde\nprint(sonde.MINE)\n")
    done = launch.traced("x.py")
    assert (done.stdout, done.stderr) == (b"True\n", b"")


def test_virtual_environment_without_sonde(launch):
    made = launch.plain("-m", "venv", "--without-pip", "venv")
    if made.returncode:
        pytest.skip("this Python makes no virtual environments")
    launch.write("x.py", HELLO)
    done = launch.run([*launch.tracer(), "--", launch.folder / "venv/bin/python", "x.py"])
    assert (done.stdout, done.returncode) == (b"hello\n", 0)
    assert launch.counts("x.py")["hello"] == (1, 1)


def test_a_python_that_starts_another_version(launch, modern):
    """Each child is traced by the same build, whatever its version."""
    if launch.python.root or repr(launch.python) == repr(modern):
        pytest.skip("needs two interpreters in one root file system")
    launch.write("child.py", HELLO)
    launch.write("x.py", f"import subprocess\nsubprocess.run([{modern.executable!r}, 'child.py'])\n")
    assert launch.traced("x.py").stdout == b"hello\n"
    recording = launch.recording()
    assert launch.counts("child.py")["hello"] == (1, 1)
    found = {recording.text[version] for version in recording.data["processes"]["python"][1:]}
    assert {launch.python.version, modern.version} <= found


def test_python_dash_m_sonde(modern_launch):
    """`python -m sonde trace x.py` is `sonde trace -- python x.py` with that Python."""
    launch = modern_launch
    launch.write("x.py", "import sys\nprint(sys.executable)\n")
    here = {"PYTHONPATH": str(interpreters.package_folder())}
    done = launch.plain("-m", "sonde", "trace", "-o", "out.sonde", "x.py", environment=here)
    assert (done.stdout.decode().strip(), done.returncode) == (launch.python.executable, 0)
    recording = launch.recording()
    version = recording.data["processes"]["python"][recording.first_process()]
    assert recording.text[version] == launch.python.version


@pytest.mark.parametrize("command", ["trace", "record"])
def test_free_threaded_is_refused(free_threaded_launch, command):
    launch = free_threaded_launch
    launch.write("x.py", HELLO)
    done = launch.run([launch.sonde, command, "-o", "out.sonde", "--", launch.python.executable, "x.py"])
    assert (done.stdout, done.returncode) == (b"", 2)
    assert b"free-threaded" in done.stderr
    assert not (launch.folder / "out.sonde").exists()


def test_tracing_changes_no_file_of_the_interpreter(modern_launch):
    """Nothing is written beside the program or the target: only the recording appears."""
    launch = modern_launch
    script = launch.write("x.py", HELLO)
    before = hashlib.sha256(script.read_bytes()).digest()
    assert launch.traced("x.py").returncode == 0
    assert sorted(path.name for path in launch.folder.iterdir()) == ["out.sonde", "x.py"]
    assert hashlib.sha256(script.read_bytes()).digest() == before


@pytest.fixture
def old():
    """A Python older than 3.9."""
    found = interpreters.oldest_unsupported()
    if found is None:
        pytest.skip("no Python older than 3.9 found")
    return found


def test_old_python_is_refused(modern_launch, old):
    """Before it runs, and the message says which versions are traced."""
    launch = modern_launch
    done = launch.run([*launch.tracer(), "--", old, "-c", "print('hello')"])
    assert (done.stdout, done.returncode) == (b"", 2)
    assert b"3.9" in done.stderr


def test_old_python_as_a_child_is_left_alone(modern_launch, old):
    launch = modern_launch
    code = f"import subprocess; print(subprocess.run([{old!r}, '-c', 'print(5)'], capture_output=True))"
    plain, traced = launch.plain("-c", code), launch.traced("-c", code)
    assert (traced.stdout, traced.returncode) == (plain.stdout, 0)
