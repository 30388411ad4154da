"""What every command shares: names of recordings, sources of defaults, answers to mistakes."""

import cProfile
import json
import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def run(sonde, tmp_path):
    """Runs sonde in an empty folder; returns (exit code, output, messages)."""

    def run_in(*words, folder=tmp_path, stdin=None, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SONDE_")}
        environment.update(NO_COLOR="1", COLUMNS="80", **variables)
        done = subprocess.run([sonde, *words], cwd=folder, env=environment, capture_output=True, input=stdin)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run_in


def write_profile(path, age_s=0):
    profile = cProfile.Profile()
    profile.runcall(sorted, [3, 1, 2])
    profile.dump_stats(path)
    now = path.stat().st_mtime
    os.utime(path, (now - age_s, now - age_s))
    return path


def test_the_newest_is_read_and_named(run, tmp_path):
    write_profile(tmp_path / "old.prof", 100)
    write_profile(tmp_path / "new.any-name", 50)
    (tmp_path / "newer.txt").write_text("no recording")
    (tmp_path / "folder").mkdir()
    code, output, messages = run("report")
    assert code == 0
    assert "reading new.any-name (the newest recording here)" in messages
    assert "sorted" in output
    assert run("report", "--quiet")[2] == ""


def test_places_in_the_list_are_names(run, tmp_path):
    write_profile(tmp_path / "old.prof", 100)
    write_profile(tmp_path / "new.prof", 50)
    assert "reading old.prof (@2)" in run("report", "@2")[2]
    code, _, messages = run("report", "@3")
    assert (code, messages) == (
        2,
        "sonde: error: @3: the working directory has only 2 recordings; see 'sonde list'\n",
    )


def test_a_folder_stands_for_its_recordings(run, tmp_path):
    inner = tmp_path / "ranks"
    inner.mkdir()
    for rank in range(3):
        write_profile(inner / f"cpu_{rank}.prof")
    (inner / "README").write_text("x")
    code, output, _ = run("report", "ranks", "--json")
    assert code == 0
    rows = json.dumps(json.loads(output))
    assert "sorted" in rows
    (tmp_path / "empty").mkdir()
    code, _, messages = run("report", "empty")
    assert (code, messages) == (2, "sonde: error: the folder empty holds no recording\n")


def test_standard_input(run, tmp_path):
    data = write_profile(tmp_path / "x.prof").read_bytes()
    code, output, _ = run("report", "-", stdin=data)
    assert code == 0
    assert "sorted" in output


def test_nothing_to_read(run):
    code, output, messages = run("report")
    assert (code, output) == (2, "")
    assert "no recording in the working directory" in messages
    assert "sonde trace" in messages


def test_list(run, tmp_path):
    write_profile(tmp_path / "old.prof", 3 * 86400)
    run("merge", "old.prof", "-o", "whole.sonde")
    data = (tmp_path / "whole.sonde").read_bytes()
    (tmp_path / "cut.sonde").write_bytes(data[:-10])
    (tmp_path / "broken.sonde").write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    (tmp_path / "other.sonde").write_text("not one")
    code, output, _ = run("list", "--json")
    assert code == 0
    rows = {row["path"]: row for row in json.loads(output)}
    assert {path: row["state"] for path, row in rows.items()} == {
        "whole.sonde": "complete",
        "cut.sonde": "cut short",
        "broken.sonde": "damaged",
        "old.prof": "complete",
    }
    assert rows["old.prof"]["index"] == 4
    assert rows["old.prof"]["duration_ns"] > 0
    assert rows["old.prof"]["size_bytes"] == (tmp_path / "old.prof").stat().st_size
    table = run("list", str(tmp_path), folder="/")[1].splitlines()
    assert len(table) == 5
    assert table[4].split()[:4] == ["@4", "old.prof", "3", "days"]


def test_an_empty_list(run):
    assert run("list") == (
        0,
        "",
        "sonde: no recording in the working directory; make one: sonde trace SCRIPT\n",
    )
    assert json.loads(run("list", "--json")[1]) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reprot"], "there is no command 'reprot'; did you mean 'report'?"),
        (["zzz"], "there is no command 'zzz'"),
        (["list", "--jsn"], "unknown option '--jsn'; did you mean '--json'?"),
        (["list", "-Z"], "unknown option '-Z'"),
        (["list", "--color", "red"], "--color: unknown choice 'red'; it is one of: auto, always, never"),
        (["list", "a", "b"], "list takes one folder, not 2"),
        (["list", "none"], "cannot read the folder none: No such file or directory"),
        (["report", "none.prof"], "cannot open none.prof: No such file or directory"),
        (["help", "hlep"], "there is no command 'hlep'; did you mean 'help'?"),
    ],
)
def test_mistakes(run, words, message):
    code, output, messages = run(*words)
    assert (code, output) == (2, "")
    assert messages.splitlines()[0] == "sonde: error: " + message


def test_defaults(run, tmp_path):
    settings = tmp_path / "pyproject.toml"
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    settings.write_text("[tool.sonde.list]\njson = true\n")
    assert run("list", folder=inner)[1] == "[\n]\n"
    assert run("list", "--no-json", folder=inner)[1] == ""
    assert run("list", folder=inner, SONDE_OPTIONS="--no-json")[1] == ""
    settings.write_text("[tool.sonde]\njsn = true\n")
    code, _, messages = run("list", folder=inner)
    assert code == 0
    assert messages.splitlines()[0] == (
        f"sonde: warning: {settings}:2: 'jsn' in [tool.sonde] is no option of any command"
    )
    settings.write_text("[tool.sonde]\njson = 3\n")
    code, _, messages = run("list", folder=inner)
    assert (code, messages) == (
        2,
        f"sonde: error: {settings}:2: --json takes no value (or true or false), not '3'\n",
    )
    assert run("list", "--help", folder=inner)[0] == 0


def test_help_and_version(run):
    code, brief, messages = run()
    assert (code, messages) == (0, "")
    assert "Try it: sonde trace script.py" in brief
    code, whole, _ = run("--help")
    assert code == 0
    assert whole == run("help")[1]
    assert max(map(len, whole.splitlines())) <= 80
    assert run("list", "--help") == run("help", "list")
    assert run("--version")[1].startswith("sonde 0.")
    assert "\x1b" in run("help", "list", "--color", "always")[1]
    assert "\x1b" not in run("help", "list")[1]


def test_a_full_disk_is_told(sonde):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run([sonde, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "cannot write to standard output: No space left on device" in done.stderr
