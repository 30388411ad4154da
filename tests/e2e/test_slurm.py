"""Ranks under a real Slurm of one node: steps, batch scripts, scancel and the end of a job's time."""

import re
import tempfile
import time

import interpreters
import pytest
import slurm
from conftest import read
from test_ranks_launch import calls_of

import mpi

COUNTED = """
import os
def work():
    pass
for turn in range(int(os.environ["SLURM_PROCID"]) + 1):
    work()
"""
# The last calls are made when the first have long been written: a recorder that closes its file has them.
WAITING = """
import os, time
def work():
    pass
work()
time.sleep(1)
for turn in range(999):
    work()
open("ready." + os.environ["SLURM_PROCID"], "w").close()
time.sleep(120)
"""


@pytest.fixture(scope="module")
def cluster():
    folder = tempfile.TemporaryDirectory(prefix="sonde-slurm-")
    with folder:
        try:
            made = slurm.Cluster(folder.name)
        except slurm.Unavailable as why:
            pytest.skip(f"no Slurm: {why}")
        yield made
        made.stop()


@pytest.fixture
def batch(cluster, modern_launch):
    """Submits the lines as a job, whose number it gives."""

    jobs = []

    def submit(lines, *options):
        script = modern_launch.write("job.sh", "#!/bin/sh\n" + lines)
        words = ["sbatch", "--parsable", "--overcommit", "-n", "3", *options, script]
        done = cluster.run(*words, cwd=modern_launch.folder)
        assert done.returncode == 0, done.stdout
        jobs.append(done.stdout.strip())
        return jobs[-1]

    yield submit
    cluster.run("scancel", *jobs)


def traced(launch, script):
    return f"{launch.sonde} trace -- {launch.python.executable} {script}"


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_step(cluster, ranks, modern_launch):
    script = modern_launch.write("sim.py", COUNTED)
    words = ["srun", "-n", ranks, "--overcommit", *traced(modern_launch, script).split()]
    done = cluster.run(*words, cwd=modern_launch.folder)
    assert done.returncode == 0, done.stdout
    if ranks == 1:
        assert len(list(modern_launch.folder.glob("sim.*.sonde"))) == 1
        return
    (folder,) = modern_launch.folder.glob("sim.slurm-*")
    assert re.fullmatch(r"sim\.slurm-\d+\.0", folder.name)
    for rank in range(ranks):
        recording = read(folder / f"rank-{rank}.sonde")
        assert list(recording["processes"]["rank"][1:]) == [rank]
        assert calls_of(recording, "work") == rank + 1
        assert recording["meta"]["rank_from"] in {"SLURM_PROCID", "PMI_RANK"}
    assert done.stdout.count("sonde: ") == 1, done.stdout


def test_batch_script(cluster, batch, modern_launch):
    """Two steps are two runs, the script itself is none, and mpirun in it counts for itself."""
    step = traced(modern_launch, modern_launch.write("sim.py", COUNTED))
    alone = traced(modern_launch, modern_launch.write("alone.py", COUNTED))
    inner = traced(modern_launch, modern_launch.write("inner.py", "pass"))
    mpirun = " ".join(mpi.launcher("mpich", 2))
    job = batch(f"srun {step}\nsrun {step}\n{alone}\n{mpirun} -launcher fork {inner}\n")
    assert cluster.wait_for_end(job) == "COMPLETED", (modern_launch.folder / f"slurm-{job}.out").read_text()
    folders = sorted(path.name for path in modern_launch.folder.iterdir() if path.is_dir())
    inner = folders.pop(0)
    assert folders == [f"sim.slurm-{job}.0", f"sim.slurm-{job}.1"]
    assert sorted(path.name for path in (modern_launch.folder / inner).glob("rank*")) == [
        "rank-0.sonde",
        "rank-1.sonde",
    ]
    assert all(len(list((modern_launch.folder / name).glob("rank-*"))) == 3 for name in folders)
    assert len(list(modern_launch.folder.glob("alone.*.sonde"))) == 1


def test_example_job(cluster, batch, modern_launch):
    """The job script of the examples, as it is, with real MPI by Slurm's own plugin."""
    mpi.need_mpi4py()
    if "pmix" not in cluster.run("srun", "--mpi=list").stdout:
        pytest.skip("this Slurm has no plugin for PMIx")
    examples = interpreters.REPOSITORY / "examples" / "cluster"
    path = f"{modern_launch.sonde.parent}:/usr/bin:/bin"
    variables = f"ALL,EXAMPLES={examples},SLURM_MPI_TYPE=pmix,PATH={path}"
    job = batch((examples / "job.slurm").read_text(), "-n", "3", f"--export={variables}", "--time=5")
    state, said = cluster.wait_for_end(job, 90), (modern_launch.folder / f"slurm-{job}.out").read_text()
    assert state == "COMPLETED" and "3 ranks, heat" in said and "3 of 3 ranks had work" in said, said
    for name in (f"halo.slurm-{job}.0", f"imbalance.slurm-{job}.1"):
        found = [read(modern_launch.folder / name / f"rank-{rank}.sonde")["meta"] for rank in range(3)]
        assert [(meta["rank"], meta["ranks"], meta["local_rank"]) for meta in found] == [
            (str(rank), "3", str(rank)) for rank in range(3)
        ]


def wait_for_ranks(cluster, folder, job):
    cluster.wait(
        lambda: len(list(folder.glob("ready.*"))) == 3, f"job {job} did not begin: {cluster.state(job)}"
    )


def check_whole(folder, job):
    for rank in range(3):
        path = folder / f"waiting.slurm-{job}.0" / f"rank-{rank}.sonde"
        deadline = time.monotonic() + 20
        while not read(path)["damage"]["complete"]:
            assert time.monotonic() < deadline, f"{path} was not closed"
            time.sleep(0.1)
        assert calls_of(read(path), "work") == 1000


def test_cancelled(cluster, batch, modern_launch):
    job = batch("srun " + traced(modern_launch, modern_launch.write("waiting.py", WAITING)))
    wait_for_ranks(cluster, modern_launch.folder, job)
    dump = cluster.run(modern_launch.sonde, "dump", "--mpi-all", job).stdout
    assert "3 of 3 ranks" in dump and "ranks 0-2 (3)" in dump and "waiting.py" in dump
    cluster.run("scancel", job)
    assert cluster.wait_for_end(job) == "CANCELLED"
    check_whole(modern_launch.folder, job)


def test_out_of_time(cluster, batch, modern_launch):
    """Slurm looks every half minute whether a job's time is over."""
    job = batch("srun " + traced(modern_launch, modern_launch.write("waiting.py", WAITING)), "--time=1")
    wait_for_ranks(cluster, modern_launch.folder, job)
    cluster.run("scontrol", "update", f"JobId={job}", "EndTime=now")
    assert cluster.wait_for_end(job, 120) == "TIMEOUT"
    check_whole(modern_launch.folder, job)
