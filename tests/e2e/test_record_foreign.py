"""sonde record with code that is not the interpreter's usual company: Fortran, another malloc, a JIT."""

import json
import os
import re
import shutil
import subprocess

import pytest
from samples import Grammar, Samples, record
from test_attach import attach, running
from test_record_native import Native, names_of, record_native
from test_record_truth import of_program_only

FORTRAN = """\
module mesh
  implicit none
contains
  subroutine refine(values, count)
    real(8), intent(inout) :: values(:)
    integer, intent(in) :: count
    integer :: turn
    do turn = 1, count
      call smooth(values)
    end do
  contains
    subroutine smooth(row)
      real(8), intent(inout) :: row(:)
      integer :: i
      do i = 2, size(row)
        row(i) = 0.5d0 * (row(i) + row(i - 1)) / sqrt(1.0d0 + row(i)**2)
      end do
    end subroutine
  end subroutine
end module

function solve(count) bind(c, name="solve") result(last)
  use iso_c_binding
  use mesh
  integer(c_int), value :: count
  real(c_double) :: last
  real(8) :: values(1000)
  values = 1.0d0
  call refine(values, count)
  last = values(1000)
end function
"""


def test_fortran(modern_launch):
    """Functions of a module and within a function, called through C: their own names, file and lines."""
    launch = modern_launch
    if not shutil.which("gfortran"):
        pytest.skip("no gfortran: tools/setup test")
    source, library = launch.write("mesh.f90", FORTRAN), launch.folder / "libmesh.so"
    options = ["-O2", "-g", "-fPIC", "-shared", "-fno-inline", "-fno-optimize-sibling-calls"]
    subprocess.run(["gfortran", *options, source, "-o", library], check=True, cwd=launch.folder)
    launch.write(
        "x.py",
        """
        import ctypes
        solve = ctypes.CDLL("./libmesh.so").solve
        solve.restype = ctypes.c_double
        def work(): return sum(solve(500) for _ in range(100))
        print(round(work(), 6))
        """,
    )
    native = record_native(launch, "x.py", wanted=500)
    own = [
        ([frame for frame in stack if frame.file.endswith("mesh.f90")], stack, count)
        for stack, count, _ in native.running
    ]
    deepest = [(frames, stack, count) for frames, stack, count in own if len(frames) == 3]
    assert len(deepest) > 0.8 * len(native.running)
    text = FORTRAN.splitlines()
    for frames, stack, _ in deepest:
        assert names_of(frames) == ["solve", "mesh::refine", "smooth"], stack
        assert "work" in names_of(stack)[: stack.index(frames[0])], stack
        assert "call refine" in text[frames[0].line - 1] and "call smooth" in text[frames[1].line - 1], stack
        assert 12 <= frames[2].line <= 18, stack


ALLOCATING = """
    import os, sys, time
    def held():
        return [bytes(size % 5000) for size in range(0, 300000, 7)]
    def churn(end):
        while time.monotonic() < end:
            held()
    with open("/proc/self/maps") as maps:
        print(sys.argv[1] in maps.read(), os.environ.get("LD_PRELOAD"), flush=True)
    churn(time.monotonic() + float(sys.argv[2]))
"""


@pytest.fixture(params=["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def allocator(request):
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    found = re.search(rf"^\s*{re.escape(request.param)} .*x86-64.* => (.*)$", listed, re.MULTILINE)
    if not found:
        pytest.skip(f"no {request.param}: tools/setup test")
    return found[1]


def assert_allocates_in(native, allocator):
    """Its frames are there, under the functions that ask for memory and give it back."""
    name = os.path.basename(os.path.realpath(allocator))
    native.assert_whole(100)
    codes, text = native.samples.data["codes"], native.samples.data["strings"]
    inside = {text[code] for code, module in zip(codes["name"], codes["module"]) if text[module] == name}
    stacks = [names_of(stack) for stack, _, _ in native.running]
    under = [names[: min(map(names.index, inside & set(names)))] for names in stacks if inside & set(names)]
    right = [names for names in under if {"held", "churn"} & set(names)]
    assert len(right) > 20 and len(right) >= 0.9 * len(under), under
    assert any("held" in names for names in right) and any("held" not in names for names in right), under


@pytest.mark.alone
def test_another_malloc(modern_launch, allocator):
    launch = modern_launch
    launch.write("x.py", ALLOCATING)
    environment = {"LD_PRELOAD": allocator, "PYTHONMALLOC": "malloc"}
    words = ["x.py", os.path.basename(allocator), "0.7"]
    done = record(launch, *words, rate=4000, more=["--native"], environment=environment)
    assert (done.stdout, done.stderr, done.returncode) == (f"True {allocator}\n".encode(), b"", 0)
    assert_allocates_in(Native(launch), allocator)


@pytest.mark.alone
def test_another_malloc_attached(modern_launch, allocator):
    launch = modern_launch
    launch.write("x.py", ALLOCATING)
    environment = {"LD_PRELOAD": allocator, "PYTHONMALLOC": "malloc"}
    with running(launch, "x.py", os.path.basename(allocator), "30", environment=environment) as process:
        assert process.stdout.readline() == f"True {allocator}\n".encode()
        done = attach(launch, process.pid, "--native", "-d", "1", rate=2000)
        assert (done.returncode, done.stderr) == (0, "")
        assert process.poll() is None
    assert_allocates_in(Native(launch), allocator)


@pytest.fixture
def jit(launch):
    """A launcher of an interpreter whose JIT can be turned on; its environment does so."""
    code = "import sys; print(sys._jit.is_available())"
    done = launch.plain("-c", code) if launch.python.numbers >= (3, 14) else None
    if not done or done.stdout != b"True\n":
        pytest.skip(f"{launch.python} was built without a JIT")
    launch.environment["PYTHON_JIT"] = "1"
    assert launch.plain("-c", "import sys; print(sys._jit.is_enabled())").stdout == b"True\n"
    return launch


HOT = """
    import sys, time
    class Item:
        def __init__(self, number): self.number = number
        def __lt__(self, other): return weigh(self.number) < weigh(other.number)
    def weigh(number):
        total = 0
        for turn in range(60):
            total += turn * number % 7
            if total > 100: total -= 100
        return total
    def sorts(): return sorted([Item(number * 7919 % 101) for number in range(100)])
    print("ready", flush=True)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end: sorts()
"""


@pytest.mark.parametrize("native", [(), ("--native",)], ids=["python", "native"])
def test_jit(jit, native):
    """Stacks are those that the program can have, with code made at run time as without."""
    program = jit.program("grammar.py")
    grammar, stacks = Grammar(program), []
    for _ in range(10):  # one will do, unless the machine is busy
        done = record(jit, program, "3", rate=5000, more=native)
        assert (done.stderr, done.returncode) == (b"", 0)
        found = Samples(jit.folder / "out.sonde")
        assert found.errors <= 0.01 * found.samples  # a late look counts for each instant missed
        python = [row._replace(stack=tuple(filter(is_python, row.stack))) for row in found.rows]
        stacks += [row.stack for row in of_program_only(python, grammar)]
        if len(stacks) > 2000:
            break
    assert len(stacks) > 2000
    assert [stack for stack in stacks if not grammar.is_legal(stack)] == []


def is_python(frame):
    return frame.line > 0 and (frame.file.endswith(".py") or frame.file.startswith("<"))


def test_code_that_a_jit_made(jit):
    """It has no description: who calls it is guessed, and the stack is marked."""
    jit.write("x.py", HOT)
    native = record_native(jit, "x.py", "1", wanted=500)
    callers = {"<module>": {""}, "sorts": {"<module>"}, "__lt__": {"sorts"}, "weigh": {"__lt__"}}
    made = 0
    for stack, _, guessed in native.running:
        names = names_of(stack)
        made += "[anonymous]" in names
        assert guessed or "[anonymous]" not in names, names
        known = [name for name in names if name in callers]
        assert all(outer in callers[inner] for outer, inner in zip(["", *known], known)), names
    assert made > 50


def test_dump_of_code_that_a_jit_made(jit):
    order = ["<module>", "sorts", "__lt__", "weigh"]
    jit.write("x.py", HOT)
    with running(jit, "x.py", "30") as process:
        process.stdout.readline()
        for _ in range(5):
            command = [jit.sonde, "dump", "--native", "-j", "-p", str(process.pid)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            (thread,) = json.loads(done.stdout)
            frames = [frame for frame in thread["frames"][::-1] if not frame["native"]]
            names = [frame["name"].split(".")[-1] for frame in frames]
            assert names in (order[: len(names)], [*order[:2], "__init__"]), thread
        assert process.poll() is None
