"""C functions that call back into Python."""
# calls: key=200 double=50 odd=30 replace=4 add=9 compare=4 source=6 missing=2 less=5 cached=3
# calls: partial_target=3 hook=2

import functools
import json
import re


def key(n):
    return -n


def double(n):
    return 2 * n


def odd(n):
    return n % 2


def replace(match):
    return match.group(0).upper()


def add(a, b):
    return a + b


def compare(a, b):
    return a - b


class Source:
    def __init__(self):
        self.left = 6

    def source(self):
        self.left -= 1
        return self.left


class Defaults(dict):
    def missing(self, name):
        return name

    def __missing__(self, name):
        return self.missing(name)


class Ordered:
    def __init__(self, n):
        self.n = n

    def less(self, other):
        return self.n < other.n

    def __lt__(self, other):
        return self.less(other)


@functools.lru_cache(maxsize=None)
def cached(n):
    return n


def partial_target(a, b):
    return a, b


def hook(pairs):
    return dict(pairs)


assert sorted(range(100), key=key)[0] == 99
assert max(range(50), key=key) == 0
values = list(range(50))
values.sort(key=key)
assert sum(map(double, range(50))) == 2450
assert len(list(filter(odd, range(30)))) == 15
assert re.sub("[a-d]", replace, "abcdxyz") == "ABCDxyz"
assert functools.reduce(add, range(10)) == 45
assert sorted([3, 2, 1, 0, -1], key=functools.cmp_to_key(compare)) == [-1, 0, 1, 2, 3]
assert list(iter(Source().source, 0)) == [5, 4, 3, 2, 1]
assert [Defaults(a=1)[name] for name in "abc"] == [1, "b", "c"]
assert [item.n for item in sorted(map(Ordered, [6, 5, 4, 3, 2, 1]))] == [1, 2, 3, 4, 5, 6]
assert [cached(n % 3) for n in range(9)] == [0, 1, 2] * 3
assert list(map(functools.partial(partial_target, 1), "abc")) == [(1, "a"), (1, "b"), (1, "c")]
assert json.loads('{"a": {"b": 1}}', object_pairs_hook=hook) == {"a": {"b": 1}}
"%s %r" % (Source(), Source())
