"""The magics %mprun and %memit, with memory_profiler's flags."""

import io

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.page import page

from sonde.line_memory import LineMemoryProfiler
from sonde.magics import add_functions, end_statement, parse_options, run_statement
from sonde.memory_usage import memory_usage


class MemitResult:
    """What %memit found: the highest memory of each run, and what there was before, in MiB."""

    def __init__(self, mem_usage, baseline, repeat, timeout, interval, include_children):
        self.mem_usage = mem_usage
        self.baseline = baseline
        self.repeat = repeat
        self.timeout = timeout
        self.interval = interval
        self.include_children = include_children

    def __str__(self):
        highest = max(self.mem_usage)
        return f"peak memory: {highest:.2f} MiB, increment: {highest - self.baseline:.2f} MiB"

    def _repr_pretty_(self, printer, cycle):
        printer.text(f"<MemitResult : {self}>")


def _number(options, letter, kind, default):
    if not options[letter]:
        return default
    try:
        return kind(options[letter][-1])
    except ValueError:
        raise UsageError(f"-{letter} needs a number, not {options[letter][-1]!r}") from None


@magics_class
class MemoryMagics(Magics):
    @line_cell_magic
    def memit(self, line="", cell=None):
        """Run a statement once and tell the highest memory of the process meanwhile.

        %memit [OPTIONS] STATEMENT; in cell mode the first line is set-up, and the cell is measured.

        -r R: run it R times. -t T: ignored, there is no second run to be waited for. -i I: seconds between
        two looks; the highest is the kernel's own, and is not missed between them. -c: with the processes
        that it starts. -o: return the result. -q: print nothing.
        """
        options, statement = parse_options(line, "coq", "rti")
        repeat = max(1, _number(options, "r", int, 1))
        interval = _number(options, "i", float, 0.1)
        space = self.shell.user_ns
        if cell is not None:
            exec(self.shell.transform_cell(statement), space)
            statement = cell
        code = compile(self.shell.transform_cell(statement), "<memit>", "exec")
        import gc

        gc.collect()
        baseline = memory_usage()[0]
        children = bool(options["c"])
        highest = [
            memory_usage((exec, (code, space)), interval, max_usage=True, include_children=children)
            for _ in range(repeat)
        ]
        timeout = _number(options, "t", int, 0) or None
        result = MemitResult(highest, baseline, repeat, timeout, interval, children)
        if not options["q"]:
            print(result)
        return result if options["o"] else None

    @line_cell_magic
    def mprun(self, line="", cell=None):
        """Run a statement, or a cell, and show the memory of each line of the functions that are named.

        %mprun [OPTIONS] STATEMENT

        -f FUNCTION: measure this function, method, class...; any expression, quoted if it has spaces. May be
        given several times; functions of the session are shown, too. -T FILE: write the table to a text file.
        -r: return the profiler. -c: accepted; memory of other processes belongs to no line.
        """
        options, statement = parse_options(line, "rc", "fT")
        if cell is not None:
            statement += "\n" + cell
        profiler = LineMemoryProfiler()
        add_functions(self.shell, options["f"], profiler, shown=repr)
        space = self.shell.user_global_ns, self.shell.user_ns
        end, _ = run_statement(profiler, profiler.runctx, statement, *space)
        text = io.StringIO()
        profiler.print_stats(text)
        output = text.getvalue().rstrip()
        page(output)
        end_statement(output, options, end)
        return profiler if options["r"] else None
