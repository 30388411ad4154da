"""``Profiler``: the part of a program that ``sonde trace --partial`` (record, line, mem) is to record::

    profiler = sonde.Profiler()
    profiler.enable()
    work()
    profiler.disable()

    with sonde.Profiler():
        work()

    @sonde.Profiler()
    def work(): ...

Without --partial, or without sonde, all this does nothing and costs nearly nothing. It keeps no results; for
those in the program itself see ``sonde.Profile``.
"""

import functools
import inspect

try:
    from sonde._inside import profiler_off, profiler_on
except ImportError:  # an interpreter that sonde cannot record

    def profiler_on(self=None):
        return self

    def profiler_off(*_):
        pass


class Profiler:
    """Profilers are counted, for the whole process: whichever thread enables one, all threads are recorded
    until as many were disabled. A forked child goes on as its parent was.

    Calls are recorded that begin while one is enabled: enable it before the function of interest is called. A
    decorated coroutine or generator is recorded from its beginning to its end, with what runs while it waits.
    """

    __slots__ = ()

    # No functions, which would be recorded themselves.
    enable, disable = staticmethod(profiler_on), staticmethod(profiler_off)
    __enter__, __exit__ = profiler_on, profiler_off

    def __call__(self, function):
        """Decorates it: recorded is what each call does."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def profiled(*args, **kwargs):
                profiler_on()
                try:
                    return await function(*args, **kwargs)
                finally:
                    profiler_off()

        elif inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def profiled(*args, **kwargs):
                profiler_on()
                try:
                    return (yield from function(*args, **kwargs))
                finally:
                    profiler_off()

        else:

            @functools.wraps(function)
            def profiled(*args, **kwargs):
                profiler_on()
                try:
                    return function(*args, **kwargs)
                finally:
                    profiler_off()

        return profiled
