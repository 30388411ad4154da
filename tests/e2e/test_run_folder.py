"""What ranks make of their environment, and the folder that they agree on, without any launcher."""

import json
import re
import subprocess

import interpreters
import pytest
from conftest import read

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "OMPI_MCA_orte_precondition_transports": "c8806c32c4c73b38-fef47c9b1d7566ff",
}
SLURM = {
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_ID": "2",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NUM_TASKS": "12",
    "SLURM_NTASKS": "12",
}
TORCH = {
    "RANK": "2",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "run7",
}
# name: (environment, rank, ranks, local rank, variable, run id)
CASES = {
    "none": ({}, None, None, None, None, r"\d{8}-\d{6}-..$"),
    "user": (
        {"SONDE_RANK": "7", "SONDE_SIZE": "9", "SONDE_RUN_ID": "a b/c", **OPEN_MPI},
        *(7, 9, None, "SONDE_RANK", "a-b-c$"),
    ),
    "off": ({"SONDE_RANK": "0", "SONDE_SIZE": "1", **OPEN_MPI}, None, None, None, None, r"\d{8}-"),
    "Open MPI, several hosts": (OPEN_MPI, 5, 8, 1, "OMPI_COMM_WORLD_RANK", r"openmpi-[0-9a-f]{8}$"),
    "Open MPI, one host": (
        {**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "8"},
        *(5, 8, 1, "OMPI_COMM_WORLD_RANK", r"\d{8}-\d{6}-\d+$"),
    ),
    "empty": ({**OPEN_MPI, "OMPI_COMM_WORLD_RANK": ""}, None, None, None, None, r"\d{8}-"),
    "no number": ({**OPEN_MPI, "OMPI_COMM_WORLD_RANK": "5x"}, None, None, None, None, r"\d{8}-"),
    "MVAPICH2": (
        {"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"},
        *(1, 2, None, "MV2_COMM_WORLD_RANK", r"\d{8}-\d{6}-\d+-"),
    ),
    "PALS": (
        {"PALS_RANKID": "3", "PMI_SIZE": "4", "PALS_APID": "u-1"},
        3,
        4,
        None,
        "PALS_RANKID",
        "craypals-u-1$",
    ),
    "PMI_ID": ({"PMI_ID": "3", "PMI_SIZE": "4", "PMI_LOCAL_RANK": "2"}, 3, 4, 2, "PMI_ID", r"\d{8}-"),
    "jsrun": (
        {"JSM_NAMESPACE_RANK": "3", "JSM_NAMESPACE_SIZE": "4", "PMIX_NAMESPACE": "9.2"},
        *(3, 4, None, "JSM_NAMESPACE_RANK", "lsfjsrun-9.2$"),
    ),
    "Flux": (
        {"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "2", "FLUX_TASK_LOCAL_ID": "1", "FLUX_JOB_ID": "f2Qk9"},
        *(1, 2, 1, "FLUX_TASK_RANK", "flux-f2Qk9$"),
    ),
    "PMIx": (
        {"PMIX_RANK": "4", "PMIX_NAMESPACE": "prterun-h-1@1"},
        4,
        None,
        None,
        "PMIX_RANK",
        "pmix-[0-9a-f]{8}$",
    ),
    "torchrun": (TORCH, 2, 4, 0, "RANK", "torchrun-run7$"),
    "torchrun's new workers": (
        {**TORCH, "TORCHELASTIC_RESTART_COUNT": "2"},
        *(2, 4, 0, "RANK", r"torchrun-run7\.r2$"),
    ),
    "torchrun in a step": (
        {**SLURM, **TORCH, "PMI_RANK": "0", "PMI_SIZE": "2"},
        2,
        4,
        0,
        "RANK",
        "torchrun-run7$",
    ),
    "RANK alone": ({"RANK": "3"}, None, None, None, None, r"\d{8}-"),
    "Slurm": (SLURM, 3, 12, 1, "SLURM_PROCID", r"slurm-1234\.2$"),
    "requeued": ({**SLURM, "SLURM_RESTART_COUNT": "1"}, 3, 12, 1, "SLURM_PROCID", r"slurm-1234\.2\.r1$"),
    "Slurm's array": (
        {**SLURM, "SLURM_ARRAY_JOB_ID": "1200", "SLURM_ARRAY_TASK_ID": "17"},
        *(3, 12, 1, "SLURM_PROCID", r"slurm-1200_17\.2$"),
    ),
    "batch script": (
        {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"},
        *([None] * 4),
        r"\d{8}-",
    ),
    "mpirun in a step": ({**SLURM, **OPEN_MPI}, 5, 8, 1, "OMPI_COMM_WORLD_RANK", "openmpi-"),
    "array": ({"PBS_ARRAY_INDEX": "17"}, *([None] * 4), r"\d{8}-\d{6}-..\.task-17$"),
    "no array": ({"SGE_TASK_ID": "undefined", "LSB_JOBINDEX": "0"}, *([None] * 4), r"\d{8}-\d{6}-..$"),
}


@pytest.mark.parametrize("name", CASES)
def test_environment(name, modern_launch):
    environment, rank, ranks, local_rank, variable, run_id = CASES[name]
    done = modern_launch.run([modern_launch.sonde, "env", "--json"], environment=environment)
    facts = json.loads(done.stdout)
    assert (facts["rank"], facts["ranks"], facts["local_rank"]) == (rank, ranks, local_rank)
    assert facts["rank_from"] == variable and re.match(run_id, facts["run_id"]), facts
    assert set(facts["variables"]) <= set(environment)
    text = modern_launch.run([modern_launch.sonde, "env"], environment=environment).stdout.decode()
    assert (f"Rank {rank}" if rank is not None else "No rank") in text


def test_the_package_agrees(modern):
    """One table tells the program and the Python package which rank this is."""
    code = """
import json, os, sys
from sonde._inside import launched_rank
wrong = []
for name, (environment, rank, *_) in json.load(sys.stdin).items():
    os.environ.update(environment)
    if launched_rank() != rank:
        wrong.append((name, launched_rank(), rank))
    for variable in environment:
        del os.environ[variable]
sys.exit(repr(wrong) if wrong else 0)
"""
    done = subprocess.run(
        [modern.executable, "-c", code],
        input=json.dumps(CASES),
        env={"PYTHONPATH": str(interpreters.package_folder())},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


class Ranks:
    """Ranks started by hand, all at once."""

    def __init__(self, launch):
        self.launch = launch
        self.script = launch.write("sim.py", "import sys\nsys.stdin.read()")

    def start(self, rank, size, *options, **variables):
        environment = {"SONDE_RANK": str(rank), "SONDE_SIZE": str(size), **variables}
        words = [self.launch.sonde, "trace", *options, "--", self.launch.python.executable, self.script]
        return self.launch.start(words, environment=environment, stdin=subprocess.PIPE)

    def end(self, processes):
        """What they said."""
        said = [process.communicate(timeout=60)[1].decode() for process in processes]
        assert all(process.returncode == 0 for process in processes), said
        return said

    def run(self, ranks, size, *options, **variables):
        return self.end([self.start(rank, size, *options, **variables) for rank in ranks])


@pytest.fixture
def ranks(modern_launch):
    return Ranks(modern_launch)


def files(folder):
    """{folder: names of recordings}"""
    found = {path.name: path for path in folder.iterdir() if path.is_dir()}
    return {name: sorted(file.name for file in path.glob("rank-*")) for name, path in found.items()}


BOTH = ["rank-0.sonde", "rank-1.sonde"]


def test_runs_are_not_mixed(ranks):
    """The same id again, or a folder of that name: each run gets its own."""
    folder = ranks.launch.folder
    ranks.run([0, 1], 2, SONDE_RUN_ID="one")
    ranks.run([0, 1], 2, SONDE_RUN_ID="one")
    assert files(folder) == {"sim.one": BOTH, "sim.one-2": BOTH}
    first = [ranks.start(rank, 2, "-o", "out", SONDE_RUN_ID="two") for rank in range(2)]
    second = [ranks.start(rank, 2, "-o", "out", SONDE_RUN_ID="three") for rank in range(2)]
    said = ranks.end(first + second)
    found = files(folder)
    assert found["out"] == found["out-2"] == BOTH
    for name in ("out", "out-2"):
        assert len({read(folder / name / file)["meta"]["run_id"] for file in BOTH}) == 1
    assert sum("sonde report out" in text for text in said) == 2, (
        "the first rank of each run says where it is"
    )


def test_digits_and_late_ranks(ranks):
    """Names sort; a rank that starts when others have ended still finds the folder."""
    ranks.run([3], 1200, SONDE_RUN_ID="x")
    ranks.run([17], 1200, SONDE_RUN_ID="x")
    assert files(ranks.launch.folder) == {"sim.x": ["rank-0003.sonde", "rank-0017.sonde"]}


def test_an_old_folder_is_left_alone(ranks):
    folder = ranks.launch.folder
    ranks.run([0], 2, SONDE_RUN_ID="x")
    note = folder / "sim.x" / "run.json"
    written = json.loads(note.read_text())
    note.write_text(json.dumps({**written, "created_s": written["created_s"] - 10**7}))
    ranks.run([1], 2, SONDE_RUN_ID="x")
    assert files(folder) == {"sim.x": ["rank-0.sonde"], "sim.x-2": ["rank-1.sonde"]}


def test_two_that_believe_to_be_the_same_rank(ranks):
    """A launcher may give all its ranks the same number (mpirun_rsh): nobody overwrites anybody."""
    first = ranks.start(0, 2, SONDE_RUN_ID="x")
    while not list(ranks.launch.folder.glob("sim.x/rank-0.sonde")):
        assert first.poll() is None
    second = ranks.start(0, 2, SONDE_RUN_ID="x")
    while len(list(ranks.launch.folder.glob("sim.x/rank-0*"))) < 2:
        assert second.poll() is None
    said = ranks.end([first, second])
    names = files(ranks.launch.folder)["sim.x"]
    assert len(names) == 2 and re.fullmatch(r"rank-0\.sonde\.0\.\d+", names[1])
    assert "has another writer" in said[1] and names[1] in said[1]
    assert all(read(ranks.launch.folder / "sim.x" / name)["damage"]["complete"] for name in names)


def test_where_the_output_goes(ranks):
    folder = ranks.launch.folder
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("of somebody else")
    ranks.run([0, 1], 2, "-o", "mine", SONDE_RUN_ID="x")
    assert files(folder / "mine") == {"sim.x": BOTH}, "a folder with other things gets the run's in it"
    (folder / "empty").mkdir()
    ranks.run([0, 1], 2, "-o", "empty/", SONDE_RUN_ID="x")
    assert files(folder)["empty"] == BOTH
    ranks.run([0, 1], 2, "-o", "f%r.sonde", SONDE_RUN_ID="x")
    assert (folder / "f0.sonde").exists() and (folder / "f1.sonde").exists(), "as it says"
    ranks.run([1], 2, "-o", "one.1.sonde", SONDE_RUN_ID="x")
    assert (folder / "one.1.sonde").is_file(), "a suffix means a file: the shell may have put the rank in"
    assert read(folder / "one.1.sonde")["meta"]["run_id"] == "x"
    ranks.run([0, 1], 2, "-o", "text", "-f", "pstats", SONDE_RUN_ID="x")
    assert (folder / "text").is_file()
    said = ranks.launch.run([ranks.launch.sonde, "report", "empty"], cwd=folder)
    assert said.returncode == 0


def test_a_run_is_one_recording(ranks):
    """Where no recording is named, the newest may be a run; it is listed as one."""
    folder, sonde = ranks.launch.folder, ranks.launch.sonde
    ranks.run([0, 1], 2, SONDE_RUN_ID="x")
    (row,) = json.loads(ranks.launch.run([sonde, "list", "--json"]).stdout)
    assert row["path"] == "sim.x" and row["command"].startswith("2 ranks: ") and row["state"] == "complete"
    assert row["size_bytes"] == sum(path.stat().st_size for path in (folder / "sim.x").glob("rank-*"))
    for words in (["info"], ["info", "@1"], ["info", "sim.x"], ["info", "sim.x/"]):
        done = ranks.launch.run([sonde, *words, "--json"])
        assert [info["meta"]["rank"] for info in json.loads(done.stdout)] == ["0", "1"], done.stderr
    assert b"\nsim.x: call trace of 2 ranks" in ranks.launch.run([sonde, "report"]).stdout
    done = ranks.launch.run([sonde, "report", "."])
    assert done.returncode == 2 and b"name one" in done.stderr, "several runs are not added up by mistake"
    (folder / "sim.x" / "rank-1.sonde").write_bytes(b"spoilt")
    for words in (["report"], ["merge", "-o", "one.sonde"]):
        done = ranks.launch.run([sonde, *words, "sim.x"])
        assert done.returncode == 0 and b"sim.x/rank-1.sonde is no recording" in done.stderr


def test_array_tasks_are_runs_of_their_own(ranks):
    words = [ranks.launch.sonde, "trace", "--", ranks.launch.python.executable, ranks.script]
    done = ranks.launch.run(words, environment={"SLURM_ARRAY_TASK_ID": "4"})
    assert done.returncode == 0
    (path,) = ranks.launch.folder.glob("sim.*.sonde")
    assert path.name.endswith(".task-4.sonde") and set(read(path)["processes"]["rank"][1:]) == {2**32 - 1}


def test_a_folder_that_cannot_be_made(ranks):
    process = ranks.start(0, 2, "-o", "no/such/place", SONDE_RUN_ID="x")
    _, said = process.communicate(timeout=30)
    assert process.returncode == 2 and b"no/such/place" in said
    (ranks.launch.folder / "broken").mkdir()
    (ranks.launch.folder / "broken" / "run.json").write_text("not JSON")
    process = ranks.start(0, 2, "-o", "broken", SONDE_RUN_ID="x")
    _, said = process.communicate(timeout=30)
    assert process.returncode == 2 and b"broken/run.json" in said
