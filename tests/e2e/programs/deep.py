"""Recursion thousands deep."""
# calls: down=6001/1 other=3001/1 back=3000/1

import sys

sys.setrecursionlimit(20000)


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


def other(n):
    return 0 if n == 0 else back(n - 1)


def back(n):
    return 1 + other(n)


assert down(6000) == 6000
assert other(3000) == 3000
