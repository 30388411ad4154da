"""Generators: exhausted, closed, thrown into, delegated to, dropped half-way, sent values."""
# calls: count=66 closed=3 cleaned=1 thrown=4 outer=8 inner=8 dropped=2 walk=32/8 raising=2


def count(n):
    for i in range(n):
        yield i


def cleaned():
    pass


def closed():
    try:
        yield 1
        yield 2
        yield 3
    finally:
        cleaned()


def thrown():
    while True:
        try:
            yield 1
        except KeyError:
            yield 2
        except ValueError:
            return


def inner():
    for i in range(3):
        yield i
    return "done"


def outer():
    first = yield from inner()
    assert first == "done"
    yield "between"
    yield from inner()


def echo():
    value = None
    while True:
        value = yield value


def dropped():
    try:
        yield 1
    finally:
        pass


def unstarted():
    yield 1


def walk(depth):
    if depth:
        yield from walk(depth - 1)
        yield depth
        yield from walk(depth - 1)


def raising():
    yield 1
    raise LookupError


for n in range(11):
    assert list(count(n)) == list(range(n))

generator = closed()
next(generator)
next(generator)
generator.close()

generator = thrown()
next(generator)
assert generator.throw(KeyError()) == 2
next(generator)
try:
    generator.throw(ValueError())
except StopIteration:
    pass

assert list(outer()) == [0, 1, 2, "between", 0, 1, 2]

generator = echo()
next(generator)
assert [generator.send(i) for i in (1, 2)] == [1, 2]
generator.close()

generator = dropped()
next(generator)
del generator
generator = unstarted()
del generator

assert list(walk(3)) == [1, 2, 1, 3, 1, 2, 1]

generator = raising()
try:
    while True:
        next(generator)
except LookupError:
    pass

assert sum(i * i for i in range(100)) == 328350
