"""The module ``line_profiler`` for programs that ``sonde line`` runs where line_profiler is not installed."""

from sonde.decorators import profile  # noqa: F401 (what programs import from here)

_FROM_SONDE = ("LineProfiler", "LineStats", "load_ipython_extension", "load_stats", "show_text")


def __getattr__(name):
    if name not in _FROM_SONDE:
        raise AttributeError(
            "module 'line_profiler' (sonde's stand-in for it) has no attribute " + repr(name)
        )
    import sonde

    return getattr(sonde, name)
