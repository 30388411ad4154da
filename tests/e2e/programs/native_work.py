"""Work with varied native stacks: native_work.py SECONDS, or `step` for one round between two SIGTRAPs."""

import json
import re
import signal
import sys
import time


class Item:
    def __lt__(self, other):
        return id(self) < id(other)


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def deep(depth):
    return 0 if depth == 0 else 1 + deep(depth - 1)


def numbers(count):
    yield from range(count)


def work():
    fibonacci(10)
    deep(150)
    sorted([Item() for _ in range(30)])
    sum(numbers(100))
    json.loads(json.dumps({"a": [1, 2, {"b": 3}]}))
    re.sub("a+", lambda match: "b", "aaabaa" * 10)
    try:
        {}["x"]
    except KeyError:
        pass
    sorted(range(50), key=lambda value: -value)
    return "%.3f" % 1.5 + str(10**50)


work()
if sys.argv[1] == "step":
    signal.raise_signal(signal.SIGTRAP)
    work()
    signal.raise_signal(signal.SIGTRAP)
else:
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        work()
