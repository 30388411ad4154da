"""Memory of lines from Python: what memory_profiler's LineProfiler is for.

What differs: growth is that of each line, never compared with a maximum; nothing is wrapped; all threads are
measured; a line costs a fraction of a microsecond.
"""

import sonde._binding as _binding
import sonde._inside as _inside
from sonde.callables import functions_of
from sonde.line_stats import sources_of
from sonde.running import Running


class LineMemoryProfiler(_inside.LineMemory, Running):
    """LineMemoryProfiler(*functions)

    Measures the memory of the lines of its functions between ``enable()`` and ``disable()``, from 0 on each
    time. Only one can be enabled at a time.
    """

    def __init__(self, *functions):
        super().__init__()
        for function in functions:
            self(function)

    def __call__(self, func=None, **settings):
        """The decorator, with or without memory_profiler's settings; gives the function back as it is."""
        for function in functions_of(func) if func is not None else ():
            self.add_code(function.__code__)
        return self if func is None else func

    add_function = __call__

    def get_stats(self):
        """``[((file, first line, name), [(line, hits, growth, memory, heap growth, heap), ...]), ...]``

        In bytes; growth and memory are those of the resident size, the heap's are 0 where it is not known.
        """
        return [
            ((code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name)), rows)
            for code, rows in self.rows()
        ]

    def print_stats(self, stream=None, precision=3):
        """Print the table to ``stream``, or to what sys.stdout is now."""
        import sys

        functions = self.get_stats()
        text = _binding.line_memory_text(functions, sources_of(functions), precision)
        (sys.stdout if stream is None else stream).write(text)
