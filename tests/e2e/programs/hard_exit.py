"""os._exit in mid-call: cProfile can write nothing, we must have all."""
# calls: deep=51/1 leaf=1000 leaves=1
# exit: 7
# alone: cProfile never gets to write

import os


def leaf():
    pass


def leaves():
    for _ in range(1000):
        leaf()


def deep(n):
    if n == 0:
        leaves()
        os._exit(7)
    deep(n - 1)


deep(50)
