"""Walks its own stack at known points and compares it with what Python says: walked.py LIBRARY TEST [NUMBER].

TEST is a function of this file; it prints one line for a result and exits with 1 after a difference.
"""

import ctypes
import gc
import re
import sys
import types

SIZE = 1 << 22
STATUS_OK = 1
ENTRY, GENERATOR = 1, 2
DETACHED = "a generator cut off from its callers"
buffer = ctypes.create_string_buffer(SIZE)
points = 0


def load(path):
    library = ctypes.PyDLL(path)
    library.self_time.restype = ctypes.c_double
    if library.self_init(buffer, SIZE):
        sys.exit("refused: " + buffer.value.decode())
    return library


library = load(sys.argv[1])
walk = library.self_walk


def chain(frame):
    rows = []
    while frame:
        code = frame.f_code
        rows.append((frame.f_lineno, code.co_name, getattr(code, "co_qualname", ""), code.co_filename))
        frame = frame.f_back
    return rows


def walked_rows():
    head, *lines = buffer.value.decode("utf-8", "surrogateescape").split("\n")[:-1]
    rows = [line.split("\t") for line in lines]
    return head.split("\t"), [(int(row[1]), *row[2:5]) for row in rows], [int(row[0]) for row in rows]


def check(*_):
    """One point: both look at the stack from the same line."""
    global points
    expected = (walk(buffer, SIZE), chain(sys._getframe()))[1]
    head, rows, flags = walked_rows()
    if head[1] == DETACHED and sys.version_info < (3, 11):
        return flags  # the callers are not to be found: refused, not half shown
    if int(head[0]) != STATUS_OK or rows != expected or int(head[2]) != len(expected):
        print("walked", head, *rows[:40], sep="\n  ")
        print("expected", len(expected), *expected[:40], sep="\n  ")
        sys.exit(1)
    points += 1
    return flags


def plain():
    def inner(value, *rest, key=None, **others):
        check()
        return value

    inner(1)
    inner(1, 2, 3, key=4, other=5)
    inner(
        inner(1),
        key=inner(2),
    )


def recursion(depth=500):
    if depth:
        return recursion(depth - 1)
    check()
    return 0


def count_to(limit):
    for number in range(limit):
        check()
        yield number


def delegating(limit):
    result = yield from count_to(limit)
    check()
    return result


def generators():
    assert list(delegating(3)) == [0, 1, 2]
    assert sum(check()[0] >= 0 for _ in count_to(2)) == 2
    generator = delegating(2)
    next(generator)
    generator.close()
    flags = next(flag_rows())
    assert [bool(flag & GENERATOR) for flag in flags][:3] == [False, True, False]


def flag_rows():
    yield check()


def catching():
    while True:
        try:
            yield
        except ValueError:
            check()


def throwing():
    generator = catching()
    next(generator)
    generator.throw(ValueError("thrown"))
    generator.throw(ValueError("again"))


def passing():
    yield from catching()


def throwing_through():
    generator = passing()
    next(generator)
    generator.throw(ValueError("thrown"))


class Awaitable:
    def __await__(self):
        check()
        yield 1
        check()


async def awaiting(depth):
    check()
    if depth:
        await awaiting(depth - 1)
    else:
        await Awaitable()
    check()


async def producing():
    for number in range(2):
        check()
        yield number


async def consuming():
    async for _ in producing():
        check()
    return [number async for number in producing() if check()]


def run(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def coroutines():
    run(awaiting(5))
    run(consuming())


def tasks():
    import asyncio

    async def both():
        await asyncio.gather(leaf(), leaf())

    async def leaf():
        await asyncio.sleep(0)
        check()

    asyncio.run(both())


def callbacks():
    sorted([3, 1, 2], key=check)
    list(map(check, "ab"))
    max([1, 2], key=lambda value: (check(), value)[1])
    flags = next(map(check, "a"))
    assert flags[0] & ENTRY


class Meta(type):
    def __new__(mcs, name, bases, body):
        check()
        return super().__new__(mcs, name, bases, body)

    def __call__(cls, *arguments):
        check()
        return super().__call__(*arguments)


class Plain:
    def __init__(self):
        check()

    def __del__(self):
        check()

    def __getattr__(self, name):
        check()
        return name

    @property
    def value(self):
        check()
        return 1

    def __lt__(self, other):
        check()
        return True

    def __enter__(self):
        check()
        return self

    def __exit__(self, *_):
        check()


def classes():
    class Made(metaclass=Meta):
        def __init__(self):
            check()

    for _ in range(40):  # often enough that the interpreter makes the call its own way
        Plain()
    Made()
    plain = Plain()
    assert plain.missing == "missing" and plain.value == 1
    assert sorted([plain, Plain()])
    with plain:
        check()
    del plain


class Dying:
    def __del__(self):
        check()


def leaving():
    local = Dying()
    return [local]


def deaths():
    leaving()
    for _ in range(3):
        leaving()


def comprehensions():
    assert len([check() and number for number in range(2)]) == 2
    assert {number: check() for number in range(2)}
    assert sum(bool(check()) for _ in range(2)) == 2
    assert (lambda: [(lambda: check())() for _ in range(2)])()


def executed():
    exec(compile("def f():\n\n    check()\nf()\nclass C:\n    check()\n", "<made>", "exec"), {"check": check})
    eval("check()")
    code = compile("\n" * 300 + "check()\n", "na\xefve-\u20ac-\U0001f40d.py", "exec")
    exec(code, {"check": check})
    function = types.FunctionType(code, {"check": check})
    function()


def chunks():
    """Frames so large that the thread's data stack needs new pieces of memory."""
    names = ", ".join(f"v{number}" for number in range(400))
    body = f"{names.replace(',', ' =')} = 0\n    wide(depth - 1) if depth else check()\n    check()\n"
    scope = {"check": check}
    exec("def wide(depth):\n    " + body, scope)
    scope["wide"](30)
    run_generator = (scope["wide"](10) for _ in range(2))
    list(run_generator)


def exceptions():
    try:
        try:
            raise ValueError
        except ValueError:
            check()
            raise KeyError from None
        finally:
            check()
    except KeyError:
        check()


def threads():
    import threading

    failures = []
    threading.excepthook = failures.append
    workers = [threading.Thread(target=recursion, args=(20,)) for _ in range(4)]
    for worker in workers:
        worker.start()
        worker.join()
    assert not failures


def instrumented():
    """With a profile function set, instructions are replaced by others."""
    sys.setprofile(lambda *_: None)
    plain()
    generators()
    classes()
    sys.setprofile(None)
    check()


def greenlets():
    """Each greenlet has a stack of its own, which is put in place when it runs."""
    import greenlet

    main = greenlet.getcurrent()

    def descend(depth):
        if depth:
            return descend(depth - 1)
        check()
        main.switch()
        return check()

    def switching():
        yield main.switch() or check()

    def body():
        descend(5)
        list(switching())
        sorted([1, 2], key=lambda value: (main.switch(), check(), value)[2])

    others = [greenlet.greenlet(body) for _ in range(3)]
    while not all(other.dead for other in others):
        for other in others:
            other.switch()
            check()
    print("points", points)


def stacks():
    for case in (
        *(plain, recursion, generators, throwing, throwing_through, coroutines, tasks, callbacks, classes),
        *(deaths, comprehensions, executed, chunks, exceptions, threads, instrumented),
    ):
        case()
    check()
    print("points", points)


def make_interpreter():
    """Another interpreter in this process, where the version has a way to make one."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name).create()
        except ImportError:
            pass


def listed():
    """The threads of the main interpreter, as threading knows them; this one holds the GIL."""
    import threading

    make_interpreter()
    done = threading.Event()
    workers = [threading.Thread(target=done.wait) for _ in range(3)]
    for worker in workers:
        worker.start()
    library.self_threads(buffer, SIZE)
    count, *rows = [[int(word) for word in line.split()] for line in buffer.value.decode().splitlines()]
    everyone = threading.enumerate()
    done.set()
    main = [row for row in rows if row[0] == 0]
    assert count == [len(rows)] and len(main) == 4, rows
    assert {row[1] for row in main} == {thread.ident for thread in everyone}, rows
    if sys.version_info >= (3, 11):
        assert {row[2] for row in main} == {thread.native_id for thread in everyone}, rows
    assert [row[1] for row in main if row[3]] == [threading.get_ident()], rows
    print("threads", len(main))


def code_objects():
    """Every code object there is, also those within others."""
    seen = {}
    queue = [thing.__code__ for thing in gc.get_objects() if isinstance(thing, types.FunctionType)]
    while queue:
        code = queue.pop()
        if id(code) not in seen:
            seen[id(code)] = code
            queue.extend(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return seen.values()


def lines():
    import argparse
    import asyncio
    import collections
    import decimal
    import email.message
    import inspect
    import json
    import logging.config
    import tarfile
    import unittest
    import xml.dom.minidom

    assert argparse and asyncio and collections and decimal and email and inspect and json and logging
    assert tarfile and unittest and xml
    line_of = ctypes.pythonapi.PyCode_Addr2Line
    line_of.argtypes = [ctypes.py_object, ctypes.c_int]
    instructions = codes = 0
    capacity = 1 << 18
    found = ((ctypes.c_int32 * 4) * capacity)()
    for code in code_objects():
        count = library.self_locations(ctypes.c_uint64(id(code)), found, capacity)
        assert count == len(code.co_code) // 2, (code, count, len(code.co_code))
        answer = [tuple(found[index]) for index in range(count)]
        expected = [line_of(code, 2 * index) for index in range(count)]
        assert [row[0] for row in answer] == expected, code
        if hasattr(code, "co_positions"):
            rows = [tuple(-1 if part is None else part for part in row) for row in code.co_positions()]
            assert answer == rows, (code, [pair for pair in zip(answer, rows) if pair[0] != pair[1]][:3])
        codes, instructions = codes + 1, instructions + count
    print("codes", codes, "instructions", instructions)


def row():
    library.self_row(buffer, SIZE)
    print(buffer.value.decode(), end="")


def name_codes(text):
    """Code objects by their names, in the words about a wrong step."""
    names = {f"{id(code):x}": code.co_name for code in code_objects()}
    return re.sub(r"/([0-9a-f]+)", lambda match: "/" + names.get(match[1], match[1]), text)


def everything():
    """One of each: calls, generators, exceptions, classes, callbacks, new stack chunks; often enough that
    the interpreter has specialized them."""
    scope = {"call": lambda value, *rest, key=None, **others: value, "Plain": Quiet, "Meta": QuietMeta}
    exec(compile(STEPPED, "<stepped>", "exec"), scope)
    gc.disable()  # a collection takes more instructions than all else
    for _ in range(30):
        scope["everything"]()
    return scope["everything"]


def stepped(most, capacity=0):
    """Under the trap flag, each instruction walked in the handler; so many frames, or all."""
    run_all = everything()
    library.self_step_begin(ctypes.c_uint64(most), capacity)
    while library.self_steps_left():
        run_all()
    library.self_step_end(buffer, SIZE)
    print(name_codes(buffer.value.decode()))


def marked(descriptor):
    """For single_step, which ends it."""
    run_all = everything()
    library.self_mark(descriptor)
    while True:
        run_all()


class Quiet:
    def __init__(self, value=0):
        self.value = value

    def __del__(self):
        self.value = None

    def __lt__(self, other):
        return self.value < other.value

    def __getattr__(self, name):
        return name


class QuietMeta(type):
    def __new__(mcs, name, bases, body):
        return super().__new__(mcs, name, bases, body)

    def __call__(cls, *arguments):
        return super().__call__(*arguments)


STEPPED = """
def calls():
    call(1); call(1, 2, 3, key=4, other=5); call(*(1, 2), **{"key": 3})
    return (lambda: call(2))()

def count(limit):
    for number in range(limit):
        call(number)
        yield number

def passing(limit):
    result = yield from count(limit)
    return result

def catching():
    while True:
        try:
            yield call(1)
        except ValueError:
            call(2)

def through():
    yield from catching()

def generators():
    list(passing(3)); sum(number for number in count(2))
    one = through(); next(one); one.throw(ValueError()); one.close()
    other = catching(); next(other); other.throw(ValueError()); other.send(None)
    for number in count(3): call(number)
    a, b = count(2)

class Waiting:
    def __await__(self):
        yield call(1)

async def waiting(depth):
    if depth:
        return await waiting(depth - 1)
    await Waiting()

async def produce():
    yield call(1)
    yield call(2)

async def consume():
    async for _ in produce(): call(3)
    return [number async for number in produce()]

def run(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration: pass

def coroutines():
    run(waiting(3)); run(consume())
    cancelled = waiting(2); cancelled.send(None)
    try: cancelled.throw(KeyError())
    except KeyError: pass

def fail(depth):
    if depth: fail(depth - 1)
    raise ValueError

def exceptions():
    try: fail(3)
    except ValueError: call(1)
    try: list(map(fail, [1]))
    except ValueError: call(2)
    try: call(nothing)
    except NameError: pass

def classes():
    one = Plain(1); two = Plain(2)
    sorted([two, one, two]); one.missing; sorted([2, 1], key=call); list(map(call, "ab"))
    [call(x) for x in (1, 2)]; {x: call(x) for x in (1, 2)}; any(call(x) for x in (0, 1))

def making():
    class Made(metaclass=Meta):
        def __init__(self): call(1)
    Made()
    exec(code)

def recursion(depth):
    return recursion(depth - 1) if depth else 0

def everything():
    generators(); coroutines(); calls(); exceptions(); recursion(8); by_map(3); classes(); wide(8); making()

def by_map(depth):
    return list(map(by_map, [depth - 1])) if depth else call(1)

def wide(depth, never=None):
    if never: WIDE
    return wide(depth - 1) if depth else 0

code = compile("call(1)\\nclass C:\\n    call(2)", "<inner>", "exec")
""".replace("WIDE", " = ".join(f"v{number}" for number in range(300)) + " = 0")


def speed(depth):
    """Nanoseconds per walk at this depth."""
    if depth:
        return speed(depth - 1)
    frames = ctypes.c_int()
    library.self_time(100, ctypes.byref(frames))
    best = float("inf")
    for _ in range(5):
        best = min(best, library.self_time(2000, ctypes.byref(frames)))
    print(f"{frames.value} frames, {best:.0f} ns, {best / frames.value:.1f} ns per frame")


if __name__ == "__main__":
    globals()[sys.argv[2]](*map(int, sys.argv[3:]))
