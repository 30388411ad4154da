"""Native stacks and names in real programs: against libunwind, a shadow call stack, and addr2line.

The checker (tests/unwind/checker.c) is preloaded into the program and walks it with the code that the agent
uses. `different_exact` counts walks that differ from the truth and were not marked as guessed.
"""

import json
import os
import re
import shutil
import subprocess

import interpreters
import pytest
from conftest import PROGRAMS, USABLE

BUILD = interpreters.REPOSITORY / os.environ.get("SONDE_BUILD", "build") / "tests" / "unwind"
SOURCES = interpreters.REPOSITORY / "tests" / "unwind"
LOCAL = [interpreter for interpreter in USABLE if not interpreter.root]
STEPS = "100000"


def built(name):
    if not (BUILD / name).exists():
        pytest.skip(f"{name} is not built: it needs libunwind-dev, g++ and an x86-64 machine")
    return BUILD / name


class Checker:
    def __init__(self, folder):
        self.report = folder / "report.json"

    def run(self, *command, **environment):
        """Counts of one run under the checker; what it compared is named in an assertion's message."""
        preload = {"LD_PRELOAD": str(built("libunwind_checker.so")), "UNWIND_REPORT": str(self.report)}
        done = subprocess.run(
            [str(part) for part in command],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **preload, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(self.report.read_text())

    def sample(self, *command, **environment):
        return self.run(*command, UNWIND_SAMPLE_US="200", **environment)

    def step(self, *command, **environment):
        return self.run(*command, UNWIND_STEPS_MAX=STEPS, **environment)


@pytest.fixture
def checker(tmp_path):
    return Checker(tmp_path)


@pytest.fixture(params=LOCAL, ids=repr)
def local(request):
    return request.param


def rows_of(*files):
    out = subprocess.run([built("rows_of"), *files], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def loaded_files(interpreter):
    """The files with code that the interpreter has mapped."""
    code = "print(open('/proc/self/maps').read())"
    maps = subprocess.run(
        [interpreter.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    return sorted({line.split()[5] for line in maps.splitlines() if re.search(r" r-xp .* /", line)})


def is_reworked(interpreter):
    """Whether a post-link optimizer (BOLT) made descriptions wrong in places."""
    return any(row["reworked"] for row in rows_of(*loaded_files(interpreter)))


def test_rows_of_every_module(local):
    for row in rows_of(*loaded_files(local)):
        assert row["valid"] and row["left_out"] == 0 and row["functions"] > 0, row
        assert row["rows"] >= row["functions"] / 4, row
        assert row["bytes"] < 6 * row["rows"] + 8192, row


def test_samples_agree_with_libunwind(checker, local):
    counts = {"walks": 0}
    for seconds in ("0.4", "2", "8"):  # the first will do, unless the machine is busy
        if counts["walks"] <= 100:
            counts = checker.sample(local.executable, PROGRAMS / "native_work.py", seconds)
    assert counts["walks"] > 100, str(counts)
    assert counts["root"] == counts["walks"], str(counts)
    # From a caller on, with what is known of a sleeping thread: stack pointer and program counter.
    # These threads do not sleep: where one is about to call or return, it is a guess, now and then wrong.
    assert counts["asleep"] > 50 and counts["asleep_root"] >= 0.99 * counts["asleep"], str(counts)
    assert counts["asleep_different"] <= 0.005 * counts["asleep"], str(counts)
    if is_reworked(local):  # libunwind goes astray there
        assert counts["different"] <= 0.05 * counts["compared"], str(counts)
    else:  # a library that is being loaded is seen a moment late
        assert counts["different_exact"] == 0, str(counts)
        assert counts["different"] <= 0.01 * counts["compared"], str(counts)


def test_every_step_agrees_with_the_calls_made(checker, local):
    counts = checker.step(local.executable, PROGRAMS / "native_work.py", "step")
    assert counts["steps"] > 90000, str(counts)
    assert counts["root"] == counts["walks"], str(counts)
    assert counts["different"] == 0, str(counts)
    assert counts["guessed"] == 0 or is_reworked(local), str(counts)


def test_jit(checker):
    for interpreter in LOCAL:
        code = "import sys; sys.exit(not sys._jit.is_enabled())"
        environment = {**os.environ, "PYTHON_JIT": "1"}
        if (
            subprocess.run(
                [interpreter.executable, "-c", code], env=environment, capture_output=True
            ).returncode
            == 0
        ):
            break
    else:
        pytest.skip("no interpreter with a JIT here")
    counts = checker.sample(interpreter.executable, PROGRAMS / "native_work.py", "1", PYTHON_JIT="1")
    assert counts["root"] == counts["walks"] > 100, str(counts)
    # New code is seen a moment late; libunwind itself goes astray in reworked code.
    assert counts["different"] < 0.05 * counts["compared"], str(counts)


def test_hard_frames_sampled(checker):
    counts = checker.sample(built("unwind_victim"), "3000")
    assert counts["walks"] > 50, str(counts)
    assert counts["root"] == counts["walks"], str(counts)
    assert counts["different_exact"] == 0, str(counts)
    # While an exception is in flight a return address has been rewritten: nobody can tell.
    assert counts["different"] <= 0.02 * counts["compared"], str(counts)


def test_hard_frames_stepped(checker):
    counts = checker.step(built("unwind_victim"), "3", "step")
    assert counts["steps"] > 90000, str(counts)
    assert counts["root"] == counts["walks"], str(counts)
    assert counts["different_exact"] == 0, str(counts)
    # The end of a throw: the walk goes on at the frame that catches, past those given up. It says so, but for
    # the last instructions, where that frame is the caller already.
    assert counts["rewritten"] > 0 and counts["rewritten_astray"] == 0, str(counts)
    assert counts["guessed"] < 0.01 * counts["steps"], str(counts)


def test_numpy_with_blas_threads(checker):
    for interpreter in reversed(LOCAL):
        if interpreter.free_threaded or is_reworked(interpreter):
            continue  # few wheels for the one; what to compare with goes astray in the other
        python, _ = interpreter.peer_environment(["numpy"])
        if python:
            break
    else:
        pytest.skip("no interpreter for numpy")
    counts = checker.sample(python, PROGRAMS / "native_numpy.py", "1.5", OPENBLAS_NUM_THREADS="2")
    assert counts["walks"] > 100, str(counts)
    assert counts["different_exact"] == 0, str(counts)
    assert counts["root"] >= 0.99 * counts["walks"], str(counts)


# ------------------------------------------------------------------------------------------------ names


def frames_of(path, addresses, folders=()):
    """[[(function, file, line), …innermost first] for each address], and what was missing."""
    options = [word for folder in folders for word in ("-s", folder)]
    given = "".join(f"{address:x}\n" for address in addresses)
    done = subprocess.run(
        [built("symbols_of"), *options, path], input=given, capture_output=True, text=True, check=True
    )
    if "without libdw" in done.stderr:
        pytest.skip(done.stderr)
    frames = [
        [re.fullmatch(r"(.*)@(.*):(\d+)", part).groups() for part in line.split("\t")]
        for line in done.stdout.splitlines()
    ]
    assert len(frames) == len(addresses)
    return frames, done.stderr.strip()


def addr2line(path, addresses):
    """The same as binutils says it."""
    command = ["addr2line", "-a", "-i", "-f", "-C", "-e", path]
    given = "".join(f"{address:x}\n" for address in addresses)
    out = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    blocks = re.split(r"^0x[0-9a-f]+\n", out, flags=re.MULTILINE)[1:]
    for block in blocks:
        lines = block.splitlines()
        yield [
            (lines[index], *re.match(r"(.*?):(\d+|\?)", lines[index + 1]).groups())
            for index in range(0, len(lines), 2)
        ]


def comparable(frames):
    return [(os.path.basename(file), int(line)) for _, file, line in frames]


def code_addresses(path, step):
    """Every so many bytes of all functions; what lies between functions is left out."""
    symbols = subprocess.check_output(["nm", "-S", path], text=True)
    functions = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] ", symbols, re.MULTILINE)
    ranges = sorted((int(start, 16), int(size, 16)) for start, size in functions)
    everything = [address for start, size in ranges for address in range(start, start + size)]
    return everything[::step]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    path = tmp_path_factory.mktemp("names") / "libinlined.so"
    command = ["g++", "-g", "-O2", "-fPIC", "-shared", "-nostdlib", "-Wl,--build-id", "-o", path]
    subprocess.run([*command, SOURCES / "inlined.cc"], check=True)
    return path


def test_names_and_inlined_frames_as_addr2line_gives_them(library):
    addresses = code_addresses(library, 1)
    ours, problem = frames_of(library, addresses)
    assert problem == ""
    deepest = 0
    for address, frames, theirs in zip(addresses, ours, addr2line(library, addresses)):
        assert comparable(frames) == comparable(theirs), hex(address)
        deepest = max(deepest, len(frames))
    assert deepest == 3
    outermost = {frames[-1][0] for frames in ours}
    assert {"shapes::Polygon::extent(int) const", "hidden", "plain_function"} <= outermost
    inlined = {frame[0] for frames in ours for frame in frames[:-1]}
    assert inlined == {"longest", "shapes::Point<double>::square() const"}  # a static function has no scope


def split(library, folder):
    """A stripped copy in `folder`, and the debug data as a file of its own."""
    stripped, debug = folder / "libinlined.so", folder / "apart.debug"
    subprocess.run(["objcopy", "--only-keep-debug", library, debug], check=True)
    subprocess.run(["strip", "-o", stripped, library], check=True)
    return stripped, debug


def test_debug_file_by_build_id(library, tmp_path):
    stripped, debug = split(library, tmp_path)
    addresses = code_addresses(library, 3)
    notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    place = tmp_path / "search" / ".build-id" / build_id[:2] / (build_id[2:] + ".debug")
    place.parent.mkdir(parents=True)
    shutil.move(str(debug), place)
    assert frames_of(stripped, addresses, [tmp_path / "search"]) == frames_of(library, addresses)


def test_debug_file_by_link(library, tmp_path):
    stripped, debug = split(library, tmp_path)
    addresses = code_addresses(library, 3)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", stripped], check=True)
    assert frames_of(stripped, addresses) == frames_of(library, addresses)


def test_without_debug_data_every_function_keeps_one_name(library, tmp_path):
    stripped, _ = split(library, tmp_path)
    addresses = code_addresses(library, 1)
    whole, _ = frames_of(library, addresses)
    frames, problem = frames_of(stripped, addresses)
    assert "no debug data" in problem
    names = {}
    for known, found in zip(whole, frames):
        assert len(found) == 1 and found[0][1:] == ("", "0")
        names.setdefault(known[-1][0], set()).add(found[0][0])
    assert names["plain_function"] == {"plain_function"}
    (hidden,) = names["hidden"]
    assert re.fullmatch(r"libinlined\.so\+0x[0-9a-f]+", hidden)


def test_file_moved_to_another_machine(library, tmp_path):
    """Only its name and the search folder are left."""
    shutil.copy(library, tmp_path / "libinlined.so")
    addresses = code_addresses(library, 7)
    frames, _ = frames_of("/gone/away/libinlined.so", addresses, [tmp_path])
    assert frames == frames_of(library, addresses)[0]


def test_names_in_an_interpreter(local):
    path = max(loaded_files(local), key=os.path.getsize)
    sections = subprocess.check_output(["readelf", "-SW", path], text=True)
    if ".debug_info" not in sections:
        pytest.skip(f"{local} has no debug data")
    addresses = code_addresses(path, 4099)[:400]
    ours, problem = frames_of(path, addresses)
    assert problem == ""
    theirs = list(addr2line(path, addresses))
    known = [pair for pair in zip(ours, theirs) if pair[1][0][1] != "??" and pair[1][0][2] not in "?0"]
    assert len(known) > 300
    # The two differ where a line table has two rows for one address.
    different = [pair for pair in known if comparable(pair[0]) != comparable(pair[1])]
    assert len(different) <= 0.02 * len(known), different[:5]
    misnamed = [pair for pair in known if pair[0][-1][0] != pair[1][-1][0].split(".")[0]]
    assert len(misnamed) <= 0.02 * len(known), misnamed[:5]
