"""``profile`` while ``sonde mem --rss`` looks at the program: what it decorates is marked in the memory.

As mprof's own: each call of a decorated function, and each block with ``profile.timestamp(name)``, is a
bracket with the memory at its beginning and end.
"""

import contextlib
import functools
import inspect

from sonde._inside import event_begin, event_end


@contextlib.contextmanager
def _marked(name):
    owner = object()  # so that what several tasks begin under one name is told apart
    event_begin(name, id(owner))
    try:
        yield
    finally:
        event_end(name, id(owner))


def _name(function):
    """As mprof has it."""
    return f"{getattr(function, '__module__', None)}.{getattr(function, '__name__', function)}"


class _Marker:
    timestamp = staticmethod(_marked)

    def __call__(self, function=None, **_):
        """The decorator. Without a function, with memory_profiler's settings, it gives itself back."""
        if function is None:
            return self
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self(function.__func__))
        if not callable(function) or isinstance(function, type):
            return function
        name = _name(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def marked(*args, **kwargs):
                with _marked(name):
                    return await function(*args, **kwargs)

        elif inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def marked(*args, **kwargs):
                with _marked(name):
                    return (yield from function(*args, **kwargs))

        else:

            @functools.wraps(function)
            def marked(*args, **kwargs):
                with _marked(name):
                    return function(*args, **kwargs)

        return marked


marker = _Marker()
