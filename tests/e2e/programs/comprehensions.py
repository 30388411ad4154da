"""Comprehensions of all kinds, nested, with calls and closures inside; lambdas that share a line."""
# calls: item=130 inner=12


def item(n):
    return n


def inner(n):
    return [item(i) for i in range(n)]


assert len([item(i) for i in range(10)]) == 10
assert len({item(i) for i in range(10)}) == 10
assert len({item(i): i for i in range(10)}) == 10
assert sum(item(i) for i in range(10)) == 45
assert sum(len(inner(n)) for n in range(12)) == 66
assert [[item(i + j) for i in range(2)] for j in range(7)][6] == [6, 7]
assert list(item(i) for i in range(10) if i % 1 == 0)[-1] == 9
pair = [lambda: 1, lambda: 2]
assert [function() for function in pair for _ in range(3)] == [1, 1, 1, 2, 2, 2]
