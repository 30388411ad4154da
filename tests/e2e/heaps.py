"""Recordings of memory for the tests: what the lines of a program allocated, and what was expected."""

import collections
import pathlib
import re
import shutil
import subprocess

import interpreters
import pytest
from conftest import PROGRAMS, read

# enum heap_allocator of src/store/recording.h
ALLOCATORS = ["free", "malloc", "calloc", "realloc", "aligned", "mmap", "new", "raw", "mem", "object", "gpu"]
Frame = collections.namedtuple("Frame", "name file line")
Numbers = collections.namedtuple("Numbers", "total live peak temporary")  # (bytes, blocks) each
NOTHING = Numbers((0, 0), (0, 0), (0, 0), 0)


@pytest.fixture(scope="session")
def blocks(tmp_path_factory):
    """The module of programs/blocks.c, built once."""
    headers = next(filter(None, map(interpreters.headers_of, interpreters.everything())), None)
    if not headers or not shutil.which("gcc"):
        pytest.skip("no gcc, or no interpreter with headers")
    module = tmp_path_factory.mktemp("blocks") / "blocks.abi3.so"
    command = ["gcc", "-O1", "-g", "-fPIC", "-shared", "-pthread", *headers, PROGRAMS / "blocks.c"]
    subprocess.run([*command, "-o", module], check=True)
    return module


def mem(launch, *words, output="out.sonde", more=("--exact",), **options):
    """The interpreter with these words under `sonde mem`."""
    command = [launch.sonde, "mem", "--quiet", "-o", launch.folder / output, *more]
    return launch.run([*command, "--", launch.python.executable, *words], **options)


def added(rows):
    """Numbers of several stacks together."""
    rows = list(rows)
    pairs = (tuple(map(sum, zip(*(row[i] for row in rows)))) or (0, 0) for i in range(3))
    return Numbers(*pairs, sum(row.temporary for row in rows))


class Heap:
    """The last word on each stack: (stack from the innermost frame out, allocator, numbers, thread)."""

    def __init__(self, path):
        self.data = data = read(path)
        text, nodes, codes = data["strings"], data["nodes"], data["codes"]
        stacks = [()]
        for parent, code, line in zip(nodes["parent"][1:], nodes["code"][1:], nodes["line"][1:]):
            frame = Frame(text[codes["name"][code]], text[codes["file"][code]], int(line))
            stacks.append((frame, *stacks[parent]))
        last = {}
        names = ["thread", "node", "allocator", "total_bytes", "total_count", "live_bytes", "live_count"]
        names += ["peak_bytes", "peak_count", "temporary_count"]
        for row in zip(*(data["heap"][name].tolist() for name in names)):
            last[row[:3]] = row[3:]  # rows of a stack are in the order of time
        self.rows = [
            (stacks[node], ALLOCATORS[allocator], Numbers(n[0:2], n[2:4], n[4:6], n[6]), thread)
            for (thread, node, allocator), n in last.items()
        ]

    def by_line(self, file):
        """{(line, allocator): numbers} of what the innermost Python frame's line allocated, in that file."""
        found = collections.defaultdict(list)
        for stack, allocator, numbers, _ in self.rows:
            if stack and pathlib.Path(stack[0].file).name == file:
                found[stack[0].line, allocator].append(numbers)
        return {key: added(rows) for key, rows in found.items()}

    def total(self):
        return added(numbers for _, _, numbers, _ in self.rows)

    def series(self, name):
        """[(time, value)] of the first counter of that name."""
        text, counters, rows = self.data["strings"], self.data["counters"], self.data["series"]
        ids = [i for i, each in enumerate(counters["name"]) if text[each] == name]
        columns = zip(rows["counter"].tolist(), rows["time_ns"].tolist(), rows["value"].tolist())
        return [(time, value) for counter, time, value in columns if ids and counter == ids[0]]


def expected(path):
    """{(line, allocator): numbers} as the comments of a program say."""
    found = {}
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        said = re.search(r"  # (\w+: \d+/.*)$", line)
        for part in said[1].split("; ") if said else ():
            allocator, total, rest = re.match(r"(\w+): (\S+) ?(.*)", part).groups()
            words = dict(zip(rest.split()[::2], rest.split()[1::2]))
            pairs = (tuple(map(int, each.split("/"))) for each in
                     (total, words.get("live", "0/0"), words.get("peak", "0/0")))
            found[number, allocator] = Numbers(*pairs, int(words.get("temporary", 0)))
    return found
