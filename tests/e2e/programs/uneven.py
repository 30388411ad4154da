"""Ranks that share their work badly: the first five of eight do _xypix, rank 17 (or the last) steps most.

They sleep instead of working, so that it takes as long as it should on a machine with fewer cores than ranks.
"""

import sys
import time

from mpi4py import MPI

SLOW_RANK = 17
PIXELS_S = 6  # long against what starting so many ranks takes
STEP_S = 0.2
MANY_STEPS = 15


def _xypix(seconds):
    time.sleep(seconds)


def extract(rank, size):
    if rank < size * 5 // 8:
        _xypix(PIXELS_S)


def step():
    time.sleep(STEP_S)


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    extract(rank, size)
    for _ in range(MANY_STEPS if rank == min(SLOW_RANK, size - 1) else 1):
        step()
    world.Barrier()


if __name__ == "__main__":
    main()
    sys.exit(0)
