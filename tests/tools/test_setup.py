"""tools/setup on a machine where something is missing, played by small commands on PATH."""

import os
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[2] / "tools" / "setup"


@pytest.fixture
def machine(tmp_path):
    """Runs tools/setup as a user who is not root, with the commands given as {name: shell text}."""

    def run(commands, *arguments):
        for name, text in commands.items():
            (tmp_path / name).write_text("#!/bin/sh\n" + text + "\n")
            (tmp_path / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run([SETUP, *arguments], env=environment, **options)

    return run


USER = {"id": "echo 1000", "sudo": "exit 1"}


def test_says_exactly_what_is_missing_without_root_or_sudo(machine):
    missing = 'case "$*" in *zstd*|*graphviz*) exit 1;; esac; echo installed'
    done = machine({**USER, "dpkg-query": missing}, "demo")
    assert done.returncode == 2
    assert "neither root nor sudo: libzstd-dev graphviz\n" in done.stderr
    assert "apt-get install --yes --no-install-recommends libzstd-dev graphviz\n" in done.stderr


def test_build_tier_does_not_ask_for_the_tests_packages(machine):
    done = machine({**USER, "dpkg-query": "exit 1"}, "build")
    assert done.returncode == 2
    assert "gcc" in done.stderr
    assert "cmocka" not in done.stderr


def test_failing_apt_is_shown_and_ends_the_setup(machine):
    commands = {"id": "echo 0", "dpkg-query": "exit 1", "apt-get": "echo the mirror is away; exit 100"}
    done = machine(commands)
    assert done.returncode == 2
    assert "the mirror is away" in done.stderr


def test_unknown_tier(machine):
    assert machine({}, "everything").returncode == 2
