"""Snapshots, packed by a thread of their own while the model goes on."""

import array
import queue
import threading
import zlib


class Archive:
    def __init__(self):
        self.packed = []
        self.waiting = queue.Queue()
        self.thread = threading.Thread(target=self.work, name="archive")
        self.thread.start()

    def add(self, basin):
        self.waiting.put(array.array("d", basin.depth))

    def work(self):
        for snapshot in iter(self.waiting.get, None):
            self.packed.append(self.pack(snapshot))

    def pack(self, snapshot):
        return zlib.compress(snapshot.tobytes(), 9)

    def close(self):
        self.waiting.put(None)
        self.thread.join()
        return sum(map(len, self.packed))
