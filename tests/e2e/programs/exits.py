"""sys.exit deep inside, with finally blocks and atexit functions."""
# calls: deep=51/1 cleanup=51 at_exit=1
# exit: 3

import atexit
import sys


def cleanup():
    pass


def at_exit():
    pass


def deep(n):
    try:
        if n == 0:
            sys.exit(3)
        deep(n - 1)
    finally:
        cleanup()


atexit.register(at_exit)
deep(50)
