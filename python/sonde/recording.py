"""Recordings as tables."""

import sonde._binding as _binding


def read(source):
    """The tables of a recording: a path to a .sonde, .prof or .lprof file, or the bytes of one.

    A dict: ``strings`` is a list of str; ``meta`` a dict about the run; ``damage`` what could not be read;
    ``codes``, ``nodes``, ``processes``, ``threads``, ``calls``, ``lines``, ``samples``, ``functions``,
    ``edges``, ``notes`` and ``chunks`` are tables: dicts of columns, each a memoryview of integers. Numbers
    in columns such as ``name``, ``code`` or ``parent`` are places in ``strings``, ``codes`` and so on; place
    0 is "none". Times are in ns::

        recording = sonde.read("script.sonde")
        self_ns = numpy.asarray(recording["functions"]["self_ns"])
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _binding.read(bytes(source))
    with open(source, "rb") as stream:
        return _binding.read(stream.read(), str(source))
