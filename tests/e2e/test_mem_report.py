"""What reports say of memory, on every Python: leaks to the byte, without what Python keeps; ranges."""

import json

import pytest
from heaps import mem

PROGRAM = """
import ctypes, json, re, time
library = ctypes.CDLL(None)
malloc, free = library.malloc, library.free
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
free.restype, free.argtypes = None, [ctypes.c_void_p]

def leak():
    for _ in range(64):
        malloc(17 * 1024)

def objects():
    return [{"number": str(number), "list": [number]} for number in range(30_000)]

def early(blocks):
    for place in range(50):
        blocks[place] = malloc(100_000)

def late(blocks):
    for place in range(50, 70):
        blocks[place] = malloc(1_000_000)

blocks = [0] * 70
early(blocks)
print(time.monotonic_ns())
late(blocks)
print(time.monotonic_ns())
for block in blocks:
    free(block)
print(time.monotonic_ns())
leak()
text = json.dumps(objects())
found = re.findall("[0-9]+", text)
"""


def report(launch, *options, output="out.sonde"):
    run = launch.run([launch.sonde, "report", "--json", *options, launch.folder / output])
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def own(said, key):
    """By name of the function; those that have nothing are left out."""
    return {row["name"]: row[key] for row in said["functions"] if row[key]}


@pytest.fixture
def recorded(launch):
    run = mem(launch, launch.write("leaking.py", PROGRAM), more=("--exact", "--log"))
    assert run.returncode == 0, run.stderr
    return [int(line) for line in run.stdout.split()]


def test_leaks_are_the_programs_alone(launch, recorded):
    """A hundred thousand objects, arenas, imports, and a table of interned strings leak nothing."""
    said = report(launch, "--measure", "leaked")
    assert own(said, "self_bytes") == {"leak": 64 * 17 * 1024}
    assert own(said, "count") == {"leak": 64}
    assert said["memory"]["leaked_bytes"] == said["total_bytes"] == 64 * 17 * 1024
    words = next(finding["text"] for finding in said["findings"] if finding["topic"] == "leak")
    assert words.startswith("1.06 MiB allocated by leak() at ") and words.endswith(": 64 blocks of 17.0 KiB.")


ARENA = 256 * 1024  # a multiple of it may be mapped wherever objects are made


def has(said, name, size):
    found = own(said, "self_bytes").get(name, 0)
    return found >= size and (found - size) % ARENA == 0


def test_ranges_know_what_was_freed_in_them(launch, recorded):
    """The marks: the early blocks are there; the late ones, too; all are freed."""
    begin = report(launch)["begin_ns"]
    first, second, third = (f"{(mark - begin) / 1e9:.9f}" for mark in recorded)
    assert has(report(launch, "--range", f",{first}"), "early", 5_000_000)
    assert has(report(launch, "--range", f"{first},{second}"), "late", 20_000_000)
    assert has(report(launch, "--range", f"{first},{second}"), "early", 0)
    assert has(report(launch, "--range", f"{first},{third}"), "late", 0)
    assert has(report(launch, "--range", f"{first},{third}", "--measure", "total"), "late", 20_000_000)
    assert has(report(launch, "--range", f",{third}", "--measure", "total"), "leak", 0)
