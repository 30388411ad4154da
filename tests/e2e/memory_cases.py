"""Cases of sonde.memory, run by the interpreter under test: memory_cases.py PACKAGES CASE..."""

import ctypes
import gc
import inspect
import mmap
import os
import sys
import threading

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])

SLACK = 256 << 10  # what the interpreter itself may take on the way
MIB = 1 << 20


class Heap:
    """malloc and free of the program, looked up while they are counted."""

    def __init__(self):
        library = ctypes.CDLL(None)
        self.malloc, self.free = library.malloc, library.free
        self.malloc.restype, self.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.free.restype, self.free.argtypes = None, [ctypes.c_void_p]


def line_after(marker):
    """The number of the line after the comment "# MARKER" in the calling function."""
    lines, first = inspect.getsourcelines(sys._getframe(1).f_code)
    place = next(number for number, text in enumerate(lines) if text.strip() == "# " + marker)
    return first + place + 1


def at_line(stacks, number):
    """(bytes, blocks) that a line of this file has of its own."""
    found = [stack for stack in stacks if stack.frames and stack.frames[0][1:] == (__file__, number)]
    return sum(stack.bytes for stack in found), sum(stack.count for stack in found)


def check_known_blocks():
    import sonde

    with sonde.memory() as m:
        heap = Heap()
        # kept
        kept = [heap.malloc(100_001) for _ in range(7)]
        # freed
        heap.free(heap.malloc(1_000_003))
    kept_line, freed_line = line_after("kept"), line_after("freed")
    assert at_line(m.lines("leaked"), kept_line) == (700_007, 7)
    assert at_line(m.lines("total"), kept_line) == (700_007, 7)
    assert at_line(m.lines("total"), freed_line) == (1_000_003, 1)
    assert at_line(m.lines("leaked"), freed_line) == (0, 0)
    assert at_line(m.lines("peak"), freed_line) == (1_000_003, 1)
    assert 1_700_010 <= m.peak_bytes <= 1_700_010 + SLACK, m
    assert m.total_bytes >= 1_700_010 and m.allocations >= 8
    assert 700_007 <= m.leaked_bytes <= 700_007 + SLACK and m.leaked_allocations >= 7
    innermost = m.stacks("leaked")[0].frames
    assert [frame.function.rpartition(".")[2] for frame in innermost][-2:] == [
        "check_known_blocks",
        "<module>",
    ]
    for block in kept:  # known to nobody any more
        heap.free(block)


def check_calls_go_where_they_went_before():
    import sonde

    def address():
        return ctypes.cast(ctypes.CDLL(None).malloc, ctypes.c_void_p).value

    before = address()
    with sonde.memory():
        address()  # ours, but in an executable at a fixed place, which has an entry of its own for it
    assert address() == before


def check_peak():
    import sonde

    with sonde.memory() as m:
        bytearray(10 * MIB)
        # high
        bytearray(30 * MIB)
        # stays
        stays = bytearray(5 * MIB)
    size, count = at_line(m.lines("peak"), line_after("high"))
    assert 30 * MIB <= size <= 30 * MIB + 64 and count == 1
    assert 30 * MIB <= m.peak_bytes <= 30 * MIB + SLACK
    assert 5 * MIB <= m.leaked_bytes <= 5 * MIB + SLACK
    assert 45 * MIB <= m.total_bytes <= 45 * MIB + SLACK
    assert at_line(m.lines("leaked"), line_after("stays"))[0] >= 5 * MIB
    assert len(stays) == 5 * MIB


def check_older_blocks():
    import sonde

    older = [bytearray(MIB) for _ in range(5)]
    with sonde.memory() as m:
        older.clear()
        del older
    assert m.peak_bytes < SLACK and m.leaked_bytes < SLACK and m.total_bytes < SLACK, m


def check_mapped_memory():
    import sonde

    with sonde.memory() as m:
        # mapped
        mapped = mmap.mmap(-1, 3 * MIB)
        mmap.mmap(-1, MIB).close()
    assert at_line(m.lines("leaked"), line_after("mapped"))[0] == 3 * MIB
    assert 4 * MIB <= m.peak_bytes <= 4 * MIB + SLACK
    mapped.close()


def check_threads():
    import sonde

    blocks = []

    def allocate(heap):
        for _ in range(50):
            # threads
            block = heap.malloc(10_007)
            blocks.append(block)

    with sonde.memory() as m:
        heap = Heap()
        threads = [threading.Thread(target=allocate, args=(heap,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for block in blocks[:60]:  # by another thread than the one that allocated it
            heap.free(block)
    lines, first = inspect.getsourcelines(allocate)
    number = first + next(place for place, text in enumerate(lines) if "# threads" in text) + 1
    assert at_line(m.lines("total"), number) == (200 * 10_007, 200)
    assert at_line(m.lines("leaked"), number) == (140 * 10_007, 140)
    assert at_line(m.stacks("total", current_thread_only=True), number) == (0, 0)


def check_nested():
    import sonde

    with sonde.memory() as outer:
        before = bytearray(10 * MIB)
        with sonde.memory() as inner:
            # inner
            kept = bytearray(2 * MIB)
            bytearray(3 * MIB)
        bytearray(MIB)
        with sonde.memory() as second:
            del before
            bytearray(4 * MIB)
    assert 5 * MIB <= inner.peak_bytes <= 5 * MIB + SLACK, inner
    assert 2 * MIB <= inner.leaked_bytes <= 2 * MIB + SLACK and inner.total_bytes <= 5 * MIB + SLACK
    assert at_line(inner.lines("peak"), line_after("inner"))[0] >= 2 * MIB
    assert second.peak_bytes < SLACK, second  # what it allocates is less than what it frees
    assert 4 * MIB <= second.total_bytes <= 4 * MIB + SLACK and second.leaked_bytes < SLACK
    assert 15 * MIB <= outer.peak_bytes <= 15 * MIB + SLACK, outer
    assert at_line(outer.lines("peak"), line_after("inner"))[0] >= 2 * MIB
    assert 20 * MIB <= outer.total_bytes <= 20 * MIB + SLACK
    assert 2 * MIB <= outer.leaked_bytes <= 2 * MIB + SLACK
    assert len(kept) == 2 * MIB


def check_overlapping():
    import sonde

    first, second = sonde.memory(), sonde.memory()
    first.start()
    bytearray(7 * MIB)
    second.start()
    bytearray(3 * MIB)
    first.stop()
    bytearray(5 * MIB)
    second.stop()
    assert 7 * MIB <= first.peak_bytes <= 7 * MIB + SLACK and first.total_bytes <= 10 * MIB + SLACK
    assert (
        5 * MIB <= second.peak_bytes <= 5 * MIB + SLACK and 8 * MIB <= second.total_bytes <= 8 * MIB + SLACK
    )


def check_exceptions_and_repetition():
    import sonde

    for _ in range(20):
        try:
            with sonde.memory() as m:
                bytearray(MIB)
                raise KeyError("of the program")
        except KeyError:
            pass
        assert MIB <= m.peak_bytes <= MIB + SLACK, m
    for misuse in (m.stop, lambda: m.stacks("no such")):
        try:
            misuse()
        except (RuntimeError, ValueError):
            continue
        raise AssertionError("misuse goes unnoticed")
    with sonde.memory() as empty:
        pass
    assert empty.total_bytes < SLACK and "peak" in repr(empty)


def check_python_allocators():
    import sonde

    with sonde.memory(python_allocators=True) as m:
        # objects
        kept = [(number,) for number in range(10_000)]
    size, count = at_line(m.lines("leaked"), line_after("objects"))
    assert 9_900 <= count <= 25_000 and 480_000 <= size <= 1_200_000, (size, count)
    kept.clear()
    gc.collect()
    again = [(number,) for number in range(10_000)]
    with sonde.memory() as m:
        again.clear()
        with sonde.memory(python_allocators=True) as inner:
            again.extend((number,) for number in range(100))
    assert inner.total_bytes < SLACK


def check_libraries_loaded_meanwhile():
    import sonde

    assert "_sqlite3" not in sys.modules
    with sonde.memory() as m:
        try:
            import sqlite3
        except ImportError:
            return
        connection = sqlite3.connect(":memory:")
        # sqlite
        connection.execute("create table t as select zeroblob(3000000) as b")
    assert at_line(m.lines("total"), line_after("sqlite"))[0] >= 3_000_000
    connection.close()


def check_fork():
    import sonde

    with sonde.memory() as m:
        kept = bytearray(MIB)
        child = os.fork()
        more = bytearray(2 * MIB)
    if child == 0:
        good = m.total_bytes == 0
        with sonde.memory() as own:
            bytearray(3 * MIB)
        good = good and 3 * MIB <= own.peak_bytes <= 3 * MIB + SLACK
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert 3 * MIB <= m.peak_bytes <= 3 * MIB + SLACK
    assert len(kept) + len(more) == 3 * MIB


def check_file():
    import sonde

    with sonde.memory(file="region.sonde") as m:
        kept = bytearray(MIB)
    tables = sonde.read("region.sonde")
    assert tables["meta"]["mode"] == "mem" and tables["meta"]["heap"] == "exact"
    assert max(tables["series"]["value"]) == m.peak_bytes
    assert sum(tables["heap"]["live_bytes"]) == m.leaked_bytes
    with open("region.sonde", "rb") as stream:
        assert m.snapshot() == stream.read() and len(kept) == MIB


if __name__ == "__main__":
    for case in sys.argv[2:]:
        globals()[case]()
