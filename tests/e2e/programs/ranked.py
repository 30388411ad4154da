"""Work that differs by rank, with recursion, a thread and lambdas, for the formats of parallel profilers."""

import os
import threading

RANK = int(os.environ.get("SONDE_RANK", 0))


def spin(count):
    return sum(number * number for number in range(count))


def descend(depth):
    if depth:
        descend(depth - 1)
    return spin(200)


def only_on_odd_ranks():
    return sorted(range(100), key=lambda number: -number)


def main():
    for _ in range(5 * (RANK + 1)):
        descend(3)
    if RANK % 2:
        only_on_odd_ranks()
    worker = threading.Thread(target=spin, args=(500,))
    worker.start()
    worker.join()
    return (lambda: spin(1))()


main()
