"""Says where it is and what its variables are, then stands still there until stdin ends: dumped.py PLACE."""

import asyncio
import collections
import ctypes
import enum
import gc
import json
import os
import sys
import threading
import time

Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


class Thing:
    def __init__(self):
        self.size = 3
        self.label = "a thing"


def say(**facts):
    sys.stdout.write(json.dumps({"pid": os.getpid(), **facts}) + "\n")
    sys.stdout.flush()


def stack(frame):
    rows = []
    while frame:
        code = frame.f_code
        rows.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return rows


def wait():
    sys.stdin.readline()


def hold_still(variables):
    """The caller's frame is what is looked at."""
    frame = sys._getframe(1)
    texts = {name: repr(value) for name, value in variables.items()}
    say(stack=stack(frame), variables=texts, details=[Thing.__qualname__, hex(id(variables["thing"]))])
    wait()


def many_kinds(positional, second=-(2 ** 100), *rest, only=1.5, **others):
    truth, nothing, number, small, wide = True, None, 12345678901234567890, 7, 1e300
    imaginary, text, raw = 3 - 4j, "caf\u00e9 'quoted' \U0001f40d\n", b"\x00bytes"
    listed, paired, mapped = [1, [2, 3], []], (1,), {"a": 1, "b": {"c": None}}
    chosen, frozen, red, point = {5}, frozenset({6}), Colour.RED, Point(1, 2)
    thing, error, kind, module = Thing(), ValueError("bad", 3), dict, json
    shared = [positional]
    lock = threading.Lock()

    def inner():
        return shared

    hold_still(dict(locals()))
    return inner, truth, nothing, number, small, wide, imaginary, text, raw, listed, paired, mapped, chosen


class Base:
    def method(self, depth):
        if depth:
            return self.method(depth - 1)
        return sorted([2], key=lambda item: many_kinds("x", 2, 3, only=0.5, key="value"))


def plain():
    Base().method(2)


def generated():
    def numbers():
        thing = Thing()
        hold_still(dict(locals()))
        yield thing

    def outer():
        yield from numbers()

    return next(outer())


def awaited():
    async def innermost(number):
        thing = Thing()
        hold_still(dict(locals()))
        return number, thing

    async def middle():
        return await innermost(5)

    asyncio.run(middle())


def deadlocked():
    first, second = threading.Lock(), threading.RLock()
    ready = threading.Barrier(3)

    def take(own, other):
        with own:
            ready.wait()
            other.acquire()

    for name, locks in (("one", (first, second)), ("two", (second, first))):
        threading.Thread(target=take, args=locks, name=name, daemon=True).start()
    ready.wait()
    time.sleep(0.2)
    say(threads={thread.name: thread.ident for thread in threading.enumerate()})
    wait()
    os._exit(0)


def busy():
    def spin():
        count = 0
        while True:
            count += 1

    for _ in range(3):
        threading.Thread(target=spin, daemon=True).start()
    say()
    wait()
    os._exit(0)


def native():
    """Sleeps in C with the GIL in its hands."""
    timer = threading.Timer(0.3, say)
    timer.start()
    timer.join()
    ctypes.PyDLL(None).sleep(1000)


def foreign():
    """A thread that runs no Python."""
    library = ctypes.CDLL(None)
    number = ctypes.c_ulong()
    library.pthread_create(ctypes.byref(number), None, library.sleep, ctypes.c_void_p(1000))
    time.sleep(0.2)
    say()
    wait()
    os._exit(0)


# ---- tasks (3.14 and later) ----


def wait_chain(awaited):
    """The frames of coroutines, each awaiting the next, innermost first."""
    frames = []
    while awaited is not None:
        if type(awaited).__name__ in ("async_generator_asend", "coroutine_wrapper"):
            (awaited,) = gc.get_referents(awaited)
        kind = {"coroutine": "cr", "generator": "gi", "async_generator": "ag"}.get(type(awaited).__name__)
        if not kind:
            break
        frame = getattr(awaited, kind + "_frame")
        frames.append([frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno])
        awaited = getattr(awaited, kind + ("_yieldfrom" if kind == "gi" else "_await"))
    return frames[::-1]


def tasks_by_name(running):
    found = {}
    for task in asyncio.all_tasks():
        awaiters = [awaiter.get_name() for awaiter in task._asyncio_awaited_by or ()]
        frames = [] if task is running else wait_chain(task.get_coro())
        found[task.get_name()] = [task is running, sorted(awaiters), frames]
    return found


async def sleeps():
    await asyncio.sleep(1000)


async def yields():
    await asyncio.create_task(sleeps(), name="below a generator")
    yield 1


async def reads():
    async for _ in yields():
        pass


async def asks(task):
    await task


class Awaitable:
    def __await__(self):
        yield from sleeps().__await__()


async def awaits_an_object():
    await Awaitable()


async def stops():
    await asyncio.sleep(0.1)
    say(tasks=tasks_by_name(asyncio.current_task()))
    wait()
    os._exit(0)


async def tree():
    shared = asyncio.create_task(sleeps(), name="caf\u00e9")
    async with asyncio.TaskGroup() as group:
        for coroutine in (reads(), asks(shared), asks(shared), awaits_an_object(), stops()):
            group.create_task(coroutine)
        group.create_task(asyncio.wait_for(sleeps(), 1000))


def tasks():
    asyncio.run(tree())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
