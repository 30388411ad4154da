"""The ways in which `sonde mem` counts: sampled, each event, native frames, Python's own allocators."""

import collections
import math
import shutil

import pytest
from heaps import ALLOCATORS, Heap, blocks, mem

__all__ = ["blocks"]  # a fixture

SIZES = {2: (40, 40000), 3: (3000, 3000), 4: (200000, 100)}  # by line: bytes of a block, blocks
MIXED = """
import blocks
blocks.take(40, 40000)
blocks.take(3000, 3000)
blocks.take(200000, 100)
blocks.give(100)
"""
MEAN_BYTES = 65536
RUNS = 12


def estimate(launch, program):
    run = mem(launch, program, more=("--sample", str(MEAN_BYTES)))
    assert run.returncode == 0, run.stderr
    found = Heap(launch.folder / "out.sonde").by_line("mixed.py")
    return {line: found[line, "malloc"] for line in SIZES if (line, "malloc") in found}


def test_samples_are_unbiased(modern_launch, blocks):
    """The mean of many runs is within five standard errors of the truth, for small blocks and large ones."""
    launch = modern_launch
    shutil.copy(blocks, launch.folder)
    program = launch.write("mixed.py", MIXED)
    runs = [estimate(launch, program) for _ in range(RUNS)]
    for line, (size, count) in SIZES.items():
        chance = -math.expm1(-size / MEAN_BYTES)
        error = math.sqrt(count * (1 - chance) / chance) / math.sqrt(RUNS)
        totals = [run[line].total if line in run else (0, 0) for run in runs]
        assert abs(sum(made for _, made in totals) / RUNS - count) <= 5 * error + 1, (line, totals)
        assert abs(sum(each for each, _ in totals) / RUNS - size * count) <= 5 * error * size + size
        lives = [run[line].live for run in runs if line in run]
        assert all(live == ((0, 0) if line == 4 else run[line].total) for live, run in zip(lives, runs))


def test_the_log_adds_up_to_the_totals(launch, blocks):
    """Every block of the program has its event, and every free that of its block before it."""
    shutil.copy(blocks, launch.folder)
    program = launch.write("mixed.py", MIXED)
    assert mem(launch, program, more=("--log",)).returncode == 0
    heap = Heap(launch.folder / "out.sonde")
    data = heap.data
    names = ["time_ns", "address", "size_bytes", "node", "allocator"]
    events = list(zip(*(data["allocations"][name].tolist() for name in names)))
    assert [event[0] for event in events] == sorted(event[0] for event in events)
    made, alive, live_bytes, highest = collections.Counter(), {}, 0, 0
    for _, address, size, node, allocator in events:
        if ALLOCATORS[allocator] == "free":
            live_bytes -= size if size else alive.pop(address, 0)
            continue
        alive[address] = size
        live_bytes += size
        highest = max(highest, live_bytes)
        made[data["nodes"]["line"][node], ALLOCATORS[allocator], size] += 1
    for line, (size, count) in SIZES.items():
        assert made[line, "malloc", size] == count
    assert sum(made.values()) == heap.total().total[1]
    assert highest == heap.total().peak[0]


def test_native_frames_lie_between_python_and_malloc(launch, blocks):
    shutil.copy(blocks, launch.folder)
    program = launch.write(
        "native.py",
        """
        import blocks
        def inner(count):
            for _ in range(count):
                blocks.take(1000, 2)
                blocks.zeroed(512, 1)
        def outer():
            inner(50)
            list(map(inner, [7]))
        outer()
        blocks.in_thread(4321)
        """,
    )
    run = mem(launch, program, more=("--exact", "--native"))
    assert run.returncode == 0, run.stderr
    found = collections.defaultdict(lambda: [0, 0])
    for stack, allocator, numbers, _ in Heap(launch.folder / "out.sonde").rows:
        python = tuple((frame.name, frame.line) for frame in stack if frame.file == str(program))
        if stack and stack[0].name in ("take", "zeroed", "take_in_thread"):
            key = stack[0].name, allocator, python
            found[key] = [a + b for a, b in zip(found[key], numbers.total)]

    def path(line, caller):
        return ("inner", line), ("outer", caller), ("<module>", 9)

    assert {key: tuple(pair) for key, pair in found.items()} == {
        ("take", "malloc", path(4, 7)): (100000, 100),
        ("zeroed", "calloc", path(5, 7)): (25600, 50),
        ("take", "malloc", path(4, 8)): (14000, 14),
        ("zeroed", "calloc", path(5, 8)): (3584, 7),
        ("take_in_thread", "malloc", ()): (4321, 1),
    }


OBJECTS = """
kept = []
def small():
    for i in range(1000):
        kept.append((i, i + 1, i + 2))
def large():
    kept.append(bytearray(100_000))
small()
large()
"""


@pytest.mark.parametrize("allocator", ["pymalloc", "debug"])
def test_python_allocators_show_small_objects(launch, allocator):
    """Blocks within arenas have their own lines; what they are made of is not counted again."""
    program = launch.write("objects.py", OBJECTS)
    run = mem(
        launch, program, more=("--exact", "--python-allocators"), environment={"PYTHONMALLOC": allocator}
    )
    assert run.returncode == 0, run.stderr
    rows = Heap(launch.folder / "out.sonde").rows
    made = collections.Counter()
    for stack, kind, numbers, _ in rows:
        if stack and stack[0].file == str(program):
            made[stack[0].name, kind] += numbers.total[1]
            assert kind in ("raw", "mem", "object"), stack
    assert made["small", "object"] >= 900  # some tuples come from a list of free ones
    assert made["large", "object"] + made["large", "mem"] in (1, 2, 3)


def test_the_environment_is_the_programs_own(launch):
    """What is preloaded is seen neither by the program nor by those that it starts, and these are counted."""
    program = launch.write(
        "shown.py",
        """
        import os, subprocess, sys
        shown = {name: os.environ.get(name) for name in ("LD_PRELOAD", "SONDE_SESSION")}
        print(shown, flush=True)
        if len(sys.argv) == 1:
            subprocess.run([sys.executable, __file__, "child"], check=True)
        """,
    )
    run = mem(launch, program)
    assert run.returncode == 0, run.stderr
    assert run.stdout.decode() == 2 * "{'LD_PRELOAD': None, 'SONDE_SESSION': None}\n"
    data = Heap(launch.folder / "out.sonde").data
    processes = data["threads"]["process"]
    assert {processes[thread] for thread in data["heap"]["thread"].tolist()} == {1, 2}
