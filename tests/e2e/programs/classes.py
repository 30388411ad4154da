"""Classes: metaclasses, properties, descriptors, super, operators, attribute hooks, data classes, ABCs."""
# calls: made=3 area=6 set_area=2 get=3 fallback=2 base_method=4 derived_method=3
# calls: added=5 init_subclass=2 entered=1

import abc
import collections
import dataclasses
import enum


def made():
    pass


class Meta(type):
    def __new__(mcls, name, bases, namespace):
        made()
        return super().__new__(mcls, name, bases, namespace)

    def __call__(cls, *args):
        return super().__call__(*args)


def init_subclass():
    pass


class Base(metaclass=Meta):
    def __init_subclass__(cls, **kwargs):
        init_subclass()
        super().__init_subclass__(**kwargs)

    def method(self):
        return self.base_method()

    def base_method(self):
        return 1


class Derived(Base):
    def method(self):
        return super().method() + self.derived_method()

    def derived_method(self):
        return 2


class Last(Derived):
    __slots__ = ("value",)


class Descriptor:
    def get(self):
        return 7

    def __get__(self, instance, owner):
        return self.get()


class Square:
    described = Descriptor()

    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        return self.side**2

    @area.setter
    def area(self, value):
        self.set_area(value)

    def set_area(self, value):
        self.side = value**0.5

    def fallback(self, name):
        return name

    def __getattr__(self, name):
        return self.fallback(name)

    def added(self, other):
        return Square(self.side + other.side)

    def __add__(self, other):
        return self.added(other)

    def __enter__(self):
        self.entered()
        return self

    def entered(self):
        pass

    def __exit__(self, *exc):
        return False


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0


class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self):
        raise NotImplementedError


class Concrete(Abstract):
    def run(self):
        return isinstance(self, Abstract)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "a b")

assert Base().method() == 1
assert [Derived().method(), Last().method(), Last().method()] == [3, 3, 3]
square = Square(2)
square.area = 9
square.area = 16
assert [square.area for _ in range(4)] == [16.0] * 4
assert [square.described for _ in range(3)] == [7] * 3
assert square.anything + square.other == "anythingother"
for _ in range(5):
    square += Square(1)
with square:
    pass
assert sorted([Point(2), Point(1)])[0] == Point(1)
assert Concrete().run()
assert Colour(1) is Colour.RED and Colour["BLUE"].value == 2
assert Pair(1, 2)._replace(a=3).a == 3
