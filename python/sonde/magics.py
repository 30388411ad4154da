"""``%load_ext sonde``: the magics %lprun and %%lprun_all, with line_profiler's flags, and those of memory."""

import builtins
import contextlib
import io
import itertools
import linecache
import re
import textwrap
import time
import types

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.page import page

from sonde.line_profile import LineProfiler

_VALUE = re.compile(r'\s*(?:"([^"]*)"|\'([^\']*)\'|(\S+))')
_IS_FUNCTION = 1  # in co_flags: bodies of classes and modules lack it
_cells = itertools.count(1)


def load_ipython_extension(shell):
    from sonde.memory_magics import MemoryMagics

    shell.register_magics(LineMagics, MemoryMagics)


def parse_options(text, flags, valued):
    """The options in front of the statement, as a dict of lists, and the statement, as it was written."""
    options = {letter: [] for letter in flags + valued}
    text = text.lstrip()
    while re.match(r"-[A-Za-z]", text):
        letter, text = text[1], text[2:]
        if letter in valued:
            value = _VALUE.match(text)
            if not value:
                raise UsageError(f"-{letter} needs a value")
            options[letter].append(next(part for part in value.groups() if part is not None))
            text = text[value.end() :].lstrip()
        elif letter in flags:
            options[letter].append(True)
            text = "-" + text if text[:1].strip() else text.lstrip()
        else:
            raise UsageError(f"-{letter} is not an option here")
    return options, re.sub(r"^--\s+", "", text)


def _unit(options):
    if not options["u"]:
        return None
    try:
        return float(options["u"][-1])
    except ValueError:
        raise TypeError("-u needs the unit as a number of seconds") from None


def _codes(code):
    """The code objects of the functions in it, at any depth; lambdas and comprehensions belong to lines."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_flags & _IS_FUNCTION and not constant.co_name.startswith("<"):
                yield constant
            yield from _codes(constant)


@contextlib.contextmanager
def _builtin_profile(profiler):
    """``profile`` among the built-in names, for @profile in what is run."""
    missing = object()
    before = getattr(builtins, "profile", missing)
    builtins.profile = profiler
    try:
        yield
    finally:
        if before is missing:
            del builtins.profile
        else:
            builtins.profile = before


def run_statement(profiler, function, *arguments):
    """What ended the run early, or None; and the seconds that it took."""
    start = time.perf_counter()
    end = None
    with _builtin_profile(profiler):
        try:
            function(*arguments)
        except BaseException as error:
            end = error
    return end, time.perf_counter() - start


def add_functions(shell, names, add, shown=str):
    """Has each function that is named in the session added; ``shown`` writes a name that means nothing."""
    for name in names:
        try:
            add(eval(name, shell.user_global_ns, shell.user_ns))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise UsageError(f"Could not find function {shown(name)}.\n{reason}") from None


def end_statement(output, options, end):
    """Saves what was printed where -T says; then a failure of the statement takes its course."""
    for name in options["T"]:
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(output + "\n")
        print(f"\n*** Profile printout saved to text file {name!r}.")
    if isinstance(end, (SystemExit, KeyboardInterrupt)):
        print(f"\n*** {type(end).__name__} exception caught in code being profiled.")
    elif end:
        raise end


def _finish(profiler, options, end):
    """Shows and writes the results, also when the statement failed; then the failure takes its course."""
    text = io.StringIO()
    stats = profiler.get_stats()
    stats.print(text, output_unit=_unit(options), stripzeros=bool(options["z"]))
    output = text.getvalue().rstrip()
    page(output)
    if not stats.timings:
        print("*** No function was chosen: name some with -f FUNCTION or -m MODULE.")
    elif not any(stats.timings.values()):
        print("*** No function that was chosen has run.")
    for name in options["D"]:
        profiler.dump_stats(name)
        print(f"\n*** Profile stats pickled to file {name!r}.")
    end_statement(output, options, end)
    return profiler if options["r"] else None


@magics_class
class LineMagics(Magics):
    def _find(self, options):
        """A profiler with what -f and -m name."""
        profiler = LineProfiler()
        add_functions(self.shell, options["f"], profiler.add_callable)
        for name in options["m"]:
            try:
                profiler.add_module(__import__(name, fromlist=[""]))
            except Exception as error:
                raise UsageError(f"Could not find module {name}.\n{type(error).__name__}: {error}") from None
        return profiler

    @line_magic
    def lprun(self, line=""):
        """Run a statement and show the time of each line of the functions that are named.

        %lprun [OPTIONS] STATEMENT

        -f FUNCTION: time this function, method, property, class...; any expression, quoted if it has
        spaces. May be given several times.

        -m MODULE: time all functions of a module.

        -D FILE: write the results to a .lprof file.

        -T FILE: write the table to a text file.

        -r: return the LineProfiler.

        -z, -s: leave out functions that did not run.

        -u SECONDS: the unit of times in the table.
        """
        options, statement = parse_options(line, "rsz", "fmDTu")
        options["z"] += options["s"]
        profiler = self._find(options)
        spaces = self.shell.user_global_ns, self.shell.user_ns
        end, _ = run_statement(profiler, profiler.runctx, statement, *spaces)
        return _finish(profiler, options, end)

    @cell_magic
    def lprun_all(self, line="", cell=""):
        """Run a cell and show the time of each of its lines, those of functions that it defines included.

        %%lprun_all [OPTIONS]

        -D, -T, -r, -z, -u: as in %lprun.

        -p: only the lines of the cell itself, not those of functions.

        -t: keep the time in seconds that it took in the variable _total_time_taken.
        """
        options, rest = parse_options(line, "rzpt", "DTu")
        if rest:
            raise UsageError(f"%%lprun_all takes options only, not {rest!r}")
        source = self.shell.transform_cell(textwrap.dedent(cell))
        name = f"<lprun_all cell {next(_cells)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        code = compile(source, name, "exec")
        profiler = LineProfiler()
        for one in (code, *(() if options["p"] else _codes(code))):
            profiler.add_code_object(one)
        with profiler:
            end, elapsed = run_statement(profiler, exec, code, self.shell.user_global_ns, self.shell.user_ns)
        if options["t"]:
            self.shell.user_ns["_total_time_taken"] = elapsed
        return _finish(profiler, options, end)
