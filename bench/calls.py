"""The work that call profilers are compared on: calls.py CASE [empty] prints what it took, as a line of JSON.

The clock runs around the work alone, so neither the start of the interpreter nor that of the profiler counts.
"""

import json
import os
import random
import sys
import time

FUNCTIONS = 500


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fib_case():
    """fib(25): nothing but calls of Python functions."""
    return 242785, lambda: fib(25)


def tree_case(depth, roots, passes):
    """500 functions calling two others each, entered in mixed order; roots * (2 ** (depth + 1) - 1) nodes."""
    lines = []
    for k in range(FUNCTIONS):
        left, right = (k * 7 + 1) % FUNCTIONS, (k * 13 + 6) % FUNCTIONS
        right += right == left
        lines.append(
            f"def f{k}(n):\n    if n:\n        f{left}(n - 1)\n        f{right % FUNCTIONS}(n - 1)\n"
        )
    space = {}
    exec(compile("".join(lines), "mixed.py", "exec"), space)
    order = [space[f"f{k}"] for _ in range(passes) for k in range(roots)]
    random.Random(1).shuffle(order)

    def work():
        for function in order:
            function(depth)

    return len(order) * (2 ** (depth + 1) - 1), work


def mixed_case():
    return tree_case(3, 500, 30)


def wide_case():
    return tree_case(6, 472, 4)


def long_case():
    """The offset of the return, beyond 256 bytes of bytecode, is not a small integer."""
    body = "".join(f"        b = b * {k} - a\n" for k in range(50))
    space = {}
    exec("def long(a):\n    b = 1\n    if a < 0:\n" + body + "    return b\n", space)
    function = space["long"]
    assert len(function.__code__.co_code) > 256

    def work():
        for n in range(100000):
            function(n)

    return 100000, work


def c_case():
    """C functions and methods: four calls in each turn."""

    def work():
        items, table = [], {1: 2}
        for n in range(50000):
            items.append(n)
            len(items)
            table.get(n)
            abs(n)

    return 200000, work


CASES = {"fib": fib_case, "mixed": mixed_case, "wide": wide_case, "long": long_case, "C calls": c_case}


def peak_kib(pid):
    """The largest resident size so far of a process (ru_maxrss would include its parent's at the fork)."""
    with open(f"/proc/{pid}/status") as status:
        return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)


def set_empty_profile():
    """A profile function that returns 0 at once: labs, called with NULL."""
    import ctypes

    labs = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)
    ctypes.pythonapi.PyEval_SetProfile.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    ctypes.pythonapi.PyEval_SetProfile(labs, None)


def main():
    calls, work = CASES[sys.argv[1]]()
    if sys.argv[2:] == ["empty"]:
        set_empty_profile()
    best = min(timed(work) for _ in range(4))  # from one place, for one tree; the first run warms up
    print(
        json.dumps(
            {
                "calls": calls,
                "ns": best * 1e9 / calls,
                "own_kib": peak_kib("self"),
                "parent_kib": peak_kib(os.getppid()),
            }
        )
    )


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


main()
