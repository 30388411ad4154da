"""The line by which code_aster's run_aster starts py-spy, with sonde in its place, under a real mpirun."""

import json
import os
import shutil
import subprocess

import pytest
from conftest import PROGRAMS

pytestmark = pytest.mark.alone

PYTHON = "/usr/bin/python3"
LINE = (
    "ulimit -c unlimited ; ulimit -t 562 ; "
    "( sonde record --native --output=$HOME/data.${OMPI_COMM_WORLD_RANK:-0} --format=speedscope -- "
    "/usr/bin/python3 -m mpi4py ./file.comm.changed.py ... --memory 4336.0 --tpmax 450 --numthreads 1 "
    "; echo $? > _exit_code_ ) 2>&1 | tee -a fort.6"
)


@pytest.fixture
def mpirun():
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip(f"mpi4py is not installed for {PYTHON}")
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *as_root, "--oversubscribe", "-n", "2"]


def test_run_aster(mpirun, sonde, speedscope, tmp_path):
    shutil.copy(PROGRAMS / "ranks.py", tmp_path / "file.comm.changed.py")
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{sonde.parent}:{os.environ['PATH']}"}
    command = [*mpirun, "sh", "-c", LINE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "_exit_code_").read_text() == "0\n"
    output = (tmp_path / "fort.6").read_text()
    assert "rank 0 of 2" in output and "rank 1 of 2" in output
    assert output.count("Samples: ") == 2
    for rank in range(2):
        path = tmp_path / f"data.{rank}"
        assert json.loads(path.read_text())["$schema"].startswith("https://www.speedscope.app/")
        names = {frame["name"] for frame in speedscope(path)["shared"]["frames"]}
        assert {"compute", "exchange"} <= names
        assert any(name.startswith("PMPI_") for name in names)
