"""The manual pages and completion scripts that the program makes are what man and the shells accept."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / os.environ.get("SONDE_BUILD", "build") / "python/sonde/_bin/sonde"


def sonde(*words, **options):
    return subprocess.run([SONDE, *words], capture_output=True, text=True, check=True, **options).stdout


def commands():
    listed = sonde("--help").split("Options of every command")[0]
    return re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)


@pytest.mark.parametrize("command", ["", *commands()])
def test_manual_has_no_warnings(command, tmp_path):
    page = tmp_path / "page.1"
    page.write_text(sonde("help", "--man", *command.split()))
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
        assert [line for line in lint.stdout.splitlines() if "missing date" not in line] == []
    if not shutil.which("man"):
        pytest.skip("no man on this machine")
    shown = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
    )
    assert shown.stderr == ""
    text = re.sub(r".\x08|\x1b\[\d*m", "", shown.stdout)
    for heading in ("NAME", "SYNOPSIS", "OPTIONS"):
        assert heading in text


@pytest.mark.parametrize("command", commands())
def test_help_fits_the_terminal(command):
    for columns in (50, 80):
        text = sonde(command, "--help", env={**os.environ, "COLUMNS": str(columns)})
        words = text.split("\nExamples\n")[0].split("\n\n", 2)[2]
        assert [line for line in words.splitlines() if len(line) > columns] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_valid(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    script = tmp_path / "script"
    script.write_text(sonde("help", "--completion", shell))
    checked = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def bash_offers(*words):
    """What bash offers for the last word of a line, split as bash splits it."""
    ask = (
        f'source <("{SONDE}" help --completion bash); compopt() {{ :; }}; COMP_WORDS=("$@"); '
        'COMP_CWORD=$(($# - 1)); _sonde; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    line = ["bash", "-c", ask, "bash", "sonde", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes():
    assert set(commands()) < set(bash_offers(""))
    assert bash_offers("lis") == ["list"]
    assert bash_offers("list", "--js") == ["--json"]
    assert bash_offers("list", "--color", "a") == ["auto", "always"]
    assert bash_offers("list", "--color", "=", "n") == ["never"]
    assert bash_offers("list", "--color", "=") == ["auto", "always", "never"]
    assert bash_offers("help", "mer") == ["merge"]
    assert bash_offers("help", "--completion", "") == ["bash", "zsh", "fish"]
    assert bash_offers("list", "x") == []  # bash offers files itself
    assert bash_offers("no-such-command", "--") == []


def test_fish_completes():
    if not shutil.which("fish"):
        pytest.skip("no fish on this machine")
    ask = 'source (command $argv[1] help --completion fish | psub); complete -C "sonde list --js"'
    done = subprocess.run(["fish", "-c", ask, str(SONDE)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\t")[0] == "--json"
