"""The module ``tracy`` for programs that sonde runs where it is not installed."""

from sonde import Profiler, signpost  # noqa: F401 (what programs import from here)
