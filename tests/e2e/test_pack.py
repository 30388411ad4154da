"""`sonde pack` and `sonde unpack`: a run in one file, and back to the byte."""

import subprocess

import pytest
from interpreters import sonde_folder

MAKE_RANKS = sonde_folder() / "tests" / "e2e" / "native" / "make_ranks"
RANKS = 16


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "halo.slurm-1234.0"
    folder.mkdir()
    subprocess.run([MAKE_RANKS, folder, str(RANKS), "1000"], check=True)
    (folder / "run.json").write_text('{"key": "slurm-1234.0"}\n')
    return folder


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def call(sonde, folder, *words):
    return subprocess.run([sonde, *words], cwd=folder, capture_output=True, text=True, timeout=60)


def test_there_and_back(sonde, run, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (run / "rank-00099.sonde.71.tmp").write_bytes(b"half of a file")
    done = call(sonde, tmp_path, "pack", run.name + "/")
    assert done.returncode == 0, done.stderr
    (run / "rank-00099.sonde.71.tmp").unlink()
    pack = tmp_path / "halo.slurm-1234.0.sondepack"
    assert pack.stat().st_size < 0.7 * sum(map(len, files_of(run).values()))
    done = call(sonde, home, "unpack", pack)
    assert done.returncode == 0, done.stderr
    assert f"unpacked {RANKS + 1} files into halo.slurm-1234.0" in done.stderr
    assert files_of(home / run.name) == files_of(run)


def test_nothing_is_written_over(sonde, run, tmp_path):
    (tmp_path / "mine").write_text("a file of somebody's")
    done = call(sonde, tmp_path, "pack", run, "-o", "mine")
    assert done.returncode == 2 and "is no packed run" in done.stderr
    assert (tmp_path / "mine").read_text() == "a file of somebody's"
    for _ in range(2):
        assert call(sonde, tmp_path, "pack", run, "-o", "x.sondepack").returncode == 0
    done = call(sonde, tmp_path, "unpack", "x.sondepack", "-o", run)
    assert done.returncode == 2 and "is not empty" in done.stderr


def test_cut_off(sonde, run, tmp_path):
    call(sonde, tmp_path, "pack", run, "-o", "x.sondepack")
    pack = tmp_path / "x.sondepack"
    pack.write_bytes(pack.read_bytes()[:-300])
    done = call(sonde, tmp_path, "unpack", "x.sondepack")
    assert done.returncode == 2
    assert "x.sondepack is cut off" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [run.name, "x.sondepack"]
    done = call(sonde, tmp_path, "unpack", "-k", "x.sondepack")
    assert done.returncode == 0, done.stderr
    kept, whole = files_of(tmp_path / "x"), files_of(run)
    assert kept and all(whole[name] == content for name, content in kept.items())


@pytest.mark.parametrize("content", [b"", b"\x89SND", b"no pack at all", b"\x89SNDPAK\n\x07\0\0\0"])
def test_what_is_no_pack(sonde, tmp_path, content):
    (tmp_path / "x.sondepack").write_bytes(content)
    done = call(sonde, tmp_path, "unpack", "x.sondepack")
    assert done.returncode == 2 and "x.sondepack" in done.stderr
    assert not (tmp_path / "x").exists()


def test_mistakes_are_explained(sonde, run, tmp_path):
    assert call(sonde, tmp_path, "pack").returncode == 2
    assert "unpack must be told" in call(sonde, tmp_path, "unpack").stderr
    assert "nowhere" in call(sonde, tmp_path, "pack", "nowhere").stderr
    twice = call(sonde, tmp_path, "pack", run, run / "run.json", "-o", "x.sondepack")
    assert twice.returncode == 2 and "two files are called run.json" in twice.stderr
    call(sonde, tmp_path, "pack", run, "-o", "x.sondepack")
    done = call(sonde, tmp_path, "report", "x.sondepack")
    assert done.returncode == 2 and "sonde unpack x.sondepack" in done.stderr
