"""Times of lines, as line_profiler keeps and prints them."""

import sonde._binding as _binding

_NANOSECOND = 1e-9


class LineStats:
    """LineStats(timings, unit)

    ``timings`` is ``{(file, first line, name): [(line, hits, time), ...]}``, the times in units of ``unit``
    seconds. What sonde knows besides is in ``more``: ``{(file, first line, name): {line: (self time, shortest
    hit, longest hit)}}``, in the same unit; functions of which only sums are known have no entry.
    """

    def __init__(self, timings, unit, more=None):
        self.timings = timings
        self.unit = unit
        self.more = more or {}

    @classmethod
    def from_rows(cls, functions):
        """From pairs of a key and rows in ns, as the extensions give them; equal keys are added up."""
        parts = []
        for key, rows in functions:
            more = {row[0]: tuple(row[3:]) for row in rows if len(row) > 3}
            known = {key: more} if more and len(more) == len(rows) else {}
            parts.append(cls({key: [tuple(row[:3]) for row in rows]}, _NANOSECOND, known))
        return cls.from_stats_objects(cls({}, _NANOSECOND), *parts)

    @classmethod
    def from_files(cls, file, /, *files):
        """The sum of .lprof files, or of any recordings with times of lines."""
        functions = []
        for name in (file, *files):
            with open(name, "rb") as stream:
                functions += _binding.read_lines(stream.read(), str(name))
        return cls.from_rows(functions)

    @classmethod
    def from_stats_objects(cls, stats, /, *others):
        """The sum of several; the unit is the largest of theirs."""
        everything = (stats, *others)
        unit = max(one.unit for one in everything)
        sums, more, sums_only = {}, {}, set()
        for one in everything:
            scale = one.unit / unit
            known = getattr(one, "more", {})
            for key, rows in one.timings.items():
                lines = sums.setdefault(key, {})
                for line, hits, time in rows:
                    before = lines.get(line, (0, 0))
                    lines[line] = (before[0] + hits, before[1] + time * scale)
                if rows and key not in known:
                    sums_only.add(key)
                for line, values in known.get(key, {}).items():
                    _add_more(more.setdefault(key, {}), line, [value * scale for value in values])
        timings = {
            key: [(line, hits, round(time)) for line, (hits, time) in sorted(lines.items())]
            for key, lines in sums.items()
        }
        whole = {
            key: {line: tuple(map(round, values)) for line, values in sorted(lines.items())}
            for key, lines in more.items()
            if key not in sums_only
        }
        return cls(timings, unit, whole)

    def __add__(self, other):
        if not hasattr(other, "timings"):
            return NotImplemented
        return self.from_stats_objects(self, other)

    def __iadd__(self, other):
        total = self + other
        self.timings, self.unit, self.more = total.timings, total.unit, total.more
        return self

    def __eq__(self, other):
        if not hasattr(other, "timings") or not hasattr(other, "unit"):
            return NotImplemented
        return (self.timings, self.unit) == (other.timings, other.unit)

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({self.timings}, {self.unit:.2G})"

    def rows(self, sort=False):
        """Pairs of a key and rows in ns, as the extensions want them; sorted: the longest last."""
        scale = self.unit / _NANOSECOND
        functions = []
        for key, rows in self.timings.items():
            more = self.more.get(key, {})
            lines = [
                (line, hits, round(time * scale), *(round(value * scale) for value in more.get(line, ())))
                for line, hits, time in rows
            ]
            functions.append(((key[0], key[1], key[2]), lines))
        if sort:
            functions.sort(key=lambda function: sum(row[2] for row in function[1]))
        return functions

    def print(
        self,
        stream=None,
        output_unit=None,
        stripzeros=False,
        details=True,
        summarize=False,
        sort=False,
        rich=False,
        *,
        config=None,
    ):
        """Print the table to ``stream``, or to what sys.stdout is now.

        ``output_unit`` is in seconds. ``stripzeros`` leaves out functions that never ran, ``details`` may
        leave out the lines, ``summarize`` adds a list of the functions, ``sort`` puts the longest last.
        ``rich`` means colours, on a terminal. ``config`` is accepted for line_profiler's sake.
        """
        import sys

        stream = sys.stdout if stream is None else stream
        color = rich and getattr(stream, "isatty", lambda: False)()
        unit = self.unit if output_unit is None else output_unit
        if not unit > 0:
            raise ValueError("output_unit: a number of seconds above 0 is needed")
        functions = self.rows(sort)
        text = _binding.line_text(
            functions, sources_of(functions), unit, stripzeros, details, summarize, color
        )
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = getattr(stream, "encoding", None) or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def to_file(self, filename):
        """Write a .lprof file, which line_profiler reads, too."""
        with open(filename, "wb") as stream:
            stream.write(_binding.lprof(self.rows()))


def _add_more(lines, line, values):
    """Self times add up; of the shortest and the longest hit one stays."""
    before = lines.get(line)
    if before:
        values = [before[0] + values[0], min(before[1], values[1]), max(before[2], values[2])]
    lines[line] = values


def sources_of(functions):
    """The texts of the functions' files, as far as they can be had: also of cells of a notebook."""
    import linecache

    texts = {}
    for (file, _, _), _ in functions:
        if file not in texts:
            linecache.checkcache(file)
            texts[file] = "".join(linecache.getlines(file))
    return {file: text for file, text in texts.items() if text}


load_stats = LineStats.from_files


def show_text(stats, unit, output_unit=None, stream=None, **keywords):
    """Print ``LineStats.timings``, as line_profiler's function of this name does."""
    LineStats(stats, unit).print(stream, output_unit, **keywords)
