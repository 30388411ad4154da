"""The work that memory profilers are compared on: mem_work.py CASE prints what it took, as JSON.

The clock runs around the work alone. `resident` is the most memory that the process had.
"""

import json
import pickle
import resource
import sys
import time

ROUNDS = 50
PAIRS = 2000
TURNS = 60  # of a program of some ms: whoever shares the machine spares one of them


def make():
    return bytearray(2048)


def call():
    return make()


def pairs():
    """Two calls and one block, which is freed at once."""
    begin = time.perf_counter()
    for _ in range(PAIRS):
        call()
    return (time.perf_counter() - begin) / PAIRS * 1e9


def at_depth(depth, work):
    return at_depth(depth - 1, work) if depth else work()


def timed(work, *arguments):
    begin = time.perf_counter()
    work(*arguments)
    return (time.perf_counter() - begin) * 1e9


RECORDS = [
    {"id": i, "name": f"name {i}", "values": list(range(i % 50)), "more": {"a": i}} for i in range(2000)
]


def json_text():
    json.loads(json.dumps(RECORDS))


def pickles():
    pickle.loads(pickle.dumps(RECORDS))


def words():
    text = " ".join(f"word{i % 1000}" for i in range(40000))
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1


def tree(depth=13):
    return [tree(depth - 1), tree(depth - 1)] if depth else [0]


def vectors():
    import numpy

    values = numpy.arange(200000.0)
    for _ in range(20):
        values = values * 1.0001 + values / 3 - 1


PROGRAMS = {"json": json_text, "pickle": pickles, "words": words, "tree": tree, "numpy": vectors}


def main(case):
    if case in PROGRAMS:
        PROGRAMS[case]()
        found = min(timed(PROGRAMS[case]) for _ in range(TURNS))
    else:
        depth = int(case.split()[1])
        found = min(at_depth(depth - 3, pairs) for _ in range(ROUNDS))
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"ns": found, "resident": resident}))


main(" ".join(sys.argv[1:]))
