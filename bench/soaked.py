"""A program that never comes to an end by itself: threads born and dying, forks, programs started, recursion,
sleeps, for so many seconds. What it keeps does not grow."""

import collections
import os
import subprocess
import sys
import threading
import time

kept = collections.deque(maxlen=100)


def descend(depth):
    if depth:
        return descend(depth - 1)
    kept.append(bytearray(600 + 100 * len(kept)))
    return sum(range(200))


def short():
    descend(5)
    time.sleep(0.001)


def work():
    for depth in range(0, 60, 7):
        descend(depth)
    sorted(range(200), key=lambda number: -number)


def turn(born):
    threads = [threading.Thread(target=short) for _ in range(born)]
    for each in threads:
        each.start()
    for _ in range(200):
        work()
    for each in threads:
        each.join()


def main(seconds):
    end = time.monotonic() + seconds
    waiting = threading.Event()
    threading.Thread(target=waiting.wait, daemon=True).start()
    turns = 0
    while time.monotonic() < end:
        turn(4 * (turns % 10 == 0))
        turns += 1
        if turns % 50 == 0:
            child = os.fork()
            if child == 0:
                work()
                os._exit(0)
            os.waitpid(child, 0)
        if turns % 500 == 0:
            subprocess.run([sys.executable, "-c", "pass"], check=True)
    print(turns)


main(float(sys.argv[1]))
