"""cProfile's interface over sonde's tracer.

What differs from cProfile: all threads are recorded, not only the one that enables; several profilers may
be enabled at once, also inside a program that sonde (or cProfile) already profiles; in ``getstats()`` the
``code`` of a Python function is a stand-in with ``co_filename``, ``co_firstlineno``, ``co_name`` and
``co_qualname``, so that a function that is gone need not be kept alive; functions that these do not tell
apart (two lambdas in one line) are one entry.
"""

import sonde._binding as _binding
import sonde._inside as _inside
from sonde.running import Running


class Profile(_inside.Session, _binding.Results, Running):
    """Profile(timer=None, timeunit=0.0, subcalls=True, builtins=True, *, library=True)

    Records the calls made between ``enable()`` and ``disable()``. ``timer`` is a function that gives the
    time in seconds or, with a ``timeunit``, in integer units of that many seconds; the default is a clock
    read in C. Without ``subcalls`` callers are not told apart; without ``builtins`` C functions are left out.
    Without ``library`` so are the standard library and installed packages.

    ``enable(subcalls=True, builtins=True)``, ``disable()``, ``clear()`` and ``getstats()`` are as in
    cProfile. ``snapshot()`` gives the recording so far as the bytes of a .sonde file, with whole call paths
    and the text of the source files below the working directory.
    """

    def __init__(self, timer=None, timeunit=0.0, subcalls=True, builtins=True, *, library=True):
        super().__init__(
            c_calls=builtins, timer=timer, timeunit=timeunit, subcalls=subcalls, library=library
        )

    def create_stats(self):
        """Stop, and put what was recorded into ``stats``."""
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self):
        """Put what was recorded so far into ``stats``, as a dict in the form that pstats knows."""
        import marshal

        self.stats = marshal.loads(_binding.pstats(self.raw_snapshot(), "this profile", self.subcalls))

    def dump_stats(self, file):
        """Stop, and write what was recorded to the named file, for pstats and all that reads its files."""
        import marshal

        with open(file, "wb") as stream:
            self.create_stats()
            marshal.dump(self.stats, stream)

    def print_stats(self, sort=-1):
        """Stop, and print the table to sys.stdout; ``sort`` is a key of pstats or a tuple of them."""
        import pstats

        keys = sort if isinstance(sort, tuple) else (sort,)
        pstats.Stats(self).strip_dirs().sort_stats(*keys).print_stats()

    def run(self, cmd):
        """Profile a statement in the namespace of ``__main__``."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def __enter__(self):
        self.enable()
        return self

    def __exit__(self, *exc_info):
        self.disable()


def run(statement, filename=None, sort=-1):
    """Profile a statement in the namespace of ``__main__``; print the table, or write it to a .prof file."""
    import __main__

    runctx(statement, __main__.__dict__, __main__.__dict__, filename, sort)


def runctx(statement, globals, locals, filename=None, sort=-1):
    """Profile a statement in the given namespaces; print the table, or write it to a .prof file."""
    profile = Profile()
    try:
        profile.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        if filename is None:
            profile.print_stats(sort)
        else:
            profile.dump_stats(filename)
