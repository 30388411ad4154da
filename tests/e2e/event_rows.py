"""What a program told its recording: regions as spans, marks, counters, metadata."""

from collections import Counter, namedtuple

from conftest import read

Span = namedtuple("Span", "name pid thread begin end path grown")
Mark = namedtuple("Mark", "pid thread time name text")


class Events:
    def __init__(self, path):
        self.recording = recording = read(path)
        self.strings = recording["strings"]
        self.meta = recording["meta"]
        self.spans = list(self._spans())
        self.counts = Counter(span.name for span in self.spans)
        self.paths = Counter("/".join(span.path) for span in self.spans)
        self.marks = [
            Mark(*self._whose(row["thread"]), row["time_ns"], *map(self._text, (row["name"], row["text"])))
            for row in self.rows("marks")
        ]
        self.notes = {self.strings[row["text"]]: row["count"] for row in self.rows("notes")}

    def rows(self, table):
        columns = self.recording[table]
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def _text(self, string):
        return self.strings[string]

    def _whose(self, thread):
        row = self.rows("threads")[thread]
        return self.rows("processes")[row["process"]]["pid"], row["tid"]

    def _spans(self):
        """Pairs begins and ends by the words of docs/format.md; a path is what was open when one began."""
        names = [self.strings[row["name"]] for row in self.rows("regions")]
        threads, processes = self.rows("threads"), self.rows("processes")
        open_in = {}
        for row in self.rows("region_events"):
            pending = open_in.setdefault(row["thread"], [])
            if row["region"]:
                path = (*(begin["name"] for begin in pending), names[row["region"]])
                pending.append({**row, "name": names[row["region"]], "path": path})
                continue
            same = [begin for begin in pending if not row["ends"] or begin["name"] == names[row["ends"]]]
            assert len(same) > row["back"], "an end without a beginning"
            begin = same[-1 - row["back"]]
            pending.remove(begin)
            whose = threads[row["thread"]]
            assert begin["time_ns"] <= row["time_ns"]
            yield Span(
                begin["name"],
                processes[whose["process"]]["pid"],
                whose["tid"],
                begin["time_ns"],
                row["time_ns"],
                begin["path"],
                (begin["value"], row["value"]),
            )
        assert not any(open_in.values()), "a beginning without an end"

    def named(self, name):
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.begin)

    def only(self, name):
        (span,) = self.named(name)
        return span

    def values(self, name):
        """What the program's own counter was, as [(time, value)]."""
        import struct

        rows = self.rows("counters")
        found = {i for i, row in enumerate(rows) if self.strings[row["name"]] == name and row["kind"] == 3}
        return [
            (row["time_ns"], struct.unpack("d", struct.pack("q", row["value"]))[0])
            for row in self.rows("series")
            if row["counter"] in found
        ]
