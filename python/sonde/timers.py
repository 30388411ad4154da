"""Timers in a program's own code, with PyOP2's names and meaning.

    with timed_region("assembly"):
        ...

    @timed_function("solve")
    def solve(): ...

    timing("assembly")                 # seconds in all; total=False: of a call
    summary()                          # a table of all; summary("timings.csv") writes it

They count always; SONDE_TIMERS=0 in the environment makes them do nothing. SONDE_PRINT_SUMMARY=1 (or
PYOP2_PRINT_SUMMARY=1) prints the table when the program ends, of MPI ranks the first one's.
"""

import functools
import os
import sys
from time import perf_counter

from sonde._inside import Timer, launched_rank, reset_timers, timed_region, timers_on
from sonde._inside import timers as _timers

_HEADS = ("Timer", "Total time", "Calls", "Average time")
_WISHES = ("SONDE_PRINT_SUMMARY", "PYOP2_PRINT_SUMMARY")


def timed_function(name=None):
    """Times each call, under this name or the function's own.

    Of a coroutine function, from its start to its end, what it waits for included; of a generator function,
    while it runs, not while its caller does.
    """
    if callable(name):  # @timed_function
        return _timed(name, name.__name__)
    return lambda function: _timed(function, name or function.__name__)


def _timed(function, name):
    if not timers_on:
        return function
    import inspect  # which takes longer to import than all else here

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def timed(*args, **kwargs):
            with timed_region(name):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def timed(*args, **kwargs):
            return (yield from _resumed(function(*args, **kwargs), Timer(name)))

    elif inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def timed(*args, **kwargs):
            with timed_region(name):
                values = function(*args, **kwargs)
                try:
                    async for value in values:
                        yield value
                finally:
                    await values.aclose()

    else:
        region = timed_region(name)

        @functools.wraps(function)
        def timed(*args, **kwargs):
            with region:
                return function(*args, **kwargs)

    return timed


def _resumed(generator, timer):
    """Passes on what the generator and its caller say to each other; its time is that between two answers."""
    spent, step, said = 0.0, generator.send, None
    try:
        while True:
            begin = perf_counter()
            try:
                produced = step(said)
            except StopIteration as end:
                return end.value
            finally:
                spent += perf_counter() - begin
            step = generator.send
            try:
                said = yield produced
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                step, said = generator.throw, error
    finally:
        timer.add(spent)


def tic(name):
    """Start the timer of that name."""
    Timer(name).start()


def toc(name):
    """Stop the timer of that name; the seconds since its start."""
    return Timer(name).stop()


def timing(name, reset=False, total=True):
    """The seconds that a timer has counted in all, or those of a call; 0 and nan when it has none."""
    timer = _timers().get(name)
    if timer is None:
        return 0.0 if total else float("nan")
    seconds = timer.total if total else timer.average
    if reset:
        timer.reset()
    return seconds


class _Reading:
    """What a timer said before it was reset."""

    def __init__(self, timer):
        self.name, self.ncalls = timer.name, timer.ncalls
        self.total, self.average = timer.total, timer.average


def get_timers(reset=False):
    """{name: Timer} of all that were used; with reset, of what they said before they were reset."""
    found = _timers()
    if not reset:
        return found
    found = {name: _Reading(timer) for name, timer in found.items()}
    reset_timers()
    return found


def _table(timers):
    rows = [(t.name, f"{t.total:g}", f"{t.ncalls:d}", f"{t.average:g}") for t in timers]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows)]
    for row in (_HEADS, *rows):
        yield " | ".join(text.rjust(width) for text, width in zip(row, widths))


def summary(filename=None):
    """Prints a table of all timers by name, or writes it to a file as CSV."""
    timers = sorted(_timers().values(), key=lambda timer: timer.name)
    if filename is None:
        if timers:
            print("\n".join(_table(timers)))
        return
    import csv

    with open(filename, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_HEADS)
        writer.writerows((t.name, t.total, t.ncalls, t.average) for t in timers)


def _print_at_exit(process):
    if os.getpid() == process and _timers():
        print("**** sonde timings summary ****")
        summary()
        sys.stdout.flush()


if any(os.environ.get(name, "0") not in {"", "0"} for name in _WISHES) and not launched_rank():
    import atexit

    atexit.register(_print_at_exit, os.getpid())
