"""Exceptions through Python and C frames, from C functions, caught, suppressed, chained, re-raised."""
# calls: raising=7 middle=2 outer=2 key=3 callback=2 cleanup=5 handled=5 nested=11/1 in_reduce=3

import contextlib
import functools


def raising(n):
    raise ValueError(n)


def middle(n):
    raising(n)


def outer(n):
    try:
        middle(n)
    except ValueError as error:
        raise KeyError(n) from error


def key(n):
    if n == 3:
        raising(n)
    return n


def callback(n):
    raising(n)


def cleanup():
    pass


def handled(function, *args):
    try:
        return function(*args)
    except (ValueError, KeyError, IndexError):
        return None
    finally:
        cleanup()


def nested(depth):
    try:
        if depth:
            nested(depth - 1)
        else:
            raising(0)
    except ValueError:
        raise


def in_reduce(a, b):
    if b == 3:
        raising(b)
    return a + b


for n in range(2):
    handled(outer, n)
for data in ([1, 2, 3, 4],):
    handled(lambda: sorted(data, key=key))
handled(lambda: list(map(callback, [1])))
handled(lambda: functools.reduce(in_reduce, [0, 1, 2, 3, 4]))
with contextlib.suppress(ValueError):
    nested(10)
for function in ({}.pop, [].pop, [].index, "".index):
    with contextlib.suppress(KeyError, IndexError, ValueError, TypeError):
        function("x")
with contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
    stack.callback(str.upper, "x")
    callback(2)
try:
    try:
        len(5)
    except TypeError:
        ord("ab")
except TypeError:
    pass
