"""What ncu and nsys show of marked functions, and what is recorded of torch's and cupy's ranges, on a GPU.

tests/gpu/captured has it from an H200 (ncu and nsys 2025.3, torch 2.11, cupy 14.2); a GPU makes it again.
"""

import csv
import re
import shutil
import subprocess

import interpreters
import pytest
from mark_cases import Nesting

GPU = interpreters.REPOSITORY / "tests" / "gpu"


@pytest.fixture(scope="module", params=["captured", "now"])
def captured(request, tmp_path_factory):
    if request.param == "captured":
        return GPU / "captured"
    for needed in ("nvidia-smi", "ncu"):
        if not shutil.which(needed):
            pytest.skip(f"there is no NVIDIA GPU with ncu on this machine ({needed} is not installed)")
    if not interpreters.succeeds(["python3", "-c", "import cupy, torch; assert torch.cuda.is_available()"]):
        pytest.skip("python3 has no torch and cupy that see a GPU")
    folder = tmp_path_factory.mktemp("gpu")
    subprocess.check_call(
        [GPU / "capture", folder, interpreters.sonde_program()], cwd=interpreters.REPOSITORY, timeout=300
    )
    return folder


def kernels(text):
    """[(name of the kernel's function, thread, names of the ranges of our domain, outermost first)]."""
    shown = re.split(r"\n  void ", text)[1:]
    for kernel in shown:
        name = re.search(r"(\w+)_kernel_cuda|(\w+)Functor<float>>", kernel)
        thread, domain, ranges = re.search(
            r"NVTX Push/Pop Stack for Thread (\d+):\n +(\w+)\n((?: {8,}[<R].*\n)+)", kernel
        ).groups()
        assert domain == "sonde"
        names = re.findall(r"<\d+,(.*)>", ranges)
        assert re.findall(r"REGISTERED: (.*)", ranges) == names
        yield name[1] or name[2], int(thread), names


@pytest.mark.parametrize("file, step", [("ncu-step.txt", "step 1"), ("ncu-thread.txt", "step 7")])
def test_ncu_finds_the_kernels_of_a_range(captured, file, step):
    """Those of one call of a function, and only those, each in the ranges that it belongs to."""
    text = (captured / file).read_text()
    process = int(re.search(r"Connected to process (\d+)", text)[1])
    found = list(kernels(text))
    assert [(name, names) for name, _, names in found] == [
        ("Mul", [step, "Grid.advect"]),
        ("sqrt", [step, "Grid.advect"]),
        ("sin", [step, "exchange"]),
    ]
    assert {thread == process for _, thread, _ in found} == {step == "step 1"}


def test_ranges_of_torch_and_cupy(captured):
    nesting = Nesting()
    for line in (captured / "emitted.txt").read_text().splitlines():
        thread, what, name = line.split(" ", 2)
        getattr(nesting, what)(thread, name)
    inner = [("Grid.advect", []), ("exchange", [])]
    emitted = ("of torch", [("of cupy", [])])
    assert nesting.trees() == [
        [("step 0", inner), ("step 1", inner), ("step 2", inner), emitted],
        [("step 7", inner)],
    ]


def test_nsys_finds_the_ranges(captured):
    """Each call that a mark matched, in every thread, as often as it was made."""
    path = captured / "nsys-ranges.csv"
    if not path.exists():
        pytest.skip("nsys is not installed, or cannot make its report here")
    with path.open() as file:
        found = {row["Range"]: int(row["Instances"]) for row in csv.DictReader(file)}
    steps = {f"sonde:step {n}": 1 for n in (0, 1, 2, 7)}
    assert found == {**steps, "sonde:Grid.advect": 4, "sonde:exchange": 4}
