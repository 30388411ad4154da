"""Snapshots of the water, packed at the end by two threads."""

import array
import threading
import zlib


class Archive:
    def __init__(self):
        self.snapshots = []

    def add(self, basin):
        self.snapshots.append(array.array("d", basin.depth))

    def pack(self, first, step, packed):
        for index in range(first, len(self.snapshots), step):
            packed[index] = zlib.compress(self.snapshots[index].tobytes(), 9)

    def close(self, thread_count=2):
        """How many bytes it all takes, packed."""
        packed = [b""] * len(self.snapshots)
        threads = [
            threading.Thread(target=self.pack, args=(first, thread_count, packed), name=f"archive {first}")
            for first in range(thread_count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(map(len, packed))
