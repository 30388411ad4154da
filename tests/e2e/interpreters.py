"""The interpreters that the tests and the benchmarks run, and how a command is run under each.

An interpreter in another root file system (a chroot) sees the temporary folder under its own name, and the
folder that holds the built sonde under a name inside the temporary folder; both are bind mounts in a mount
namespace of the command alone, so that nothing is left mounted.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SUPPORTED = [(3, minor) for minor in range(9, 16)]
ENTER_ROOT = """
root=$1 folder=$2 place=$3 here=$4; shift 4
mount --bind /tmp "$root/tmp"
mount --bind "$folder" "$root$place"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
exec /usr/sbin/chroot "$root" env -u PWD -C "$here" "$@"
"""

# Some packages are a program alone and hold nothing to import.
USE = """
import importlib, importlib.metadata, importlib.util, sys
importlib.metadata.version(sys.argv[1])
if importlib.util.find_spec(sys.argv[1]):
    importlib.import_module(sys.argv[1])
"""


class Interpreter:
    def __init__(self, row):
        self.version = row["version"]
        self.numbers = tuple(int(number) for number in re.findall(r"\d+", row["version"])[:2])
        self.root = row["root"]
        self.executable = row["command"][-1]
        self.free_threaded = row["free_threaded"]
        self.place = None  # where a chroot sees the folder of the built sonde

    def __repr__(self):
        return self.version + ("t" if self.free_threaded else "")

    def unusable(self):
        """Why it cannot be tested on this machine, or None."""
        if self.root and os.geteuid() != 0:
            return "lies in another root file system, and entering it needs root"
        if self.root and tempfile.gettempdir() != "/tmp":
            return "lies in another root file system, which needs the temporary folder to be /tmp"
        return None

    def enter(self, command, cwd):
        """The command line that runs `command` where this interpreter lives."""
        command = [os.fspath(part) for part in command]
        if not self.root:
            return command
        if self.place is None:
            self.place = tempfile.mkdtemp(prefix="sonde-e2e-", dir="/tmp")
        folder = str(sonde_folder())
        command = [re.sub("^" + re.escape(folder), self.place, part) for part in command]
        # In a chroot the root is no mount point, whose propagation could be set; nor does it need to be.
        propagation = "private" if root_is_mounted() else "unchanged"
        head = ["unshare", "--mount", "--propagation", propagation, "sh", "-e", "-c", ENTER_ROOT, "sh"]
        return [*head, self.root, folder, self.place, os.fspath(cwd), *command]

    def leave(self):
        if self.place:
            os.rmdir(self.place)
            self.place = None

    def peer_environment(self, packages):
        """The Python of a cached virtual environment with PyPI packages, or None and why not.

        In a chroot it lies inside, and its packages are put there from outside, where the package index is.
        """
        with installing():
            return self.make_environment(packages)

    def make_environment(self, packages):
        folder = pathlib.Path("/var/cache", "sonde") if self.root else cache()
        folder = folder / f"peers-{self}"
        python = folder / "bin" / "python"
        enter = ["chroot", self.root] if self.root else []
        make = [*enter, self.executable, "-m", "venv", "--without-pip", folder]
        if not succeeds([*enter, python, "-c", ""]) and not succeeds(make):
            shutil.rmtree(f"{self.root or ''}{folder}", ignore_errors=True)
            return None, "no virtual environment can be made"
        for package in packages:
            use = [*enter, python, "-c", USE, package]
            if not succeeds(use) and not (any(self.install(package, folder)) and succeeds(use)):
                return None, f"{package} cannot be installed for {self}"
        return str(python), None

    def install(self, package, folder):
        """Tries one way after the other to put a package into the environment: yields whether it did."""
        pip = [sys.executable, "-m", "pip"]
        if not self.root:
            yield succeeds(
                [*pip, "--python", folder / "bin" / "python", "install", "--only-binary", ":all:", package]
            )
            return
        version = "{}.{}".format(*self.numbers)
        site = f"{self.root}{folder}/lib/python{version}/site-packages"
        # What a package requires is checked against the Python that pip runs on; the wheel's tags are not.
        for_version = ["--only-binary", ":all:", "--python-version", version, "--ignore-requires-python"]
        yield succeeds([*pip, "install", "--target", site, *for_version, package])
        # No wheel: this machine's compiler with the chroot's headers of Python (the rest are this machine's).
        include = f"{self.root}/usr/include"
        if not os.path.exists(f"{include}/python{version}/Python.h"):
            return
        environment = {
            **os.environ,
            "CFLAGS": f"-O3 -DNDEBUG -fwrapv -I{include}/python{version} -idirafter {include}",
            "SETUPTOOLS_EXT_SUFFIX": ".cpython-{}{}-{}-linux-gnu.so".format(
                *self.numbers, platform.machine()
            ),
        }
        # pip would keep the result as a wheel of the version that it runs on itself.
        from_source = ["--no-cache-dir", "--no-binary", package]
        yield succeeds([*pip, "install", "--target", site, *from_source, package], env=environment)


def headers_of(interpreter):
    """The options that find an interpreter's headers, or None."""
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    enter = ["chroot", interpreter.root] if interpreter.root else []
    place = subprocess.check_output([*enter, interpreter.executable, "-c", code], text=True).strip()
    root = interpreter.root or ""
    if not os.path.exists(f"{root}{place}/Python.h"):
        return None
    return [f"-I{root}{place}", *(["-idirafter", f"{root}/usr/include"] if root else [])]


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home, "sonde")


@contextlib.contextmanager
def installing():
    """While this holds, no other process of the tests installs anything: several run at once."""
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def root_is_mounted():
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == "/" for line in mounts)


def succeeds(command, **options):
    """Whether the command is there, ends in time and says that all went well."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=180, **options)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def sonde_program():
    """The built program: $SONDE, else the build folder's; None when there is none."""
    named = os.environ.get("SONDE")
    build = os.environ.get("SONDE_BUILD", "build")
    places = [named] if named else [build + "/python/sonde/_bin/sonde", build + "/src/cli/sonde"]
    for place in places:
        path = REPOSITORY / place
        if os.access(path, os.X_OK) and path.is_file():
            return path.resolve()
    return None


def sonde_folder():
    """The folder that must travel with the program: the build folder, or the prefix of an installation."""
    program = sonde_program()
    for folder in program.parents:
        if (folder / "build.ninja").exists() or (folder / "pyvenv.cfg").exists():
            return folder
    return program.parents[1]


def package_folder():
    """The folder to import the package `sonde` from that belongs to the program."""
    program = sonde_program()
    beside = program.parents[2]
    return beside if (beside / "sonde" / "__init__.py").exists() else sonde_folder() / "python"


def chosen(numbers):
    names = [name for name in os.environ.get("SONDE_TEST_PYTHONS", "").split(",") if name]
    return not names or "{}.{}".format(*numbers) in names


def oldest_unsupported():
    """A Python older than the oldest that we trace, or None."""
    home = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = [
        path for minor in range(6, 9) for path in pathlib.Path(home).glob(f"versions/3.{minor}.*/bin/python")
    ]
    return str(found[0]) if found else None


def everything():
    """All interpreters found, those that are not to be tested, too."""
    rows = os.environ.get("SONDE_TEST_ROWS")
    if not rows:
        command = [sys.executable, REPOSITORY / "tools" / "pythons", "--json"]
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        os.environ["SONDE_TEST_ROWS"] = rows  # pytest-xdist's workers need not search again
    return [Interpreter(row) for row in json.loads(rows)]


def find():
    """The interpreters to test, and the reasons for those that are not: [(name, reason)]."""
    usable, left_out = [], []
    found = everything()
    for interpreter in found:
        reason = interpreter.unusable() if chosen(interpreter.numbers) else "not in SONDE_TEST_PYTHONS"
        if reason:
            left_out.append((repr(interpreter), reason))
        else:
            usable.append(interpreter)
    for numbers in SUPPORTED:
        if not any(interpreter.numbers == numbers for interpreter in found):
            left_out.append(("{}.{}".format(*numbers), "no interpreter found (tools/pythons --fetch)"))
    return usable, left_out
