"""The launchers that the tests of ranks use: real ones, with the options that a small machine needs."""

import os
import shutil
import subprocess

import pytest

PYTHON = "/usr/bin/python3"  # whose mpi4py is Debian's, for Open MPI


def launcher(name, ranks):
    """The words before a command; skips the test where the launcher is not installed."""
    program = shutil.which(f"mpirun.{name}")
    if not program:
        pytest.skip(f"mpirun.{name} is not installed")
    if name == "mpich":
        return [program, "-n", str(ranks)]
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [program, *as_root, "--oversubscribe", "-n", str(ranks)]


def need_mpi4py():
    if subprocess.run([PYTHON, "-c", "import mpi4py.MPI"], capture_output=True).returncode:
        pytest.skip(f"mpi4py is not installed for {PYTHON}")
