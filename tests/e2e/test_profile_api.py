"""sonde.Profile against cProfile.Profile, in every Python found; python -m sonde."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import interpreters
import profile_cases
import profile_workloads
import pytest

COMPARED = [name for name in vars(profile_cases) if name.startswith("compare_")]
CHECKED = [name for name in vars(profile_cases) if name.startswith("check_")]
SOURCES = interpreters.REPOSITORY / "python"


def packages():
    """The folder to put on sys.path: the one that holds the package beside the built program."""
    folder = interpreters.sonde_folder()
    for place in ("python", "lib/sonde/python"):
        if (folder / place / "sonde" / "__init__.py").exists():
            return folder / place
    pytest.fail(f"no package sonde below {folder}")


def run_case(python, name, tmp_path, under=()):
    shutil.copy(profile_workloads.__file__, tmp_path)
    script = shutil.copy(profile_cases.__file__, tmp_path)
    command = python.enter([*under, python.executable, script, packages(), name], tmp_path)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", COMPARED)
def test_equals_cprofile(python, name, tmp_path):
    results = json.loads(run_case(python, name, tmp_path))
    assert results["sonde"] == results["cProfile"]
    assert results["sonde"]


@pytest.mark.parametrize("name", CHECKED)
def test_profile(python, name, tmp_path):
    run_case(python, name, tmp_path)


@pytest.mark.parametrize("name", ["check_recipe", "check_statistics", "check_threads", "check_two_profilers"])
def test_profile_in_a_traced_program(python, sonde, name, tmp_path):
    output = tmp_path / "outer.sonde"
    run_case(python, name, tmp_path, [sonde, "trace", "-o", output, "--quiet", "--"])
    assert output.stat().st_size > 0


@pytest.fixture
def echo_package(tmp_path):
    """The package's launcher with, in the place of the program, one that prints what it was given."""
    package = tmp_path / "lib/sonde/python/sonde"
    package.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(SOURCES / "sonde" / name, package)
    return package


def write_program(path):
    """An ELF program: the launcher refuses scripts. `env` shows its environment and ignores no argument."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(shutil.which("printenv"), path)
    path.chmod(0o755)


def launch(package, arguments, interpreter=sys.executable, **keywords):
    environment = dict(os.environ, PYTHONPATH=str(package.parent), PYTHONDONTWRITEBYTECODE="1")
    command = [interpreter, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, **keywords)


@pytest.mark.parametrize("place", ["lib/sonde/python/sonde/_bin/sonde", "bin/sonde"])
def test_launcher_finds_the_program(echo_package, tmp_path, place):
    write_program(tmp_path / place)
    done = launch(echo_package, ["-m", "sonde", "SONDE_PYTHON"])
    assert done.stdout == sys.executable + "\n", done.stderr


@pytest.mark.parametrize(
    "flags", [["-O"], ["-O", "-X", "dev", "-W", "error"], ["-u", "-B"], ["-W", "ignore:it's a test"], ["-Bu"]]
)
def test_launcher_hands_on_interpreter_flags(modern, echo_package, tmp_path, flags):
    write_program(tmp_path / "bin/sonde")
    arguments = [*flags, "-m", "sonde", "SONDE_PYTHON_FLAGS"]
    done = launch(echo_package, arguments, modern.executable)
    import shlex

    if modern.numbers >= (3, 10):
        assert shlex.split(done.stdout) == flags, done.stderr


def test_launcher_splits_bundled_flags(modern, echo_package, tmp_path):
    write_program(tmp_path / "bin/sonde")
    done = launch(echo_package, ["-Om", "sonde", "SONDE_PYTHON_FLAGS"], modern.executable)
    assert done.stdout.split() == ["-O"], done.stderr
    assert launch(echo_package, ["-m", "sonde", "SONDE_PYTHON_FLAGS"], modern.executable).returncode == 1


def test_launcher_without_program(echo_package):
    done = launch(echo_package, ["-m", "sonde", "trace", "x.py"], cwd=echo_package.parent)
    if "found neither" not in done.stderr:
        pytest.skip("a program named sonde is on PATH")
    assert done.returncode == 2


def test_launcher_takes_no_script_for_the_program(echo_package, tmp_path):
    """A console script named sonde would start the launcher again, for ever."""
    script = tmp_path / "bin" / "sonde"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 77\n")
    script.chmod(0o755)
    done = launch(echo_package, ["-m", "sonde"])
    assert done.returncode != 77


def test_package_parses_everywhere():
    """The launcher brings the package into any interpreter: 3.9's grammar must do."""
    import ast

    for path in pathlib.Path(SOURCES, "sonde").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))
