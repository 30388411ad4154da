"""Halo exchange: a rod that is shared out among the ranks, each of which needs its neighbours' edges.

    mpirun -n 4 sonde trace --mpi examples/cluster/halo.py
    sonde report halo.*/ --mpi all

Every rank sends as much as it receives, and nobody waits for long: what is left is the cost of the messages.
"""

import argparse
from array import array

from mpi4py import MPI


def exchange(comm, cells):
    """Fills the two outermost cells with the neighbours' edges; the ends of the rod have one neighbour."""
    left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    right = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    edge = array("d", [0.0])
    for source, target, sent, received in ((left, right, -2, 0), (right, left, 1, -1)):
        comm.Sendrecv(array("d", [cells[sent]]), dest=target, recvbuf=edge, source=source)
        if source != MPI.PROC_NULL:
            cells[received] = edge[0]


def diffuse(cells, rate=0.25):
    """One explicit step of the heat equation."""
    inner = [
        here + rate * (before - 2 * here + after) for before, here, after in zip(cells, cells[1:], cells[2:])
    ]
    cells[1:-1] = array("d", inner)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--cells", type=int, default=1000, help="of each rank")
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    cells = array("d", [0.0]) * (arguments.cells + 2)
    if comm.rank == 0:
        cells[1] = 1000.0
    for _ in range(arguments.steps):
        exchange(comm, cells)
        diffuse(cells)
    heat = comm.allreduce(sum(cells[1:-1]))
    if comm.rank == 0:
        print(f"{comm.size} ranks, heat {heat:.3f}")


if __name__ == "__main__":
    main()
