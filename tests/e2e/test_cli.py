"""What every command shares: names of recordings, what a list tells."""

import cProfile
import fcntl
import json
import os
import subprocess

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


def test_a_recording_in_work_is_told(run, tmp_path):
    path = write_profile(tmp_path / "x.prof")
    with open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert json.loads(run("list", "--json")[1])[0]["state"] == "running"


def test_a_large_recording_is_listed_by_its_ends(run, tmp_path):
    write_profile(tmp_path / "x.prof")
    run("merge", "x.prof", "-o", "x.sonde")
    data = (tmp_path / "x.sonde").read_bytes()
    end = data.rindex(b"\xc5snd")
    for name, tail in (("whole", data[end:]), ("cut", b"")):
        (tmp_path / f"{name}.sonde").write_bytes(data[:end] + bytes(10 << 20) + tail)
    rows = {row["path"]: row for row in json.loads(run("list", "--json")[1])}
    assert rows["whole.sonde"]["state"] == "complete"
    assert rows["cut.sonde"]["state"] == "cut short"
    assert rows["whole.sonde"]["mode"] == "pstats"


def test_an_empty_list_is_json_too(run):
    assert json.loads(run("list", "--json")[1]) == []


def test_help_does_not_depend_on_how_it_is_asked(run):
    assert run("--help") == run("help")
    assert run("list", "--help") == run("help", "list")
