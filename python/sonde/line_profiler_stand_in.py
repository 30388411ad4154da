"""The module ``line_profiler`` for programs that ``sonde line`` runs where line_profiler is not installed."""

from sonde.decorators import profile

__all__ = ["LineProfiler", "LineStats", "load_stats", "profile", "show_text"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(
            "module 'line_profiler' (sonde's stand-in for it) has no attribute '" + name + "'"
        )
    import sonde

    return getattr(sonde, name)
