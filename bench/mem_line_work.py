"""The work that memory profilers of lines are compared on.

mem_line_work.py CASE LOOPS prints what it took, as JSON. The clock runs around the work alone. `profile` is
the profiler's, or nobody's.
"""

import json
import sys
import time

try:
    decorate = profile
except NameError:

    def decorate(function):
        return function


LINES = 4  # of a loop's body and its head


@decorate
def simple(count):
    a = b = 0
    for i in range(count):
        a = i
        b = a + 1
        a = b
    return a


@decorate
def allocating(count):
    block = None
    for _ in range(count):
        block = bytes(4000)
        other = [block] * 100
        block = None
    return other


@decorate
def growing(count):
    kept = []
    for _ in range(count):
        block = bytes(4096)
        size = len(block)
        kept.append(block)
    return size


if __name__ == "__main__":
    work, loops = globals()[sys.argv[1]], int(sys.argv[2])
    start = time.perf_counter_ns()
    work(loops)
    elapsed = time.perf_counter_ns() - start
    print(json.dumps({"ns": elapsed / (loops * LINES)}))
