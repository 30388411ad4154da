"""sonde mem --exact against programs whose every allocation is known, on every Python; and against memray."""

import collections
import json
import pathlib
import shutil

import pytest
from heaps import NOTHING, Frame, Heap, added, blocks, expected, mem

__all__ = ["blocks"]  # a fixture


@pytest.fixture
def known(launch, blocks):
    """The program of known allocations beside its module."""
    shutil.copy(blocks, launch.folder)
    return pathlib.Path(launch.program("allocating.py"))


def test_every_line_has_its_bytes_and_blocks(launch, known):
    run = mem(launch, known)
    assert (run.returncode, run.stdout) == (0, b"done\n"), run.stderr
    found, said = Heap(launch.folder / "out.sonde").by_line("allocating.py"), expected(known)
    assert len(said) >= 15
    assert {key: found.get(key, NOTHING) for key in said} == said


def test_stacks_are_whole(launch, known):
    assert mem(launch, known).returncode == 0
    depths = collections.Counter()
    for stack, allocator, numbers, _ in Heap(launch.folder / "out.sonde").rows:
        if allocator == "malloc" and stack and stack[0].name == "recursive" and numbers.total[1] == 2:
            depths[len([frame for frame in stack if frame.name == "recursive"])] += 1
            assert [frame.name for frame in stack[-2:]] == ["main", "<module>"]
    assert depths == {101: 1}


def test_the_peak_is_the_true_one(launch, known):
    """The highest value over time is what was live on all stacks then; the program's own part is known."""
    assert mem(launch, known).returncode == 0
    heap = Heap(launch.folder / "out.sonde")
    highest = max(value for _, value in heap.series("heap"))
    assert highest == heap.total().peak[0]
    own = sum(numbers.peak[0] for (_, allocator), numbers in expected(known).items() if allocator != "mmap")
    found = heap.by_line("allocating.py")
    assert own == sum(found[key].peak[0] for key in expected(known) if key[1] != "mmap")
    assert own > 60_000_000


def test_functions_that_lie_where_others_did_are_told_apart(launch, blocks):
    """Code that is made, run once and forgotten: addresses of code, names and frames are used again."""
    shutil.copy(blocks, launch.folder)
    program = launch.write(
        "made.py",
        """
        import blocks
        for i in range(1000):
            names = {"blocks": blocks}
            exec(f"def function_{i}():\\n    blocks.take({1000 + i}, 2)\\n", names)
            names[f"function_{i}"]()
        """,
    )
    assert mem(launch, program).returncode == 0
    found = collections.Counter()
    for stack, allocator, numbers, _ in Heap(launch.folder / "out.sonde").rows:
        if stack and stack[0].name.startswith("function_") and allocator == "malloc":
            found[stack[0].name] += numbers.total[0]
    assert found == {f"function_{i}": 2 * (1000 + i) for i in range(1000)}


WANDERING = """
import collections, json, random, sys
import blocks
made = collections.Counter()
chance = random.Random(5)
def take():
    lines, frame = [], sys._getframe(1)
    while frame:
        lines.append((frame.f_code.co_name, frame.f_lineno))
        assert frame.f_trace_lines is True
        frame = frame.f_back
    size = chance.randrange(1, 5000)
    made[json.dumps(lines)] += size
    blocks.take(size, 1)
def left(depth):
    go(depth)
    take()
def right(depth):
    take(); go(depth)
def twice(depth):
    for _ in resumed(depth):
        take()
    next(resumed(depth))
def resumed(depth):
    go(depth)
    yield take()
    yield from resumed(depth - 1) if depth > 0 else ()
def failing(depth):
    try:
        go(depth)
        raise KeyError
    except KeyError:
        take()
def go(depth):
    if depth > 0:
        chance.choice([left, right, twice, failing])(depth - chance.randrange(1, 4))
def deep(depth):
    if depth:
        return deep(depth - 1)
    for _ in range(60):
        go(9)
        take()
for depth in (0, 3, 40):
    deep(depth)
def one(): take()
def two(): one()
def three(): two()
def four(): three()
def five(): four()
def source():
    while True:
        yield five()
def two_places():
    numbers = source()
    next(numbers)
    next(numbers)
two_places()
json.dump(made, sys.stdout)
"""


def test_stacks_are_right_wherever_they_change(launch, blocks):
    """Against Python's own word at each allocation: calls at many depths, generators, exceptions."""
    shutil.copy(blocks, launch.folder)
    program = launch.folder / "wandering.py"
    program.write_text(WANDERING)
    run = mem(launch, program)
    assert run.returncode == 0, run.stderr
    found = collections.Counter()
    here = Frame("take", str(program), WANDERING.splitlines().index("    blocks.take(size, 1)") + 1)
    for stack, allocator, numbers, _ in Heap(launch.folder / "out.sonde").rows:
        if allocator == "malloc" and stack and stack[0] == here:
            found[json.dumps([(frame.name, frame.line) for frame in stack[1:]])] += numbers.total[0]
    said = json.loads(run.stdout)
    assert len(said) > 200 and {key: found[key] for key in said} == said


HOLES = """
import json, sys, time
import blocks
sizes = []
def grow():
    kept = []
    for i in range(100_000):
        kept.append(None)
        if not sizes or sys.getsizeof(kept) != sizes[-1]:
            sizes.append(sys.getsizeof(kept))
    return kept
kept = grow()
blocks.take(4080, 20_000)
blocks.sieve(16)
time.sleep(0.3)
json.dump([size - sys.getsizeof([]) for size in sizes], sys.stdout)
"""


def test_growing_lists_and_fragmentation(launch, blocks):
    """A list's growth is what Python says of its sizes. Of blocks freed in a pattern the rest is live, yet
    the system has got nothing back: the heap falls, the resident size does not."""
    shutil.copy(blocks, launch.folder)
    program = launch.folder / "holes.py"
    program.write_text(HOLES)
    run = mem(launch, program)
    assert run.returncode == 0, run.stderr
    heap = Heap(launch.folder / "out.sonde")
    lines = HOLES.splitlines()
    found = heap.by_line("holes.py")
    sizes = [size for size in json.loads(run.stdout) if size > 512]  # smaller ones come from arenas
    appending = lines.index("        kept.append(None)") + 1
    grown = added(numbers for (line, kind), numbers in found.items() if line == appending and kind != "mmap")
    assert (grown.total, grown.peak) == ((sum(sizes), len(sizes)), (sizes[-1], 1))
    taken = found[lines.index("blocks.take(4080, 20_000)") + 1, "malloc"]
    assert (taken.total, taken.peak, taken.live) == ((81_600_000, 20_000),) * 2 + ((5_100_000, 1250),)
    full, _ = max(heap.series("heap"), key=lambda point: point[1])
    resident = max(value for time, value in heap.series("rss") if time > full)
    assert heap.series("heap")[-1][1] < 30_000_000 < 75_000_000 < resident


VECTORS = """
import numpy
values = numpy.arange(1_000_000.0)
def work():
    return numpy.sqrt(numpy.abs(values))
for _ in range(3):
    kept = work()
"""


def test_temporaries_of_numpy(modern_launch, modern):
    """A line makes two arrays of 8 MB in each turn, one of which is gone when it ends."""
    launch = modern_launch
    python, reason = modern.peer_environment(["numpy"])
    if not python:
        pytest.skip(reason)
    launch.python = type("Peer", (), {"executable": python, "enter": modern.enter})
    program = launch.write("vectors.py", VECTORS)
    assert mem(launch, program).returncode == 0
    found = Heap(launch.folder / "out.sonde").by_line("vectors.py")
    work = found[4, "malloc"]
    assert [round(pair[0], -5) for pair in (work.total, work.peak)] == [48_000_000, 24_000_000]


CONTAINERS = """
import json, sys
sizes = {}
def text():
    global kept_bytes
    kept_bytes = bytes(3_000_000)
def array():
    global kept_array
    kept_array = bytearray(2_000_000)
    kept_array.append(1)
def growing():
    global kept_list
    kept_list = [None] * 100_000
text(); array(); growing()
json.dump([sys.getsizeof(kept_bytes), sys.getsizeof(kept_array), sys.getsizeof(kept_list)], sys.stdout)
"""


@pytest.mark.parametrize("allocator", ["pymalloc", "malloc", "debug"])
def test_python_objects_have_the_size_that_python_says(launch, allocator):
    """Large ones: small ones come from arenas. The debug allocator adds its own bytes around them."""
    program = launch.folder / "containers.py"
    program.write_text(CONTAINERS)
    run = mem(launch, program, environment={"PYTHONMALLOC": allocator})
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    live = collections.Counter()
    for stack, _, numbers, _ in Heap(launch.folder / "out.sonde").rows:
        if stack and stack[0].file == str(program):
            live[stack[0].name] += numbers.peak[0]
    for name, size in zip(("text", "array", "growing"), said):
        more = 100 + 100 * (allocator == "debug") + size // 8
        assert 0 <= live[name] - (size - 100) <= more, (name, live, said)


def test_children_have_heaps_of_their_own(launch, blocks):
    shutil.copy(blocks, launch.folder)
    program = launch.folder / "forking.py"
    program.write_text(
        "import os, blocks\n"
        "blocks.take(1000, 10)\n"
        "if os.fork() == 0:\n"
        "    blocks.give(5)\n"
        "    blocks.take(700, 3)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "blocks.take(800, 4)\n"
    )
    assert mem(launch, program).returncode == 0
    heap = Heap(launch.folder / "out.sonde")
    processes = heap.data["threads"]["process"]
    by_process = collections.defaultdict(dict)
    for stack, allocator, numbers, thread in heap.rows:
        known = allocator == "malloc" and numbers.total[1] in (3, 4, 10)
        if known and stack and stack[0].file == str(program):
            by_process[processes[thread]][stack[0].line] = (numbers.total, numbers.live)
    assert sorted(by_process.values(), key=len) == [
        {5: ((2100, 3), (2100, 3))},
        {2: ((10000, 10), (10000, 10)), 8: ((3200, 4), (3200, 4))},
    ]


MEMRAY = """
import collections, json, os, sys
import memray
found = collections.Counter()
with memray.FileReader(sys.argv[1]) as reader:
    for record in reader.get_allocation_records():
        if memray.AllocatorType(record.allocator).name in ("FREE", "MUNMAP"):
            continue
        stack = [(name, os.path.basename(file), line) for name, file, line in record.stack_trace()]
        ends = [i for i, frame in enumerate(stack) if frame[0] in ("main", "in_thread")]
        if ends and stack[0][1] == "allocating.py":
            key = json.dumps(stack[:ends[0] + 1])
            found[key] += record.size * 1_000_000 + record.n_allocations
json.dump(found, sys.stdout)
"""


def test_stacks_agree_with_memray(modern_launch, modern, blocks):
    """Total bytes and counts of every stack of the program, as memray's own reader tells them."""
    launch = modern_launch
    python, reason = modern.peer_environment(["memray"])
    if not python:
        pytest.skip(reason)
    shutil.copy(blocks, launch.folder)
    program = pathlib.Path(launch.program("allocating.py"))
    theirs = launch.folder / "theirs.bin"
    run = launch.run([python, "-m", "memray", "run", "-q", "-o", theirs, program])
    assert run.returncode == 0, run.stderr
    run = launch.run([python, "-c", MEMRAY, theirs])
    assert run.returncode == 0, run.stderr
    said = {key: divmod(value, 1_000_000) for key, value in json.loads(run.stdout).items()}
    launch.python = type("Peer", (), {"executable": python, "enter": modern.enter})
    assert mem(launch, program).returncode == 0
    ours = collections.defaultdict(lambda: [0, 0])
    for stack, _, numbers, _ in Heap(launch.folder / "out.sonde").rows:
        names = [frame.name for frame in stack]
        if not stack or stack[0].file != str(program) or not {"main", "in_thread"} & set(names):
            continue
        cut = min(names.index(name) for name in ("main", "in_thread") if name in names)
        key = json.dumps([(f.name, pathlib.Path(f.file).name, f.line) for f in stack[: cut + 1]])
        ours[key] = [a + b for a, b in zip(ours[key], numbers.total)]
    exact = {key for key in said if any(f'"allocating.py", {line}]' in key for line, _ in expected(program))}
    assert len(exact) >= 15
    assert {key: tuple(ours[key]) for key in exact} == {key: said[key] for key in exact}
