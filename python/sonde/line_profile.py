"""line_profiler's interface over sonde's timing of lines.

What differs from line_profiler: a decorated function is returned as it is, and timed from then on, instead of
wrapped (so ``profile(f)`` need not replace ``f``, and code that has ``f`` already is timed, too); all threads
are counted while a profiler is enabled, not only the one that enables it; wrappers that say what they wrap
stand for the function that they wrap; the results also have the time without called functions.
"""

import os
import types

import sonde._binding as _binding
import sonde._inside as _inside
from sonde.callables import functions_of, members_of, policies_of
from sonde.line_stats import LineStats, sources_of

os.register_at_fork(after_in_child=_inside.LineSession.forked)


def _label(code):
    return code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name)


class LineProfiler(_inside.LineSession):
    """LineProfiler(*functions)

    Times the lines of the functions that were added, while it is enabled: ``enable()`` and ``disable()``, or
    ``enable_by_count()`` and ``disable_by_count()``, which nest. Functions that it has decorated are timed
    whenever they run, and while one of them runs, so are those that were added.

    Several profilers may be enabled at once, also in a program that sonde or line_profiler already profiles.
    """

    timer_unit = 1e-9

    def __init__(self, *functions, wrap_trace=None, set_frame_local_trace=None):
        super().__init__()
        self.functions = []
        for function in functions:
            self.add_function(function)

    def add_code_object(self, code, always=False):
        """Time the lines of a code object: of a module, of what will be passed to exec."""
        self.add_code(code, _label(code), always)

    def _add(self, function, always=False):
        self.functions.append(function)
        self.add_code_object(function.__code__, always)

    def add_function(self, func):
        """Time the lines of a function, or of a method."""
        import warnings

        function = getattr(func, "__func__", func)
        if not isinstance(getattr(function, "__code__", None), types.CodeType):
            warnings.warn(f"{func!r} has no code whose lines could be timed", stacklevel=2)
            return
        if hasattr(func, "__wrapped__"):
            warnings.warn(
                f"{func!r} wraps a function, whose lines are not timed: use add_callable", stacklevel=2
            )
        self._add(function)

    def add_callable(self, func, guard=None, name=None):
        """Time the lines of the functions below a function, method, property, partial, class or wrapper.

        ``guard`` says of a function whether to leave it out. 1, or 0 when there was none.
        """
        added = [function for function in functions_of(func) if not (guard and guard(function))]
        for function in added:
            self._add(function)
        return 1 if added else 0

    def _add_members(self, space, scoping_policy, wrap):
        count = 0
        for _, functions in members_of(space, policies_of(scoping_policy)):
            for function in functions:
                self._add(function, always=wrap)
            count += 1
        return count

    def add_class(self, cls, *, scoping_policy=None, wrap=False):
        """Time the lines of a class's methods; how many members that are.

        ``scoping_policy`` says which members belong to it: ``exact``, ``children``, ``descendants``,
        ``siblings`` or ``none`` (all), or a dict of these for ``func``, ``class`` and ``module``. With
        ``wrap`` they are timed whenever they run.
        """
        return self._add_members(cls, scoping_policy, wrap)

    def add_module(self, mod, *, scoping_policy=None, wrap=False):
        """Time the lines of a module's functions and methods; how many members that are. See add_class."""
        return self._add_members(mod, scoping_policy, wrap)

    def wrap_callable(self, func):
        """Time the function from now on, and give it back as it is."""
        for function in functions_of(func):
            self.add_code_object(function.__code__, always=True)
        return func

    def __call__(self, func):
        """The decorator: for functions, methods, properties, partials, classes, in any order with others."""
        for function in functions_of(func):
            self._add(function, always=True)
        return func

    def run(self, cmd):
        """Profile a statement in the namespace of ``__main__``."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        """Profile a statement in the given namespaces."""
        self.enable_by_count()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable_by_count()
        return self

    def runcall(self, func, /, *args, **kw):
        """Profile one call, and give back what it returns."""
        self.enable_by_count()
        try:
            return func(*args, **kw)
        finally:
            self.disable_by_count()

    def __enter__(self):
        self.enable_by_count()
        return self

    def __exit__(self, *exc_info):
        self.disable_by_count()

    def get_stats(self):
        """What was counted so far, as LineStats."""
        return LineStats.from_rows(self.rows())

    def dump_stats(self, filename):
        """Write a .lprof file, which line_profiler reads, too."""
        self.get_stats().to_file(filename)

    def print_stats(self, *arguments, **options):
        """Print the table; what may be asked for is said by LineStats.print."""
        self.get_stats().print(*arguments, **options)

    def snapshot(self):
        """What was counted so far as the bytes of a .sonde file, with the text of the source files."""
        functions = self.rows()
        return _binding.line_recording(functions, sources_of(functions))
