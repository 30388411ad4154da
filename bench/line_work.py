"""The work that line profilers are compared on: line_work.py CASE [empty] prints what it took, as JSON.

The clock runs around the work alone. `profile` is the profiler's, or nobody's.
"""

import json
import sys
import time

try:
    decorate = profile
except NameError:
    decorate = None

ROUNDS = 20  # short ones: some are not disturbed
LOOPS = 5000
LINES = 6  # of the loop's body and its head

SIMPLE = """
def work(count):
    a = b = c = 0
    for i in range(count):
        a = i
        b = a + 1
        c = b
        a = c
        b = i
    return a + b + c
"""

CALLS = """
def add(a):
    return a + 1


def work(count):
    a = b = c = 0
    for i in range(count):
        a = add(i)
        b = a + 1
        c = b
        a = c
        b = i
    return a + b + c
"""

CALLS_ALONE = """
def add(a, depth):
    return add(a, depth - 1) + add(a, depth - 1) if depth else a


def work(count):
    a = 0
    for i in range(count // 100):
        a = add(i, 6)
    return a
"""


def make(text, first_line):
    space = {}
    exec(compile("\n" * first_line + text, f"work{first_line}.py", "exec"), space)
    return space["work"]


def set_empty_trace():
    """A trace function that returns 0 at once: labs, called with NULL."""
    import ctypes

    labs = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)
    ctypes.pythonapi.PyEval_SetTrace.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    ctypes.pythonapi.PyEval_SetTrace(labs, None)


def main(case, empty):
    text = CALLS_ALONE if "alone" in case else CALLS if "calls" in case else SIMPLE
    work = make(text, 1000 if case == "far lines" else 0)
    other = make(text, 5000)
    if case.startswith("not chosen"):  # one function of the program is timed, but not that which is measured
        work, other = other, work
        other = decorate(other) if decorate else other
    elif decorate:
        work = decorate(work)
    other(10)
    if empty:
        set_empty_trace()
    best = None
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        work(LOOPS)
        took = time.perf_counter_ns() - begin
        best = took if best is None or took < best else best
    print(json.dumps({"lines": LINES * LOOPS, "ns": best / (LINES * LOOPS)}))


main(sys.argv[1], sys.argv[2:] == ["empty"])
