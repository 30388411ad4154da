"""`sonde merge` of a run with many ranks: what is in the result, the same however many processes made it."""

import collections
import os
import shutil
import subprocess

import pytest
from conftest import read
from interpreters import sonde_folder

MAKE_RANKS = sonde_folder() / "tests" / "e2e" / "native" / "make_ranks"
RANKS, PATHS, SAMPLES = 24, 300, 200
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", *AS_ROOT, "--oversubscribe"],
    "mpich": ["mpirun.mpich"],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    subprocess.run([MAKE_RANKS, folder, str(RANKS), str(PATHS), str(SAMPLES)], check=True)
    return folder


@pytest.fixture(params=LAUNCHERS)
def mpirun(request, sonde):
    """The words that start so many processes."""
    words = LAUNCHERS[request.param]
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    if not (sonde.parent / f"sonde_mpi_{request.param}").exists():
        pytest.skip(f"sonde was built without {request.param}")
    return lambda count: [*words, "-n", str(count)]


def plain_environment():
    """Nothing of a launcher that runs the tests themselves."""
    prefixes = ("OMPI_", "PMI", "SLURM_", "HYDRA_")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def merge(sonde, *words, before=()):
    command = [*before, sonde, "merge", *words]
    return subprocess.run(command, env=plain_environment(), capture_output=True, text=True, timeout=120)


def stacks(recording):
    """Per rank: the names on each call path → (calls, self time)."""
    names = [()]
    nodes, codes, strings = recording["nodes"], recording["codes"], recording["strings"]
    for node in range(1, len(nodes["parent"])):
        names.append((*names[nodes["parent"][node]], strings[codes["qualname"][nodes["code"][node]]]))
    sums = collections.defaultdict(dict)
    calls = recording["calls"]
    for thread, node, count, self_ns in zip(*(calls[key] for key in ("thread", "node", "calls", "self_ns"))):
        rank = recording["processes"]["rank"][recording["threads"]["process"][thread]]
        sums[rank][names[node]] = (count, self_ns)
    return sums


def test_nothing_is_lost(sonde, run, tmp_path):
    done = merge(sonde, run, "-o", tmp_path / "one.sonde")
    assert done.returncode == 0, done.stderr
    whole = read(tmp_path / "one.sonde")
    assert whole["meta"]["merged"] == str(RANKS)
    assert len(whole["samples"]["node"]) == RANKS * SAMPLES
    sums = stacks(whole)
    paths = set()
    for rank, path in enumerate(sorted(run.iterdir())):
        assert sums[rank] == stacks(read(path))[rank]
        paths.update(sums[rank])
    assert len(whole["nodes"]["code"]) - 1 == len(paths) > len(sums[1]), "equal paths of ranks are one"


def test_memory_does_not_grow_with_the_ranks(sonde, run, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    subprocess.run([MAKE_RANKS, many, str(RANKS * 10), str(PATHS)], check=True)
    peaks = []
    for count in (RANKS, RANKS * 10):
        paths = sorted(many.iterdir())[:count]
        process = subprocess.Popen([sonde, "merge", "--quiet", "--alone", *paths, "-o", tmp_path / "x.sonde"])
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        peaks.append(usage.ru_maxrss)
    assert peaks[1] < 1.5 * peaks[0]


def test_processes_share_the_work(sonde, mpirun, run, tmp_path):
    for more in ([], ["--totals"]):
        merge(sonde, run, *more, "-o", tmp_path / "one.sonde")
        done = merge(sonde, run, *more, "-o", tmp_path / "many.sonde", before=mpirun(3))
        assert done.returncode == 0, done.stderr
        assert f"merged {RANKS} recordings" in done.stderr
        assert (tmp_path / "many.sonde").read_bytes() == (tmp_path / "one.sonde").read_bytes()


# A process that sees another name of the machine than the first does cannot offer its temporary file to it.
ELSEWHERE = """
set -e
if [ "$OMPI_COMM_WORLD_RANK" != 0 ]; then
    echo "00000000-0000-4000-8000-00000000000$OMPI_COMM_WORLD_RANK" > "boot_id.$OMPI_COMM_WORLD_RANK"
    mount --bind "boot_id.$OMPI_COMM_WORLD_RANK" /proc/sys/kernel/random/boot_id
fi
exec "$@"
"""


def test_processes_of_other_machines_send_their_part(sonde, run, tmp_path):
    mounting = ["unshare", "--mount", "mount", "--bind", "/etc/hostname", "/proc/sys/kernel/random/boot_id"]
    if not shutil.which("mpirun.openmpi") or not (sonde.parent / "sonde_mpi_openmpi").exists():
        pytest.skip("there is no Open MPI")
    if not shutil.which("unshare") or subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("this user cannot mount, and so not play another machine")
    merge(sonde, run, "-o", tmp_path / "one.sonde")
    words = ["-n", "3", "-wdir", tmp_path, "unshare", "--mount", "sh", "-c", ELSEWHERE, "sh"]
    done = merge(sonde, run, "-o", tmp_path / "many.sonde", before=[*LAUNCHERS["openmpi"], *words])
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("boot_id.*"))) == 2
    assert (tmp_path / "many.sonde").read_bytes() == (tmp_path / "one.sonde").read_bytes()


def test_more_processes_than_files(sonde, mpirun, run, tmp_path):
    files = sorted(run.iterdir())[:2]
    merge(sonde, *files, "-o", tmp_path / "one.sonde")
    done = merge(sonde, *files, "-o", tmp_path / "many.sonde", before=mpirun(4))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "many.sonde").read_bytes() == (tmp_path / "one.sonde").read_bytes()


def test_damaged_files_are_told_of(sonde, mpirun, run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    cut, rotten = folder / "rank-00005.sonde", folder / "rank-00018.sonde"
    cut.write_bytes(cut.read_bytes()[:-700])
    content = bytearray(rotten.read_bytes())
    content[200] ^= 0xFF
    rotten.write_bytes(content)
    merge(sonde, folder, "-o", tmp_path / "one.sonde")
    done = merge(sonde, folder, "-o", tmp_path / "many.sonde", before=mpirun(3))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("rank-00005.sonde is cut off") == 1
    assert (tmp_path / "many.sonde").read_bytes() == (tmp_path / "one.sonde").read_bytes()
    whole = read(tmp_path / "many.sonde")
    notes = [whole["strings"][text] for text in whole["notes"]["text"]]
    assert any("rank-00005.sonde is cut off" in note for note in notes)
    assert any("rank-00018.sonde is damaged" in note for note in notes)


def test_a_failure_ends_all(sonde, mpirun, run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    for rank in (10, 20):
        (folder / f"rank-000{rank}.sonde").write_bytes(b"no recording")
    words = [folder / f"rank-{rank:05}.sonde" for rank in range(RANKS)]
    alone = merge(sonde, *words, "-o", tmp_path / "one.sonde")
    done = merge(sonde, *words, "-o", tmp_path / "many.sonde", before=mpirun(3))
    assert done.returncode != 0 and alone.returncode == 2
    assert alone.stderr.splitlines()[0] in done.stderr
    assert "rank-00010" in done.stderr and "rank-00020" not in done.stderr
    assert not list(tmp_path.glob("many.sonde*"))
    merge(sonde, *words, "-k", "-o", tmp_path / "one.sonde")
    done = merge(sonde, *words, "-k", "-o", tmp_path / "many.sonde", before=mpirun(3))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("left out: ") == 2
    assert (tmp_path / "many.sonde").read_bytes() == (tmp_path / "one.sonde").read_bytes()


def test_a_result_that_cannot_be_written(sonde, mpirun, run):
    done = merge(sonde, run, "-o", "/proc/nowhere/x.sonde", before=mpirun(2))
    assert done.returncode != 0
    assert done.stderr.count("cannot write /proc/nowhere/x.sonde") == 1


def test_one_works_alone(sonde, mpirun, run, tmp_path):
    """As a program of an MPI job that merges in one of its ranks: nobody else would answer."""
    words = f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != 1 ] || "{sonde}" merge --alone "{run}" -o one.sonde'
    command = [*mpirun(2), "sh", "-c", words]
    done = subprocess.run(
        command, cwd=tmp_path, env=plain_environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "one.sonde")["meta"]["merged"] == str(RANKS)


def test_profiles_are_merged_by_one(sonde, mpirun, run, tmp_path):
    done = merge(sonde, run, "-o", tmp_path / "many.prof", before=mpirun(2))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"merged {RANKS} recordings") == 1


def test_totals_are_kept_without_times(sonde, run, tmp_path):
    for name, more in (("all", []), ("totals", ["--totals"])):
        done = merge(sonde, run, *more, "-o", tmp_path / f"{name}.sonde")
        assert done.returncode == 0, done.stderr
    whole, totals = read(tmp_path / "all.sonde"), read(tmp_path / "totals.sonde")
    assert stacks(totals) == stacks(whole)
    assert totals["meta"]["totals"] == "1"
    assert len(totals["series"]["value"]) == 0 < len(whole["series"]["value"])

    def weights(recording):
        sums = collections.Counter()
        columns = (recording["samples"][key] for key in ("thread", "node", "state", "weight_ns", "count"))
        for thread, node, state, weight_ns, count in zip(*columns):
            sums[thread, node, state, "ns"] += weight_ns
            sums[thread, node, state, "count"] += count
        return sums

    assert weights(totals) == weights(whole)
    rows = list(zip(*(totals["samples"][key] for key in ("thread", "node", "state"))))
    assert len(rows) == len(set(rows)) < len(whole["samples"]["node"])
    assert (tmp_path / "totals.sonde").stat().st_size < (tmp_path / "all.sonde").stat().st_size
