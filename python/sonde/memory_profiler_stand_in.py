"""The module ``memory_profiler`` for programs that ``sonde mem --lines`` runs where it is not installed."""

from sonde.decorators import profile  # noqa: F401 (what programs import from here)
from sonde.memory_usage import memory_usage  # noqa: F401


def __getattr__(name):
    names = {"LineProfiler": "LineMemoryProfiler", "load_ipython_extension": "load_ipython_extension"}
    if name not in names:
        raise AttributeError(
            "module 'memory_profiler' (sonde's stand-in for it) has no attribute " + repr(name)
        )
    import sonde

    return getattr(sonde, names[name])
