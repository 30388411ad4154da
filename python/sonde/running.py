"""Running a statement or a function under any profiler that has ``enable`` and ``disable``."""


class Running:
    """What cProfile's and memory_profiler's users call alike."""

    __slots__ = ()

    def runctx(self, cmd, globals, locals):
        """Profile a statement in the given namespaces."""
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func, /, *args, **kw):
        """Profile one call, and give back what it returns."""
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()
