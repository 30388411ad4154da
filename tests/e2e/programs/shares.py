"""Three functions that share the time 60 : 30 : 10, more or less: shares.py SECONDS SCALE prints the truth.

The clock is read at every entry and exit, so the truth is what it was and not what it should have been: a
program that had to wait for its CPU says so.
"""

import sys
import time


def spin(nanoseconds):
    end = time.perf_counter_ns() + nanoseconds
    while time.perf_counter_ns() < end:
        pass


def most():
    spin(600_000 * SCALE)


def some():
    spin(300_000 * SCALE)


def few():
    spin(100_000 * SCALE)


SCALE = int(sys.argv[2])
spent = {most: 0, some: 0, few: 0}
end = time.perf_counter_ns() + float(sys.argv[1]) * 1e9
before = time.perf_counter_ns()
while before < end:
    for part in spent:
        part()
        now = time.perf_counter_ns()
        spent[part] += now - before
        before = now
print(*spent.values())
