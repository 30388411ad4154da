"""What a program tells the recording that is being made of it, beside its regions (``sonde.timed_region``)::

    sonde.signpost("phase 2", "4,000 cells")   # an instant, with a message or none
    sonde.counter("residual", residual)        # a number over time
    sonde.metadata("mesh", "fine")             # about the run as a whole; said again, the last word counts

They show in recordings of every kind: in the timeline, in reports, in ``sonde info``. When nothing
records they do nothing and cost little.
"""

import os

try:
    from sonde._inside import event_counter as counter
    from sonde._inside import event_mark, event_metadata
except ImportError:  # an interpreter that sonde cannot record

    def counter(name, value):
        pass

    def event_mark(name, text=None):
        pass

    event_metadata = counter


def signpost(header, message=None):
    """An instant with a name."""
    event_mark(header, None if message is None else str(message))


def metadata(key, value):
    """What is to be known of this run: a configuration, a version, a size."""
    event_metadata(str(key), str(value))


def get_include():
    """The folder with sonde/zones.h (C, C++) and sonde/sonde_zones.f90 (Fortran), for a compiler's -I."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
