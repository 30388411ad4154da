"""Decorators: wrappers, arguments, stacks, on classes and methods, context managers, dispatch, caches."""
# calls: plain=12 wrapper=36/12 decorate=3 registered=1 managed=6 shape_int=2 shape_str=1 costly=1 method=2

import contextlib
import functools


def decorate(label):
    def decorator(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return label, function(*args, **kwargs)

        return wrapper

    return decorator


@decorate("a")
@decorate("b")
@decorate("c")
def plain(n):
    return n


def registered(cls):
    cls.registered = True
    return cls


@registered
class Shape:
    @functools.cached_property
    def area(self):
        return self.costly()

    def costly(self):
        return 42

    @staticmethod
    def method():
        return 1

    @classmethod
    def made(cls):
        return cls.method()


@contextlib.contextmanager
def managed():
    yield 1


@functools.singledispatch
def shape(value):
    raise TypeError(value)


@shape.register(int)
def shape_int(value):
    return "int"


@shape.register(str)
def shape_str(value):
    return "str"


for n in range(12):
    plain(n)
one = Shape()
assert one.area + one.area == 84
assert Shape.made() + one.made() == 2
for _ in range(3):
    with managed():
        pass
assert [shape(1), shape(2), shape("x")] == ["int", "int", "str"]
