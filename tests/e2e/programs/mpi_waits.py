"""Ranks that are late at known places; each writes when it came there, by the clock that sonde has, too."""

import json
import sys
import time
from array import array

from mpi4py import MPI

LATE_S = 0.4
world = MPI.COMM_WORLD
came = {}


def arrive(place, late):
    if world.rank == late:
        time.sleep(LATE_S)
    came[place] = time.monotonic_ns()


def late_sender(data):
    if world.rank > 1:
        return
    arrive("late sender", 0)
    if world.rank == 0:
        world.Send(data, dest=1, tag=5)
    else:
        world.Recv(data, source=0, tag=5)


def late_receiver(data):
    if world.rank > 1:
        return
    arrive("late receiver", 1)
    if world.rank == 0:
        world.Send(data, dest=1, tag=6)
    else:
        world.Recv(data, source=0, tag=6)


def late_message_of_two(data, other):
    """One Waitall for two receives: it waits for the later one, once."""
    if world.rank == 0:
        requests = [world.Irecv(data, source=1, tag=7), world.Irecv(other, source=2, tag=7)]
        arrive("waitall", -1)
        MPI.Request.Waitall(requests)
    elif world.rank < 3:
        arrive("waitall", 2)
        world.Send(data, dest=0, tag=7)


def barrier():
    arrive("wait for all", 2)
    world.Barrier()


def bcast(data):
    arrive("late root", 1)
    world.Bcast(data, root=1)


def main():
    small, large = array("d", [0] * 10), array("d", [0]) * 1_000_000
    world.Barrier()
    late_sender(small)
    world.Barrier()
    late_receiver(large)
    world.Barrier()
    late_message_of_two(small, array("d", small))
    world.Barrier()
    barrier()
    bcast(small)
    with open(f"{sys.argv[1]}/came.{world.rank}", "w") as file:
        json.dump(came, file)


main()
