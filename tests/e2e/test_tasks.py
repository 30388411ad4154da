"""The tasks of asyncio: who awaits whom, in samples and in dumps; before 3.14, the real stacks alone."""

import collections
import re

import pytest
from samples import Samples, record
from test_attach import attach, running

PROGRAM = "task_trees.py"
FIRST = (3, 14)
RUNS_MAX = 5  # a sampler without a CPU misses what is short


def words(text):
    return re.findall(r"<[^>]*>|\S+", text)


def trees(program):
    """{mark: (coroutines of others, its own)}."""
    text = program.read_text()
    names = {}
    exec(text[text.index("TREES = {"): text.index("\n}\n") + 2], names)
    return {mark: [words(part) for part in tree.split("|")] for mark, tree in names["TREES"].items()}


def logical(stack, program):
    """The program's own frames below the loop, and the names of tasks, from the outermost in."""
    names = [frame.name for frame in reversed(stack) if frame.file == str(program) or frame.name[0] == "<"]
    while names and names[0] in ("<module>", "<lambda>"):
        names.pop(0)
    return [name for name in names if name != "spin"]


def is_legal(names, tree, waits):
    """Whether these are the frames that the tree says: all of them, or its own alone."""
    if len(tree) == 1:
        return len(names) == 1
    others, own = tree
    expected = (others if waits else []) + [name for name in own if waits or name[0] != "<"]
    return [re.sub("first|second", "FIRST", name) for name in names] == expected


def check(samples, program, waits):
    """Every sample of a mark is where it belongs; gives the samples of each mark."""
    expected, found = trees(program), collections.Counter()
    for row in samples.rows:
        names = logical(row.stack, program)
        mark = next((name for name in names if name.startswith("at_")), None)
        if not mark:
            continue
        assert is_legal(names, expected[mark], waits), (mark, names)
        found[mark] += row.count
    return found


def all_marks(python, program):
    return {mark for mark in trees(program) if python.numbers >= (3, 11) or not mark.startswith("at_group")}


@pytest.mark.parametrize("waits", (True, False))
def test_samples_hang_under_what_awaits_their_task(launch, python, waits):
    program, found = launch.program(PROGRAM), collections.Counter()
    wanted, runs = all_marks(python, program), 0
    while not set(found) >= wanted and runs < RUNS_MAX:
        done = record(launch, program, "0.02", rate=5000, more=[] if waits else ["--no-async"])
        assert done.returncode == 0, done.stderr.decode()
        samples, runs = Samples(launch.folder / "out.sonde"), runs + 1
        found += check(samples, program, waits and python.numbers >= FIRST)
        assert samples.errors <= samples.samples // 100
    assert set(found) >= wanted, found


def test_samples_from_outside(launch, python):
    program = launch.program(PROGRAM)
    with running(launch, program, "0.01", "1000") as process:
        process.stdout.readline()
        done = attach(launch, process.pid, "-d", "2", rate=2000)
        assert (done.returncode, done.stderr) == (0, "")
    samples = Samples(launch.folder / "out.sonde")
    found = check(samples, program, python.numbers >= FIRST)
    assert found  # on a busy machine the program does not get far
