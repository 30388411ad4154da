"""sonde finalize: native addresses get the names of the build that ran, here or elsewhere, or none."""

import collections
import json
import os
import re
import shutil
import subprocess

import interpreters
import pytest
from conftest import USABLE, Launcher

BUILD = interpreters.REPOSITORY / os.environ.get("SONDE_BUILD", "build")
MAKE_STACKS = BUILD / "tests" / "e2e" / "native" / "make_stacks"
SOURCE = """\
namespace solver {
static inline __attribute__((always_inline)) double square(volatile double *x)
{
    return *x * *x;
}
__attribute__((noinline)) double norm(double *v)
{
    return square(v) + 1;
}
}
extern "C" __attribute__((noinline)) double entry(double *v)
{
    return solver::norm(v) * 2;
}
extern "C" __attribute__((noinline)) double __mesh_MOD_refine(double *v)
{
    return entry(v) - 1;
}
extern "C" __attribute__((noinline)) double busy(double *v, long count)
{
    double sum = 0;
    while (count--)
        sum += entry(v);
    return sum;
}
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path)).group(1)


def addresses(path):
    """{function: a range of addresses}."""
    table = {}
    for line in run("nm", "-S", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "Tt":
            table[words[3]] = range(int(words[0], 16), int(words[0], 16) + int(words[1], 16))
    return table


class Library:
    """libk.so with debug data, and a recording whose stacks end in it."""

    def __init__(self, sonde, folder, *flags):
        self.sonde, self.folder = sonde, folder
        self.path = folder / "libk.so"
        source = folder / "k.cc"
        source.write_text(SOURCE)
        run("g++", *(flags or ["-g"]), "-O2", "-fPIC", "-shared", "-Wl,--build-id", "-o", self.path, source)
        self.functions = addresses(self.path)
        self.build_id = build_id(self.path)
        self.recording = folder / "x.sonde"

    def record(self, path=None, identity=None, size=0):
        norm, entry = self.functions["_ZN6solver4normEPd"], self.functions["entry"]
        lines = [
            f"module {path or self.path} {identity or self.build_id} {size} 0",
            f"stack 6 main 1+{entry.start + 5:#x} 1+{norm.start:#x}",
            f"stack 3 main 1+{entry.start + 5:#x} 1+{norm.start + 4:#x}",
            f"stack 1 main 1+{self.functions['__mesh_MOD_refine'].start:#x}",
        ]
        text = "\n".join(lines) + "\n"
        with open(self.recording, "wb") as file:
            subprocess.run([MAKE_STACKS], input=text.encode(), stdout=file, check=True)
        return self.recording

    def finalize(self, *words):
        return run(self.sonde, "finalize", *words, self.recording)

    def stacks(self, *words):
        text = run(self.sonde, "export", "-f", "raw", *words, self.recording)
        return dict(line.rsplit(" ", 1) for line in text.splitlines())


@pytest.fixture(autouse=True)
def debug_data(sonde, tmp_path):
    """Without libdw there are names, but no lines: nothing here would hold."""
    small = shutil.copy(interpreters.REPOSITORY / "tests/golden/inputs/small.sonde", tmp_path / "probe.sonde")
    done = subprocess.run([sonde, "finalize", small], capture_output=True, text=True)
    if "without libdw" in done.stderr:
        pytest.skip(done.stderr)


@pytest.fixture
def library(sonde, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    return Library(sonde, tmp_path)


def functions_in(stacks):
    return {re.sub(r" \([^()]*\)$", "", frame) for stack in stacks for frame in stack.split(";")}


NAMED = {"main", "entry", "solver::norm(double*)", "square", "mesh::refine"}


def test_names_lines_and_inlined_frames(library):
    library.record()
    assert functions_in(library.stacks()) == {"main"} | {
        f"libk.so+{at:#x}"
        for at in (
            library.functions["entry"].start + 5,
            library.functions["_ZN6solver4normEPd"].start,
            library.functions["_ZN6solver4normEPd"].start + 4,
            library.functions["__mesh_MOD_refine"].start,
        )
    }
    said = library.finalize()
    assert "4 of 4 native addresses named, 4 with lines" in said
    stacks = library.stacks()
    assert functions_in(stacks) == NAMED
    outer = "main (app.py:3);entry (k.cc:13);solver::norm(double*) (k.cc:8)"
    assert stacks[outer + ";square (k.cc:4)"] == "9"  # two addresses of one line
    assert sum(map(int, stacks.values())) == 10
    assert functions_in(library.stacks("-F")) == NAMED


def test_what_is_there_is_not_touched(library):
    before = library.record().read_bytes()
    library.finalize()
    once = library.recording.read_bytes()
    assert once.startswith(before) and len(once) > len(before)
    assert "names added or changed: 0" in library.finalize()
    assert library.recording.read_bytes() == once
    assert "Damage: none" in run(library.sonde, "info", library.recording)


def test_a_library_without_debug_data_has_names_without_lines(sonde, tmp_path, library):
    plain = Library(sonde, tmp_path, "-g0")
    plain.record()
    said = plain.finalize()
    assert "4 of 4 native addresses named, 0 with lines" in said and "no debug data" in said
    assert "main (app.py:3);mesh::refine (libk.so)" in plain.stacks()


def strip(library):
    """Takes the debug data out of the library; gives them back by build id."""
    debug = library.folder / "elsewhere" / ".build-id" / library.build_id[:2]
    debug.mkdir(parents=True, exist_ok=True)  # other build ids may begin alike
    debug /= library.build_id[2:] + ".debug"
    run("objcopy", "--only-keep-debug", library.path, debug)
    run("strip", "--strip-all", library.path)
    return library.folder / "elsewhere"


def test_a_stripped_library_and_its_debug_file(library):
    library.record()
    folder = strip(library)
    assert "no debug data" in library.finalize()
    # exported functions keep their names in the dynamic table; lines are gone
    assert functions_in(library.stacks()) == NAMED - {"square"}
    assert "4 with lines" in library.finalize("--search-dir", folder)
    assert functions_in(library.stacks()) == NAMED


def test_a_library_that_was_moved(library):
    library.record("/nowhere/libk.so")
    said = library.finalize()
    assert "0 of 4" in said and "No such file" in said and "--search-dir" in said
    assert any("libk.so+0x" in stack for stack in library.stacks())
    assert "4 of 4" in library.finalize("--search-dir", library.folder)
    assert functions_in(library.stacks()) == NAMED


def test_another_build_gives_no_names(library):
    library.record(identity="00112233445566778899")
    said = library.finalize()
    assert "0 of 4" in said and "another build" in said
    assert not functions_in(library.stacks()) & (NAMED - {"main"})
    assert "0 of 4" in library.finalize("--search-dir", library.folder)
    assert not functions_in(library.stacks()) & (NAMED - {"main"})


def test_without_a_build_id_the_size_tells(library):
    library.record(identity="-", size=library.path.stat().st_size + 1)
    assert "0 of 4" in library.finalize()
    library.record(identity="-", size=library.path.stat().st_size)
    assert "4 of 4" in library.finalize()


def test_names_found_once_stay(library):
    library.record()
    library.finalize()
    library.path.unlink()
    assert "0 of 4" in library.finalize()
    assert functions_in(library.stacks()) == NAMED


def test_names_survive_merging_and_export(library):
    library.record()
    library.finalize()
    both = library.folder / "both.sonde"
    run(library.sonde, "merge", "-o", both, library.recording, library.recording)
    again = library.folder / "again.sonde"
    run(library.sonde, "export", "-f", "sonde", "-o", again, both)
    stacks = run(library.sonde, "export", "-f", "raw", again)
    assert functions_in(line.rsplit(" ", 1)[0] for line in stacks.splitlines()) == NAMED | {
        frame for line in stacks.splitlines() for frame in line.split(";") if frame.startswith("process ")
    }


def test_reports_group_by_library(library):
    library.record()
    library.finalize()
    table = run(library.sonde, "report", "--by", "module", library.recording)
    assert re.search(r"^ +10 +0\.010 +100\.0% +10 +100\.0% libk\.so$", table, re.MULTILINE)


def test_a_recording_without_native_frames(sonde, tmp_path):
    recording = tmp_path / "small.sonde"
    shutil.copy(interpreters.REPOSITORY / "tests/golden/inputs/small.sonde", recording)
    before = recording.read_bytes()
    assert "no native frames" in run(sonde, "finalize", recording)
    assert recording.read_bytes() == before


def test_bad_files_are_refused(sonde, tmp_path, library):
    other = tmp_path / "x.prof"
    other.write_bytes(b"{not a recording")
    cut = library.record().read_bytes()
    damaged = tmp_path / "damaged.sonde"
    damaged.write_bytes(cut[:90] + bytes([cut[90] ^ 1]) + cut[91:])
    for path, words in ((other, "not a sonde recording"), (tmp_path / "none", "none"), (damaged, "damaged")):
        done = subprocess.run([sonde, "finalize", path], capture_output=True, text=True)
        if path is damaged and done.returncode == 0:
            continue  # it lost all its addresses
        assert done.returncode == 2 and words in done.stderr


def test_a_cut_recording_is_named_all_the_same(library):
    whole = library.record().read_bytes()
    library.recording.write_bytes(whole[:-40])
    assert "4 of 4" in library.finalize()
    assert functions_in(library.stacks()) == NAMED


CYTHON = """\
/* "pkg/mesh.pyx":4
 * def refine(x):             # <<<<<<<<<<<<<<
 */
static __attribute__((noinline)) double __pyx_pf_3pkg_4mesh_refine(volatile double *x)
{
  double result = 1;

  /* "pkg/mesh.pyx":6
 *     return x[0] * x[0]             # <<<<<<<<<<<<<<
 */
  result = x[0] *
           x[0];
  return result;
}

double __pyx_pw_3pkg_4mesh_1refine(volatile double *x)
{
  return __pyx_pf_3pkg_4mesh_refine(x) + 1;
}
"""


def test_cython_functions_have_the_lines_of_their_own_source(library):
    source, built = library.folder / "mesh.c", library.folder / "mesh.so"
    source.write_text(CYTHON)
    (library.folder / "mesh.pyx").write_text("# the source\n")
    run("gcc", "-g", "-O1", "-fPIC", "-shared", "-Wl,--build-id", "-o", built, source)
    table = addresses(built)
    body, wrapper = table["__pyx_pf_3pkg_4mesh_refine"], table["__pyx_pw_3pkg_4mesh_1refine"]
    text = f"module {built} {build_id(built)} 0 0\nstack 1 main 1+{wrapper.start + 4:#x} 1+{body.start:#x}\n"
    with open(library.recording, "wb") as file:
        subprocess.run([MAKE_STACKS], input=text.encode(), stdout=file, check=True)
    library.finalize()
    assert library.stacks() == {"main (app.py:3);pkg.mesh.refine (mesh.pyx:6)": "1"}


PROGRAM = """\
import ctypes, time
busy = ctypes.CDLL({path!r}).busy
busy.restype = ctypes.c_double
value = (ctypes.c_double * 1)(2.0)

def work(end):
    while time.perf_counter() < end:
        busy(value, 1000000)

work(time.perf_counter() + 0.5)
"""


def test_recording_now_and_naming_later(modern_launch):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    launch = modern_launch
    library = Library(launch.sonde, launch.folder)
    script = launch.folder / "x.py"
    script.write_text(PROGRAM.format(path=str(library.path)))
    words = [
        "record",
        "--native",
        "-r",
        "2000",
        "-o",
        library.recording,
        "--",
        launch.python.executable,
        script,
    ]
    run(launch.sonde, words[0], "--no-finalize", *words[1:], cwd=launch.folder, env=launch.environment)
    assert "solver::norm(double*)" not in functions_in(library.stacks())
    assert "libk.so: " in library.finalize()
    stacks = [stack for stack in library.stacks() if "solver::norm" in stack]
    assert stacks
    for stack in stacks:
        frames = [re.sub(r" \(.*", "", frame) for frame in stack.split(";")]
        assert frames[:2] == ["<module>", "work"] and "busy" in frames, stack
        assert not [frame for frame in frames if "EvalFrame" in frame], stack
    internals = functions_in(library.stacks("--internals"))
    assert [name for name in internals if "Py_RunMain" in name or "Py_BytesMain" in name or "+0x" in name]
    run(launch.sonde, *words, cwd=launch.folder, env=launch.environment)
    assert "solver::norm(double*)" in functions_in(library.stacks())


def copy_by_build_id(modules, root, folder):
    """All that is left of the files of a recording: their bytes, each under its build id."""
    for module in modules:
        path = root + module["path"]
        if module["build_id"] and os.path.exists(path):
            place = folder / ".build-id" / module["build_id"][:2] / module["build_id"][2:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def without_offsets(stacks):
    """A stub of the linkage table has no name, and debug data alone do not tell where it begins."""
    counts = collections.Counter()
    for stack, count in stacks.items():
        counts[re.sub(r"libk\.so\+0x[0-9a-f]+", "libk.so+", stack)] += int(count)
    return counts


def of_the_program(library):
    """The stacks without those that end in sonde itself, whose files are in none of the folders searched."""
    stacks = library.stacks("--internals")
    return {stack: count for stack, count in stacks.items() if "libsonde_" not in stack}


def test_naming_on_another_machine(sonde, tmp_path):
    """Recorded in another root file system. Here its files are gone, or others are in their place; a folder
    with them by build id, or a copy of that file system, gives the names that they have there."""
    interpreter = next((each for each in USABLE if each.root), None)
    if not interpreter or not shutil.which("g++"):
        pytest.skip("no interpreter in another root file system, or no g++")
    launch = Launcher(sonde, interpreter, tmp_path)
    library = Library(sonde, tmp_path)
    (tmp_path / "x.py").write_text(PROGRAM.format(path=str(library.path)))
    words = ["record", "--native", "--no-finalize", "-r", "4000", "-o", library.recording, "--"]
    done = launch.run([sonde, *words, interpreter.executable, tmp_path / "x.py"])
    assert done.returncode == 0, done.stderr
    recorded = library.recording.read_bytes()
    modules = json.loads(run(sonde, "info", "--json", library.recording))[0]["modules"]
    assert launch.run([sonde, "finalize", library.recording]).returncode == 0
    there = of_the_program(library)
    assert {"solver::norm(double*)", "square"} <= functions_in(there)
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "node"
    others = [module for module in modules if module["path"] != str(library.path)]
    copy_by_build_id(others, interpreter.root, elsewhere)
    strip(library)
    (root / tmp_path.relative_to("/")).mkdir(parents=True)
    shutil.move(library.path, root / tmp_path.relative_to("/"))
    library.recording.write_bytes(recorded)
    said = library.finalize()
    assert "another build" in said and "No such file" in said and "--search-dir" in said, said
    assert not {"solver::norm(double*)", "square"} & functions_in(library.stacks())
    library.finalize("--search-dir", elsewhere)
    assert without_offsets(of_the_program(library)) == without_offsets(there)
    library.recording.write_bytes(recorded)
    library.finalize("--search-dir", interpreter.root, "--search-dir", root, "--search-dir", elsewhere)
    assert of_the_program(library) == there
