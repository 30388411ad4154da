"""Memory of a part of a program: ``with sonde.memory() as m:``."""

import collections
import os
import threading

Frame = collections.namedtuple("Frame", "function filename lineno")


class Stack(collections.namedtuple("Stack", "bytes count frames")):
    """Bytes and blocks that one call stack allocated; ``frames`` begins with the innermost one."""

    __slots__ = ()

    def __str__(self):
        where = " < ".join("{}:{}:{}".format(*frame) for frame in self.frames) or "(no Python frame)"
        return f"{self.bytes} bytes in {self.count} blocks: {where}"


class memory:
    """Count every allocation of this process while a ``with`` block lasts, exactly::

        with sonde.memory() as m:
            work()
        print(m.peak_bytes, m.total_bytes, m.allocations, m.leaked_bytes)
        for stack in m.stacks("peak")[:10]:
            print(stack)

    What was allocated before does not count, nor does it count when that is freed. All threads count,
    Python's and others. ``python_allocators``: Python's own small objects one by one, instead of the
    pieces of memory that Python puts them into. ``file``: a .sonde file to write at the end, for ``sonde
    report`` and ``sonde view``. ``with`` blocks may be nested, and may overlap in several threads: each
    has what was allocated while it lasted, less what was allocated by the same stacks before and freed in
    it. Within a program that ``sonde mem`` runs the figures are those of its mode, which may be
    estimates.
    """

    def __init__(self, file=None, *, python_allocators=False):
        self.file = file
        self.python_allocators = python_allocators
        self._region = self._data = self._tables = self._tid = None
        self._set_totals((0, 0, 0, 0, 0))

    def _set_totals(self, totals):
        self.peak_bytes, self.total_bytes, self.allocations = totals[:3]
        self.leaked_bytes, self.leaked_allocations = totals[3:]

    def start(self):
        """Begin, without a ``with`` block."""
        from sonde._inside import MemoryRegion

        if self._region:
            raise RuntimeError("this sonde.memory() counts already")
        self._data = self._tables = None
        self._tid = threading.get_native_id()
        self._region = MemoryRegion(python_allocators=self.python_allocators)
        return self

    def stop(self):
        """End, and write the file if there is to be one."""
        region, self._region = self._region, None
        if not region:
            raise RuntimeError("this sonde.memory() has not begun")
        result = region.stop()
        if result is None:  # the child of a fork: its parent counts
            return
        self._data, totals = result
        self._set_totals(totals)
        if self.file is not None:
            with open(os.fspath(self.file), "wb") as stream:
                stream.write(self._data)

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc_info):
        self.stop()

    def __repr__(self):
        if self._region:
            return "<sonde.memory counting>"
        peak, total, leaked = self.peak_bytes, self.total_bytes, self.leaked_bytes
        return f"<sonde.memory: bytes peak {peak}, total {total}, leaked {leaked}>"

    def snapshot(self):
        """What was counted, as the bytes of a .sonde file."""
        if self._data is None:
            raise RuntimeError("sonde.memory(): nothing was counted yet, or counting has not ended")
        return self._data

    def stacks(self, which="peak", current_thread_only=False):
        """The call stacks that allocated, those with most bytes first.

        ``which``: "peak" what was alive when most was, "total" all that was allocated, "leaked" what was not
        freed, "temporary" what was freed before its thread allocated again.
        """
        columns = {"peak": "peak", "total": "total", "leaked": "live", "temporary": "temporary"}
        if which not in columns:
            raise ValueError(f"stacks: 'peak', 'total', 'leaked' or 'temporary', not {which!r}")
        found = collections.defaultdict(lambda: [0, 0])
        for thread, frames, size, count in self._rows(columns[which]):
            if size and (not current_thread_only or thread == self._tid):
                found[frames][0] += size
                found[frames][1] += count
        stacks = [Stack(size, count, frames) for frames, (size, count) in found.items()]
        return sorted(stacks, key=lambda stack: (-stack.bytes, -stack.count))

    def lines(self, which="peak"):
        """The same by line: Stacks of one frame, the innermost."""
        found = collections.defaultdict(lambda: [0, 0])
        for stack in self.stacks(which):
            found[stack.frames[:1]][0] += stack.bytes
            found[stack.frames[:1]][1] += stack.count
        stacks = [Stack(size, count, frames) for frames, (size, count) in found.items()]
        return sorted(stacks, key=lambda stack: (-stack.bytes, -stack.count))

    def _rows(self, column):
        """(thread, frames, bytes, blocks) of each stack, thread and allocator."""
        if self._tables is None:
            from sonde import read

            self._tables = read(self.snapshot())
        tables = self._tables
        heap, threads = tables["heap"], tables["threads"]
        known = {0: ()}  # frames of a node
        last = {}  # row of each stack, thread and allocator: the latest counts
        for row, key in enumerate(zip(heap["thread"], heap["node"], heap["allocator"])):
            last[key] = row
        for (thread, node, _), row in last.items():
            frames = frames_of(tables, node, known)
            yield threads["tid"][thread], frames, heap[column + "_bytes"][row], heap[column + "_count"][row]


def frames_of(tables, node, known):
    """The frames from a node up to its root."""
    way = []
    while node not in known:
        way.append(node)
        node = tables["nodes"]["parent"][node]
    nodes, codes, strings = tables["nodes"], tables["codes"], tables["strings"]
    frames = known[node]
    for node in reversed(way):
        code = nodes["code"][node]
        if code:
            name = strings[codes["qualname"][code]] or strings[codes["name"][code]]
            frames = (Frame(name, strings[codes["file"][code]], nodes["line"][node]), *frames)
        known[node] = frames
    return frames
