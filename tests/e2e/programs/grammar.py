"""Stacks that a torn read would mix, of every kind that a Python program makes: grammar.py SECONDS.

A comment `# calls: a, b` names all Python functions that the line may call; no other frame of this file may
stand above that line (making a generator is a call of it). `library` is any frame of the standard library;
`# entered: a` at a function's head lets the library call it. The tests read these comments: the file is the
grammar of its own legal stacks.
"""

import asyncio
import ctypes
import functools
import os
import re
import sys
import threading
import time

# ---- two chains in quick alternation


def a3():
    return sum((1, 2))


def a2():
    return a3()  # calls: a3


def a1():
    return a2()  # calls: a2


def b3(*many, **named):
    return max(1, 2)


def b2(first, *, second=None):
    return b3(first, *(1, 2), second=second)  # calls: b3


def b1():
    return b2(1, second=3)  # calls: b2


def chains():
    for _ in range(20):
        a1()  # calls: a1
        b1()  # calls: b1


# ---- recursion of varying depth; a lost frame shows, because every depth has a function of its own


def r0():
    return a1()  # calls: a1


def r1():
    return r0()  # calls: r0


def r2():
    return r1()  # calls: r1


def r3():
    return r2()  # calls: r2


def r4():
    return r3()  # calls: r3


def r5():
    return r4()  # calls: r4


def descend(depth):
    if depth == 0:
        return r0()  # calls: r0
    return descend(depth - 1)  # calls: descend


def recursion():
    for depth in (0, 1, 40, 3, 150, 2, 7):
        descend(depth)  # calls: descend
        r5()  # calls: r5
        r3()  # calls: r3
        r1()  # calls: r1


# ---- generators


def numbers():
    yield a1()  # calls: a1
    try:
        yield from deeper()  # calls: deeper
    except KeyError:
        yield b1()  # calls: b1


def deeper():
    yield b1()  # calls: b1
    try:
        yield from deepest()  # calls: deepest
    finally:
        a1()  # calls: a1


def deepest():
    for number in range(3):
        yield a3()  # calls: a3


def fed():
    while True:
        given = yield
        given()  # calls: a1, b1


def generators():
    for _ in numbers():  # calls: numbers
        b1()  # calls: b1
    thrown = numbers()  # calls: numbers
    for _ in range(3):
        next(thrown)  # calls: numbers
    thrown.throw(KeyError())  # calls: numbers, deeper, deepest
    thrown.close()  # calls: numbers
    half = numbers()  # calls: numbers
    next(half)  # calls: numbers
    next(half)  # calls: numbers
    half.close()  # calls: numbers, deeper
    feeding = fed()  # calls: fed
    next(feeding)  # calls: fed
    for each in (a1, b1, a1):
        feeding.send(each)  # calls: fed
    feeding.close()  # calls: fed
    sum(number for number in (1, 2, 3) if a3())  # calls: <genexpr>, a3
    [b3(number) for number in (1, 2)]  # calls: <listcomp>, b3


# ---- coroutines: driven by hand, and by asyncio


class Step:
    def __await__(self):
        yield a1()  # calls: a1


async def waits():
    await Step()  # calls: __await__
    b1()  # calls: b1


async def enters():
    async with Guard():  # calls: __aenter__, __aexit__
        await waits()  # calls: waits, __aexit__
    async for _ in counts():  # calls: counts
        a1()  # calls: a1


async def counts():
    for _ in range(2):
        yield b1()  # calls: b1
        await waits()  # calls: waits


class Guard:
    async def __aenter__(self):
        await waits()  # calls: waits

    async def __aexit__(self, *error):
        b1()  # calls: b1


def coroutines():
    coroutine = enters()  # calls: enters
    try:
        while True:
            coroutine.send(None)  # calls: enters
    except StopIteration:
        a1()  # calls: a1


async def task(steps):  # entered: task
    for _ in range(steps):
        await asyncio.sleep(0)  # calls: library
        a1()  # calls: a1


async def together():  # entered: together
    await asyncio.gather(task(1), task(3), task(2))  # calls: library, task


def tasks():
    asyncio.run(together())  # calls: library, together


# ---- exceptions


def fail(depth):
    if depth:
        return fail(depth - 1)  # calls: fail
    raise ValueError(a3())  # calls: a3


def translate(depth):
    try:
        fail(depth)  # calls: fail
    except ValueError as error:
        raise KeyError(b1()) from error  # calls: b1
    finally:
        a1()  # calls: a1


def exceptions():
    for depth in (0, 5, 1, 30):
        try:
            translate(depth)  # calls: translate
        except KeyError:
            b1()  # calls: b1
    with Shield():  # calls: __enter__, __exit__
        fail(3)  # calls: fail, __exit__


class Shield:
    def __enter__(self):
        a1()  # calls: a1

    def __exit__(self, *error):
        b1()  # calls: b1
        return True


# ---- from C back into Python


def key(number):
    return b1() - number  # calls: b1


def compare(left, right):
    return a3() + left - right  # calls: a3


def compare_in_c(left, right):
    return key(left[0]) - key(right[0])  # calls: key


def replace(match):
    return str(a1())  # calls: a1


@functools.lru_cache(maxsize=2)
def cached(number):
    return b1()  # calls: b1


class Thing:
    def __init__(self, number):
        self.number = number
        a1()  # calls: a1

    def __eq__(self, other):
        return b3() == other  # calls: b3

    def __hash__(self):
        return a3()  # calls: a3

    def __del__(self):
        b1()  # calls: b1

    def __getattr__(self, name):
        return r1()  # calls: r1

    @property
    def twice(self):
        return r0()  # calls: r0

    def __call__(self, *given):
        return a1()  # calls: a1


class Meta(type):
    def __call__(cls, *given):
        b1()  # calls: b1
        return super().__call__(*given)  # calls: __init__

    def __new__(mcs, name, bases, space):
        a1()  # calls: a1
        return super().__new__(mcs, name, bases, space)


INTEGER = ctypes.POINTER(ctypes.c_int)
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, INTEGER, INTEGER)(compare_in_c)
LIBC = ctypes.CDLL(None)
PATTERN = re.compile("[xy]")


def callbacks():
    sorted([3, 1, 2], key=key)  # calls: key
    sorted([3, 1, 2], key=functools.cmp_to_key(compare))  # calls: compare
    list(map(key, (1, 2)))  # calls: key
    functools.reduce(compare, (1, 2, 3))  # calls: compare
    LIBC.qsort((ctypes.c_int * 4)(4, 3, 2, 1), 4, 4, CALLBACK)  # calls: compare_in_c, library
    PATTERN.sub(replace, "xaybx")  # calls: replace
    cached(a3())  # calls: a3, cached
    cached(time.perf_counter())  # calls: cached


def objects():
    for number in range(3):
        thing = Thing(number)  # calls: __init__, __del__
        {thing: 1}.get(thing)  # calls: __hash__, __eq__
        [thing].index(4) if thing.twice == 4 else None  # calls: twice, __eq__
        thing.missing  # calls: __getattr__
        functools.partial(thing, 1)()  # calls: __call__
    del thing  # calls: __del__
    made = Meta("Made", (Thing,), {})  # calls: __new__
    made(1)  # calls: __call__, __del__
    exec(CODE, {"a1": a1})  # calls: <module>


CODE = compile("a1()  # a line of its own\n", "<made>", "exec")

KINDS = [chains, recursion, generators, coroutines, exceptions, callbacks, objects]


def short_lived():  # entered: short_lived
    a1()  # calls: a1
    time.sleep(0.0005)
    b1()  # calls: b1


def threads():
    born = [threading.Thread(target=short_lived) for _ in range(3)]  # calls: library, <listcomp>
    for each in born:
        each.start()  # calls: library
    for each in born:
        each.join()  # calls: library


def work(end, extra=()):  # entered: work
    while time.perf_counter() < end:
        for kind in KINDS:
            kind()  # calls: chains, recursion, generators, coroutines, exceptions, callbacks, objects
        for kind in extra:
            kind()  # calls: tasks, threads, library


def main(seconds):
    end = time.perf_counter() + seconds
    sys.setswitchinterval(0.001)
    other = threading.Thread(target=work, args=(end,))  # calls: library
    other.start()  # calls: library
    work(end, [tasks, threads])  # calls: work
    other.join()  # calls: library


child = os.fork()
main(float(sys.argv[1]))  # calls: main
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
