"""with sonde.memory(): in a program that nobody has started in a special way, in every Python found."""

import ctypes.util
import shutil
import subprocess

import interpreters
import memory_cases
import pytest
from conftest import read

CASES = [name for name in vars(memory_cases) if name.startswith("check_")]


def run_cases(python, names, folder, under=()):
    """One after the other in one process."""
    script = shutil.copy(memory_cases.__file__, folder)
    command = [*under, python.executable, script, interpreters.package_folder(), *names]
    done = subprocess.run(
        python.enter(command, folder), cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_region(python, tmp_path):
    run_cases(python, CASES, tmp_path)


@pytest.mark.parametrize("way", ["mem", "record", "trace"])
def test_region_in_a_program_that_is_recorded(python, sonde, way, tmp_path):
    """Of what `sonde mem` counts a region takes its part; the others do not count."""
    exact = ["--exact"] if way == "mem" else []
    under = [sonde, way, *exact, "--quiet", "-o", tmp_path / "out.sonde", "--"]
    names = ["check_known_blocks", "check_nested", "check_overlapping", "check_threads"]
    run_cases(python, names, tmp_path, under)


def test_region_where_native_stacks_are_counted(modern, sonde, tmp_path):
    """The Python stacks are the same."""
    under = [sonde, "mem", "--exact", "--native", "--quiet", "-o", tmp_path / "out.sonde", "--"]
    run_cases(modern, ["check_known_blocks", "check_nested", "check_threads"], tmp_path, under)


def test_peak_of_the_whole_program_is_kept(modern_launch):
    """A region looks for a peak of its own, in what is counted for the whole."""
    program = f"""
        import sys
        sys.path.insert(0, {str(interpreters.package_folder())!r})
        import sonde
        bytearray(50 << 20)
        with sonde.memory() as m:
            bytearray(10 << 20)
        assert 10 << 20 <= m.peak_bytes < 11 << 20, m
        bytearray(20 << 20)
    """
    modern_launch.write("program.py", program)
    command = [modern_launch.sonde, "mem", "--exact", "--quiet", "-o", modern_launch.folder / "out.sonde"]
    done = modern_launch.run([*command, "--", modern_launch.python.executable, "program.py"])
    assert (done.returncode, done.stderr) == (0, b"")
    tables = read(modern_launch.folder / "out.sonde")
    heap, nodes = tables["heap"], tables["nodes"]
    last = {key: row for row, key in enumerate(zip(heap["thread"], heap["node"], heap["allocator"]))}
    peaks = sorted((heap["peak_bytes"][row], nodes["line"][node]) for (_, node, _), row in last.items())
    assert 50 << 20 <= peaks[-1][0] < 51 << 20 and peaks[-1][1] == 4, peaks[-3:]


NUMPY = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import numpy, sonde
    with sonde.memory() as m:
        a = numpy.arange(1_000_000.0)
        b = (a + a) * 2
        del b
    totals = {stack.frames[0].lineno: stack.bytes for stack in m.lines("total") if stack.frames}
    assert totals[5] >= 8_000_000 and totals[6] >= 8_000_000, totals
    assert 16_000_000 <= m.peak_bytes <= 24_100_000 and 8_000_000 <= m.leaked_bytes <= 8_100_000, m
"""


def test_numpy(modern_launch):
    python, why = modern_launch.python.peer_environment(["numpy"])
    if not python:
        pytest.skip(why)
    modern_launch.write("arrays.py", NUMPY)
    done = modern_launch.run([python, "arrays.py", interpreters.package_folder()])
    assert (done.returncode, done.stderr) == (0, b"")


OBJECTS = """
    #include <vector>
    extern "C" void *make(int count) { return new std::vector<double>(count); }
    extern "C" void unmake(void *made) { delete static_cast<std::vector<double> *>(made); }
"""
OF_CPLUSPLUS = """
    import ctypes, sys
    sys.path.insert(0, sys.argv[1])
    import sonde
    library = ctypes.CDLL(sys.argv[2])
    library.make.restype, library.unmake.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    older = library.make(1000)  # words bound at their first call are bound now
    with sonde.memory() as m:
        kept = library.make(100_000)
        library.unmake(library.make(300_000))
        library.unmake(older)
    lines = {stack.frames[0].lineno: stack[:2] for stack in m.lines("leaked") if stack.frames}
    assert lines[8] == (800_024, 2), lines
    assert 9 not in lines and m.peak_bytes >= 3_200_048, m
    library.unmake(kept)
"""


@pytest.mark.parametrize("binding", ["lazy", "now"])
def test_cplusplus(modern_launch, binding):
    """operator new is libstdc++'s, and calls malloc."""
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler")
    folder = modern_launch.folder
    modern_launch.write("objects.cc", OBJECTS)
    build = ["c++", "-shared", "-fPIC", f"-Wl,-z,{binding}", "objects.cc", "-o", "objects.so"]
    subprocess.run(build, cwd=folder, check=True)
    modern_launch.write("objects.py", OF_CPLUSPLUS)
    done = modern_launch.plain("objects.py", interpreters.package_folder(), folder / "objects.so")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_other_allocators(modern, name, tmp_path):
    """What the program's calls reach is called, not the C library's."""
    if not ctypes.util.find_library(name[3:].partition(".")[0]):
        pytest.skip(f"{name} is not installed")
    cases = ["check_known_blocks", "check_threads", "check_nested"]
    run_cases(modern, cases, tmp_path, ["env", "LD_PRELOAD=" + name])


STORM = """
    import sys, threading
    sys.path.insert(0, sys.argv[1])
    import sonde

    over = threading.Event()

    def allocate():
        while not over.is_set():
            kept = [bytearray(size) for size in range(600, 5000, 50)]
            del kept

    threads = [threading.Thread(target=allocate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(25):
        with sonde.memory(python_allocators=turn % 3 == 0) as m:
            bytearray(1 << 20)
        assert m.peak_bytes >= 1 << 20
    over.set()
    for thread in threads:
        thread.join()
"""


def test_threads_that_allocate_while_regions_begin_and_end(launch):
    launch.write("storm.py", STORM)
    launch.python.enter(["true"], launch.folder)  # settles where a chroot sees the package
    package = interpreters.package_folder()
    done = launch.plain("storm.py", package)
    assert (done.returncode, done.stderr) == (0, b"")
