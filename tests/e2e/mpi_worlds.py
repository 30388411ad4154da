"""Real libraries of MPI with Pythons that can speak them: what a test of MPI runs in."""

import os
import pathlib
import shutil
import subprocess

import pytest

DEBIAN = "/usr/bin/python3"
MPICH = ("/usr/lib", "libmpich.so.12")  # what Debian calls it; its users look for libmpi.so.12


class World:
    def __init__(self, name, python, environment=None):
        self.name, self.python, self.environment = name, python, environment or {}
        self.launcher = shutil.which(f"mpirun.{name}")
        if not self.launcher:
            pytest.skip(f"mpirun.{name} is not installed")

    def words(self, ranks):
        """What comes before the program of so many ranks; " : " joins two such."""
        if self.name == "mpich":
            return [self.launcher, "-n", str(ranks)]
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [self.launcher, *as_root, "--oversubscribe", "-n", str(ranks)]

    def run(self, words, folder, expect=0, timeout=120):
        words, environment = list(map(str, words)), {**os.environ, **self.environment}
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout
        )
        assert expect is None or done.returncode == expect, done.stderr + done.stdout
        return done


def debian():
    if subprocess.run([DEBIAN, "-c", "import mpi4py.MPI"], capture_output=True).returncode:
        pytest.skip(f"mpi4py is not installed for {DEBIAN}")
    return World("openmpi", DEBIAN)


def of_wheel(interpreter):
    """The Python of an environment with mpi4py from PyPI, which takes whatever library it finds."""
    if interpreter.root:
        pytest.skip(f"{interpreter!r} has a root file system of its own, without MPI")
    python, why = interpreter.peer_environment(["mpi4py"])
    if not python:
        pytest.skip(why)
    return python


def openmpi(interpreter):
    return World("openmpi", of_wheel(interpreter))


def mpich(interpreter, folder):
    python = of_wheel(interpreter)
    found = next(pathlib.Path(MPICH[0]).glob(f"**/{MPICH[1]}"), None)
    if not found:
        pytest.skip("MPICH's library is not installed")
    libraries = pathlib.Path(folder, "libraries")
    libraries.mkdir(exist_ok=True)
    if not (libraries / "libmpi.so.12").exists():
        (libraries / "libmpi.so.12").symlink_to(found)
    path = ":".join(filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")]))
    wanted = {"LD_LIBRARY_PATH": path, "MPI4PY_MPIABI": "mpich", "MPI4PY_LIBMPI": "libmpi.so.12"}
    return World("mpich", python, wanted)
