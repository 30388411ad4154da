"""sonde: one profiler for Python programs.

From the shell: ``python -m sonde trace script.py`` (``python -m sonde --help``). From Python::

    import sonde as cProfile          # Profile, run and runctx mean what they mean in cProfile

    with sonde.Profile() as profile:
        work()
    profile.print_stats("cumulative")

    profiler = sonde.LineProfiler()   # LineProfiler and LineStats mean what they mean in line_profiler
    profiler.runcall(work)
    profiler.print_stats()

    from sonde import profile         # @profile: chosen while `sonde line` runs the script, else no cost

    with sonde.Profiler():            # the part that `sonde trace --partial` records, else no cost
        work()

    sonde.memory_usage((work, (1, 2)))         # MiB over time; the function is run once

    recording = sonde.read("script.sonde")     # or a .prof: its tables, column by column

Importing the package loads nothing; each name is brought in when it is first used.
"""

import sys

_HOME = {
    "LineMemoryProfiler": "line_memory",
    "LineProfiler": "line_profile",
    "LineStats": "line_stats",
    "Profile": "call_profile",
    "Profiler": "profiler",
    "Timer": "timers",
    "counter": "events",
    "get_include": "events",
    "get_timers": "timers",
    "lineprof": "decorators",
    "load_ipython_extension": "magics",
    "load_stats": "line_stats",
    "memory": "memory_region",
    "memory_usage": "memory_usage",
    "memprof": "decorators",
    "metadata": "events",
    "profile": "decorators",
    "read": "recording",
    "reset_timers": "timers",
    "run": "call_profile",
    "runctx": "call_profile",
    "show_text": "line_stats",
    "signpost": "events",
    "summary": "timers",
    "tic": "timers",
    "timed_function": "timers",
    "timed_region": "timers",
    "timing": "timers",
    "toc": "timers",
}
# Modules that need no extension: scripts that use them run in any interpreter.
_EVERYWHERE = {"decorators", "events", "memory_usage", "profiler"}

__all__ = sorted(_HOME)


def _refusal():
    """Why the extensions cannot be used in this interpreter, or None."""
    this = "; this is " + sys.version.split()[0]
    if sys.version_info < (3, 9):  # noqa: UP036 (the launcher brings the package into any interpreter)
        return "sonde needs CPython 3.9 or newer" + this
    if sys.implementation.name != "cpython":
        return "sonde profiles CPython only" + this + " of " + sys.implementation.name
    if "t" in sys.abiflags:
        return "sonde has no build for free-threaded CPython yet" + this + ": use the build with the GIL"
    return None


def __getattr__(name):
    if name not in _HOME and name != "__version__":
        raise AttributeError("module 'sonde' has no attribute '" + name + "'")
    refusal = _refusal()
    if refusal and _HOME.get(name) not in _EVERYWHERE:
        raise ImportError(refusal, name="sonde")
    from importlib import import_module

    if name == "__version__":
        return import_module("sonde._binding").VERSION
    value = getattr(import_module("sonde." + _HOME[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()).union(__all__))


if sys.version_info < (3, 7):  # noqa: UP036 (no module __getattr__: say it now, or nobody will)
    raise ImportError(_refusal())
