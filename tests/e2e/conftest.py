"""Fixtures of the end-to-end tests: the built program, every Python found, one run under the other."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import interpreters
import profiles
import pytest

FOUND, LEFT_OUT = interpreters.find()
FREE_THREADED = [interpreter for interpreter in FOUND if interpreter.free_threaded]
USABLE = [interpreter for interpreter in FOUND if not interpreter.free_threaded]
# Where who built it does not matter: one of each version, and one of each layout of frames (3.10: as 3.9).
VERSIONS = list({each.numbers: each for each in USABLE}.values())
LAYOUTS = [each for each in VERSIONS if each.numbers != (3, 10)] or VERSIONS
# A shell that runs the tests in the background makes them ignore Ctrl-C, and what they start would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
SPEEDSCOPE = {"speedscope": "1.25.0", "jsdom": "29.1.1"}
PROGRAMS = interpreters.REPOSITORY / "tests" / "e2e" / "programs"


def pytest_report_header():
    return f"sonde: {interpreters.sonde_program()}; pythons: {', '.join(map(repr, FOUND))}"


def pytest_sessionfinish():
    for interpreter in FOUND:
        interpreter.leave()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("Pythons")
    ran = [report.nodeid for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    for interpreter in FOUND:
        count = sum(f"[{interpreter!r}" in name or f"-{interpreter!r}" in name for name in ran)
        place = f" in {interpreter.root}" if interpreter.root else ""
        terminalreporter.write_line(f"{interpreter!r}: {count} tests, {interpreter.executable}{place}")
    for name, reason in LEFT_OUT:
        terminalreporter.write_line(f"{name}: not tested: {reason}")


@pytest.fixture(scope="session")
def sonde():
    program = interpreters.sonde_program()
    if program is None:
        pytest.fail("sonde is not built: run make, or name the program in SONDE")
    return program


NONE_FOUND = pytest.param(None, marks=pytest.mark.skip(reason="no free-threaded interpreter was found"))


@pytest.fixture(scope="session", params=USABLE, ids=repr)
def python(request):
    """Every interpreter found, but for free-threaded ones, which are refused."""
    return request.param


@pytest.fixture(scope="session")
def modern():
    """The newest interpreter of this root file system, for what does not depend on the version."""
    local = [interpreter for interpreter in USABLE if not interpreter.root]
    if not local:
        pytest.skip("no interpreter in this root file system")
    return local[-1]


def read(path):
    """sonde.read of the package that belongs to the program."""
    folder = str(interpreters.package_folder())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import sonde as package

    return package.read(path)


class Started(subprocess.Popen):
    """Ends with its `with`: a test that fails there must not wait for a program that has no end."""

    def __exit__(self, failure, *rest):
        if failure:
            self.kill()
        super().__exit__(failure, *rest)


class Launcher:
    """Runs commands in one folder, in a plain environment, for one interpreter: with sonde and without."""

    def __init__(self, sonde, interpreter, folder):
        self.sonde, self.python, self.folder = sonde, interpreter, folder
        self.environment = {
            "PATH": os.path.dirname(interpreter.executable) + ":/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self, command, **options):
        """Popen with pipes; environment= adds to the plain one."""
        environment = {**self.environment, **options.pop("environment", {})}
        options = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "stdin": subprocess.DEVNULL,
            **options,
        }
        cwd = options.pop("cwd", self.folder)
        return Started(self.python.enter(command, cwd), cwd=cwd, env=environment, **options)

    def run(self, command, timeout=60, **options):
        """A finished command: returncode, stdout, stderr (bytes). input= is its stdin."""
        given = options.pop("input", None)
        if given is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(command, **options) as process:
            try:
                out, err = process.communicate(given, timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def plain(self, *arguments, **options):
        """The interpreter with these arguments, without sonde."""
        return self.run([self.python.executable, *arguments], **options)

    def traced(self, *arguments, output="out.sonde", trace=(), **options):
        """The same under `sonde trace`, written to `output`."""
        return self.run([*self.tracer(output, trace), "--", self.python.executable, *arguments], **options)

    def tracer(self, output="out.sonde", trace=()):
        return [self.sonde, "trace", "--quiet", "-o", self.folder / output, *trace]

    def recording(self, output="out.sonde"):
        """What a traced run wrote."""
        return profiles.Recording(read(self.folder / output))

    def counts(self, file, output="out.sonde"):
        """{function: (calls, primitive calls)} of one source file, all threads and processes together."""
        return self.recording(output).table().named(file)

    def program(self, name):
        """A program of programs/, copied into the folder (a chroot sees that folder only)."""
        return shutil.copy(PROGRAMS / name, self.folder / name)

    def support(self, name):
        """A file of the tests themselves, likewise."""
        return shutil.copy(PROGRAMS.parent / name, self.folder / name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return path


@pytest.fixture
def launch(sonde, python, tmp_path):
    return Launcher(sonde, python, tmp_path)


@pytest.fixture(params=VERSIONS, ids=repr)
def version_launch(request, sonde, tmp_path):
    return Launcher(sonde, request.param, tmp_path)


@pytest.fixture(params=LAYOUTS, ids=repr)
def chosen_launch(request, sonde, tmp_path):
    return Launcher(sonde, request.param, tmp_path)


@pytest.fixture(params=FREE_THREADED or [NONE_FOUND], ids=repr)
def free_threaded_launch(request, sonde, tmp_path):
    return Launcher(sonde, request.param, tmp_path)


@pytest.fixture
def modern_launch(sonde, modern, tmp_path):
    return Launcher(sonde, modern, tmp_path)


def installed(modules):
    for name, version in SPEEDSCOPE.items():
        package = modules / name / "package.json"
        if not package.exists() or json.loads(package.read_text())["version"] != version:
            return False
    return True


@pytest.fixture(scope="session")
def speedscope():
    """speedscope's own importer: a file → the document that speedscope makes of it."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = interpreters.cache() / "peers-node"
    folder.mkdir(parents=True, exist_ok=True)
    packages = [f"{name}@{version}" for name, version in SPEEDSCOPE.items()]
    install = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", *packages]
    # Node brings certificates of its own; those of the system count too, as they do for pip.
    environment = {"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt", **os.environ}
    with interpreters.installing():
        if not installed(folder / "node_modules") and not interpreters.succeeds(install, env=environment):
            pytest.skip("speedscope cannot be installed: npm does not reach its registry")
    script = PROGRAMS.parent / "speedscope_import.cjs"

    def read_file(file):
        command = ["node", script, folder / "node_modules", file]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return read_file
