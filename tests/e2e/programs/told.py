"""Tells of regions in every way there is; what it tells is known (test_events.py)."""

import asyncio
import os
import sys
import threading

sys.path.insert(0, sys.argv[1])
import sonde
from sonde import Timer, tic, timed_function, timed_region, toc


def recursive(depth):
    with timed_region("recursive"):
        if depth:
            recursive(depth - 1)


@timed_function("decorated")
def fails():
    with timed_region("inner"):
        raise ValueError


def generator():
    with timed_region("generator"):
        yield 1
        yield 2


async def task(turns):
    with timed_region("task"):
        with timed_region("task %d" % turns):
            for _ in range(turns):
                await asyncio.sleep(0)


async def tasks():
    await asyncio.gather(*(task(turns) for turns in (1, 2, 3)))


def in_thread():
    for _ in range(100):
        recursive(1)


with timed_region("whole"):
    recursive(3)
    for _ in range(5):
        try:
            fails()
        except ValueError:
            pass
    sonde.signpost("one", "with a text: é")
    sonde.signpost(header="two")
    for value in (0.25, -1e-9, 3):
        sonde.counter("residual", value)
    sonde.metadata("mesh", "coarse")
    sonde.metadata("mesh", 17)
    asyncio.run(tasks())
    threads = [threading.Thread(target=in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tic("tic")
    toc("tic")

timer = Timer("other thread")
timer.start()
stopping = threading.Thread(target=timer.stop)
stopping.start()
stopping.join()

with timed_region("parent"):
    child = os.fork()
    if not child:
        recursive(0)
        with timed_region("of the child"):
            pass
if not child:
    os._exit(0)
os.waitpid(child, 0)
left = generator()
next(left)
os.write(1, b"%d %d" % (os.getpid(), child))
os._exit(3)
