"""Compares what src/python makes of objects and variables with what Python says: valued.py LIBRARY TEST."""

import collections
import ctypes
import enum
import functools
import json
import math
import random
import re
import string
import sys
import threading

from walked import SIZE, buffer, library

library.self_value.argtypes = [ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]
compared = 0


def value(thing, detailed=1):
    size = library.self_value(id(thing), detailed, buffer)
    return buffer.raw[:size].decode("utf-8", "surrogatepass")


def check(thing, expected=None, detailed=1):
    global compared
    compared += 1
    found = value(thing, detailed)
    expected = repr(thing) if expected is None else expected
    if found != expected:
        print(f"found    {found}\nexpected {expected}")
        sys.exit(1)


class Colour(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    BIG = 3


Point = collections.namedtuple("Point", "x y")


class Plain:
    def __init__(self):
        self.one = 1
        self.two = "zwei"

    def method(self):
        yield self


def numbers():
    for shift in (0, 1, 7, 29, 30, 31, 59, 60, 61, 63, 64, 89, 90, 900, 9000):
        for near in (-1, 0, 1):
            check((1 << shift) + near)
            check(-(1 << shift) + near)
    for _ in range(100):
        check(random.getrandbits(random.randrange(1, 6000)))
        check(random.uniform(-1, 1) * 10 ** random.randrange(-300, 300))
    for number in (0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 123456789012345678.0, 1e-4, 1e-5, 5e-324, 1.5e300, 2 / 3):
        check(number)
        check(complex(number, -number))
        check(complex(0, number))
    for number in (math.inf, -math.inf, math.nan, True, False, complex(math.nan, math.inf), complex(-0.0, 2)):
        check(number)


def texts():
    hard = ["", "'", '"', "'\"", "\\", "\t\n\r\x00\x1f\x7f", "na\u00efve", "\u20ac", "\U0001f40d", "\ud800",
            "\xa0\xad", "\u200b\u2028\ufeff", "mixed \u20ac and \U0001f40d 'quoted'", string.printable]
    for text in hard:
        check(text)
        check(text.encode("utf-8", "surrogatepass"))
        if "'" not in text:  # which some versions escape within double quotes
            check(bytearray(text.encode("utf-8", "surrogatepass")))
    check(bytes(range(256)))


def containers():
    listed = [1, [2, (3,)], {}, set(), frozenset(), {4}, frozenset({5}), {"a": [None, ...]}, NotImplemented]
    check(listed)
    for part in listed:
        check(part)
    check({number: str(number) for number in range(90)})
    check({(1, 2): 3, "x": 4, None: 5})
    removed = {str(number): number for number in range(40)}
    for number in range(0, 40, 3):
        del removed[str(number)]
    check(removed)
    check(set(range(50)) - {3, 30})
    check(set("some letters"))
    for some in (range(3), range(1, 9, 2), range(5, 0, -1), slice(1), slice(None, 2, -1)):
        check(some)
    loop = [1]
    loop.append(loop)
    check(loop)
    ring = {"self": None}
    ring["self"] = ring
    check(ring)


def same_as_repr():
    numbers()
    texts()
    containers()
    plain, generator = Plain(), Plain().method()
    callable_things = [Plain, plain.method, generator, Plain.method, len, [].append, int, type, (lambda: 0)]
    modules = [json, sys, functools, collections.OrderedDict, check.__code__]
    errors = [ValueError, ValueError("wrong", 1), KeyError("x"), Exception()]
    for thing in [*callable_things, *modules, *errors, Colour.RED, Size.BIG, Point(1, "b"), threading.Lock()]:
        check(thing, detailed=0)
    check(object())
    held, again = threading.Lock(), threading.RLock()
    check(again)
    with held, again, again:
        check(held)
        check(again)
    print("compared", compared)


def bounded():
    brief, most = 256, 4096
    many = range(10 ** 5)
    for thing in ("x" * 10 ** 6, list(many), dict.fromkeys(many), set(many), b"y" * 10 ** 6):
        for detailed, size in ((0, brief), (1, most)):
            found = value(thing, detailed)
            check(thing, found, detailed)
            assert len(found) <= size and "..." in found and found[:9] == repr(thing)[:9], found
    check([["x" * 300, 2]], repr([["x" * 300, 2]]))
    assert value(["x" * 300, 2], 0).endswith("..., 2]")
    nested = []
    for _ in range(100):
        nested = [nested]
    check(nested, "[" * 6 + "[...]" + "]" * 6)
    check(1 << 10 ** 6, "<int of about 1000020 bits>")
    print("compared", compared)


class Slotted:
    __slots__ = ("left",)


class Heir(Plain):
    def __init__(self):
        super().__init__()
        del self.one
        self.three = [3]


class Words(dict):
    pass


def instances():
    for thing in (Plain(), Heir()):
        attributes = " ".join(f"{name}={value!r}" for name, value in vars(thing).items())
        check(thing, f"{object.__repr__(thing)[:-1]} {attributes}>")
        check(thing, object.__repr__(thing), 0)
    plain = Plain()
    plain.other = Plain()
    assert f"other={plain.other!r}>" in value(plain)
    vars(plain)["added"] = 5  # makes the dict a dict
    assert "added=5" in value(plain)
    many = Plain()
    for number in range(60):
        setattr(many, f"name{number}", number)
    assert value(many).endswith("name59=59>")
    late = Plain()
    check(late, f"{object.__repr__(late)[:-1]} one=1 two='zwei'>")
    check(Slotted(), None)
    check(Words(a=1), "Words({'a': 1})")
    check(collections.OrderedDict(a=1), "OrderedDict({'a': 1})")
    check(collections.defaultdict(int, b=2), "defaultdict({'b': 2})")

    class Inner:
        pass

    check(Inner(), None)
    check(Inner, None)
    check(type("Odd", (Plain,), {"__module__": "odd"})(), None, 0)
    for error in (OSError(2, "no"), type("Mine", (ValueError,), {})("x")):
        check(error)
    print("compared", compared)


def arrays():
    import numpy

    for shape in ((), (3,), (3, 4), (0, 2, 1)):
        for name in ("float64", "int32", "bool", "complex128", "uint8", "object", "float16"):
            check(numpy.zeros(shape, name), f"<numpy.ndarray {name} {shape}>")
    for number in (-5, 7):
        for name in ("int8", "int16", "int32", "int64"):
            check(getattr(numpy, name)(number), f"numpy.{name}({number})")
    check(numpy.uint64(2 ** 63), f"numpy.uint64({2 ** 63})")
    check(numpy.float64(0.1), "numpy.float64(0.1)")
    print("compared", compared)


def read_variables():
    library.self_locals(2, buffer, SIZE)
    rows = re.findall(r"([av]) (\w+)=(.*)\n", buffer.value.decode())
    return {name: (kind, text) for kind, name, text in rows}


def compare_variables(expected, arguments):
    """Called from a function with those variables."""
    global compared
    found = read_variables()
    expected = {name: repr(thing) for name, thing in expected.items()}
    if {name: text for name, (_, text) in found.items()} != expected:
        sys.exit(f"found    {found}\nexpected {expected}")
    assert sum(kind == "a" for kind, _ in found.values()) == arguments, found
    compared += len(expected)


def plain_function(first, second=2, *rest, only=3, **others):
    local, unset = [first], None
    del unset
    compare_variables(locals(), 5)
    return local


def with_cells(argument, other):
    shared, number = argument * 2, 5

    def inner(inside):
        nonlocal shared
        shared += 1
        own = number
        compare_variables(locals(), 1)
        return lambda: (own, inside)

    inner(4)
    compare_variables(locals(), 2)
    return other


def yielding(start):
    step = start + 1
    compare_variables(locals(), 1)
    yield step
    later = "later"
    compare_variables(locals(), 1)
    yield later


async def awaiting(limit):
    here = {limit}
    compare_variables(locals(), 1)
    return here


def handling(argument):
    try:
        raise KeyError(argument)
    except KeyError as error:
        compare_variables(locals(), 1)
        return error


def variables():
    plain_function(1, 2, 3, 4, only="o", more=None)
    with_cells(7, "o")
    list(yielding(1))
    try:
        awaiting(9).send(None)
    except StopIteration:
        pass
    handling("x")
    print("compared", compared)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
