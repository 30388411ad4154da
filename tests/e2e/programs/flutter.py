"""Two call chains in quick alternation, generators, a C callback, recursion of changing depth: stacks that a
torn read would mix."""

import sys
import time


def a3():
    return sum((1, 2))


def a2():
    return a3()


def a1():
    return a2()


def b3():
    return max(1, 2)


def b2():
    return b3()


def b1():
    return b2()


def outer():
    yield from inner()


def inner():
    yield a1()
    yield b1()


def key(number):
    return b1() - number


def descend(depth):
    return descend(depth - 1) if depth else a1()


def fail():
    raise ValueError


def attempt():
    try:
        fail()
    except ValueError:
        return b1()


def main(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for depth in range(8):
            a1()
            b1()
            descend(depth * 3)
        list(outer())
        sorted([3, 1, 2], key=key)
        attempt()


main(float(sys.argv[1]))
