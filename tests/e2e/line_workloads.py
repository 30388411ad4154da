"""Functions whose lines are timed. line_cases.py compiles this file anew for each use: line_profiler changes
the functions that it is given."""

import asyncio
import contextlib
import functools
import threading


def leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total


def branch(n):
    if n % 2:
        return leaf(n)
    return sum(
        leaf(i)
        for i in range(
            n,
        )
    )


def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


def numbers(n):
    for i in range(n):
        yield i + 0
    return n


def delegating(n):
    got = yield from numbers(n)
    yield got


def fail(n):
    try:
        if n:
            raise ValueError(n)
    finally:
        n += 1
    return n


def catch(n):
    count = 0
    for i in range(n):
        try:
            fail(i)
        except ValueError:
            count += 1
    return count


async def ticking(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def consume(n):
    total = 0
    async for i in ticking(n):
        total += i
    return total


@contextlib.contextmanager
def managed():
    yield leaf(2)


def with_blocks(n):
    with managed() as a, managed() as b:
        total = a + b
        for _ in range(n):
            total += leaf(1)
    return total


def doubled(function):
    @functools.wraps(function)
    def twice(*args):
        function(*args)
        return function(*args)

    return twice


@functools.cache
def cached(n):
    return leaf(n)


class Base:
    def inherited(self):
        return 0


class Shape(Base):
    def __init__(self, side):
        self.side = side
        self._name = None

    @property
    def area(self):
        return self.side**2

    @area.setter
    def area(self, value):
        self.side = int(value**0.5)

    @functools.cached_property
    def slow(self):
        return leaf(self.side)

    @classmethod
    def unit(cls):
        return cls(1)

    @staticmethod
    def corners():
        return 4

    def scaled(self, by, plus=0):
        side = self.side * by
        return type(self)(side + plus)

    grown = functools.partialmethod(scaled, plus=1)

    def __call__(self, n):
        return n * self.side

    class Inner:
        def method(self):
            return 1


def in_threads(function, count):
    threads = [threading.Thread(target=function, args=(3,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
