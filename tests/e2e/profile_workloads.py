"""Small functions whose calls the tests of the profiler interfaces count."""

import contextlib
import functools


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def numbers(n):
    for i in range(n):
        sent = yield i
        if sent:
            len(sent)


def delegating(n):
    yield from numbers(n)
    yield from numbers(n)


def use_generators():
    sum(delegating(5))
    generator = numbers(4)
    next(generator)
    generator.send("text")
    generator.close()
    for i in numbers(10):
        if i == 2:
            break


def fail(depth):
    if depth == 0:
        raise ValueError(str(depth))
    fail(depth - 1)


def use_exceptions():
    for depth in (0, 3):
        try:
            fail(depth)
        except ValueError as error:
            repr(error)
    with contextlib.suppress(KeyError):
        {}["absent"]
    with contextlib.suppress(ValueError):
        int("x")
    generator = numbers(3)
    next(generator)
    with contextlib.suppress(OSError):
        generator.throw(OSError("thrown"))


def key(value):
    return abs(value - 3)


def use_callbacks():
    sorted(range(6), key=key)
    list(map(key, [1, 2]))
    list(filter(None, map(lambda v, w: key(v) + w, [3, 4], [5, 6])))
    functools.reduce(lambda a, b: a + key(b), [1, 2, 3])
    max([5, 6], key=lambda v: -v)


class Base:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None

    def __len__(self):
        return key(self.value)

    @property
    def double(self):
        return self.value * 2

    @classmethod
    def make(cls, value):
        return cls(value)

    @staticmethod
    def plain():
        return "plain".upper()


class Derived(Base):
    def __init__(self, value):
        super().__init__(value)

    def __call__(self, *args, **keywords):
        return dict(keywords)

    def __del__(self):
        str(self.value)


def use_classes():
    a, b = Derived.make(7), Base(2)
    assert a != b
    len(a)
    assert a.double == 14
    a(1, 2, x=3)
    Base.plain()
    a.plain()
    [].append(1)
    list.append([], 1)
    "-".join(["a", "b"])
    type("Made", (Base,), {"method": lambda self: 1})(3).method()
    del a


def use_comprehensions():
    [key(i) for i in range(3)]
    {key(i) for i in range(3)}
    {i: key(i) for i in range(3)}
    sum(key(i) for i in range(3) if key(i))
    [
        [key(j) for j in range(i)]  # in a line of its own: before 3.11 nothing else tells the two apart
        for i in range(3)
    ]
