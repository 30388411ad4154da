"""A program with a few kernels in functions that marks.json marks; and ranges of torch's and cupy's own."""

import sys
import threading

import torch


class Grid:
    def __init__(self, cells):
        self.field = torch.rand(cells, device="cuda")

    def step(self, n):
        self.advect()
        self.exchange()

    def advect(self):
        self.field = self.field * 0.5
        self.field = torch.sqrt(self.field)

    def exchange(self):
        self.field = torch.sin(self.field)


def emit():
    """As other libraries do."""
    import cupy

    torch.cuda.nvtx.range_push("of torch")
    cupy.cuda.nvtx.RangePush("of cupy")
    cupy.cuda.nvtx.RangePop()
    torch.cuda.nvtx.range_pop()


def main():
    grid = Grid(1 << 20)
    for n in range(3):
        grid.step(n)
    thread = threading.Thread(target=grid.step, args=(7,))
    thread.start()
    thread.join()
    torch.cuda.synchronize()


main()
if "emit" in sys.argv:
    emit()
