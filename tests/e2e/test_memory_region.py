"""with sonde.memory(): in a program that nobody has started in a special way, in every Python found."""

import shutil
import subprocess

import interpreters
import memory_cases
import pytest

CASES = [name for name in vars(memory_cases) if name.startswith("check_")]


def run_case(python, name, folder, under=()):
    script = shutil.copy(memory_cases.__file__, folder)
    command = [*under, python.executable, script, interpreters.package_folder(), name]
    done = subprocess.run(
        python.enter(command, folder), cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_region(python, name, tmp_path):
    run_case(python, name, tmp_path)
