"""The module ``memory_profiler`` for programs that ``sonde mem --lines`` runs where it is not installed."""

from sonde.decorators import profile  # noqa: F401 (what programs import from here)
from sonde.memory_usage import memory_usage  # noqa: F401


def __getattr__(name):
    if name != "load_ipython_extension":
        raise AttributeError(
            "module 'memory_profiler' (sonde's stand-in for it) has no attribute " + repr(name)
        )
    import sonde

    return sonde.load_ipython_extension
