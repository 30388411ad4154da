"""Work that differs by rank, with recursion, a thread and lambdas, for the formats of parallel profilers."""

import _thread
import os

RANK = int(os.environ.get("SONDE_RANK", 0))
DONE = _thread.allocate_lock()  # without the many paths that importing `threading` takes
DONE.acquire()


def spin(count):
    return sum(number * number for number in range(count))


def descend(depth):
    if depth:
        descend(depth - 1)
    return spin(200)


def only_on_odd_ranks():
    return sorted(range(100), key=lambda number: -number)


def work():
    spin(500)
    DONE.release()


def main():
    for _ in range(5 * (RANK + 1)):
        descend(3)
    if RANK % 2:
        only_on_odd_ranks()
    _thread.start_new_thread(work, ())
    DONE.acquire()
    return (lambda: spin(1))()


main()
