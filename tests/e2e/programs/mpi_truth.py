"""What is sent to whom is known beforehand: see test_mpi_calls.py."""

import threading
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
room = bytearray(4096)


def post():
    for i in range(5):
        MPI.Request.Waitall([comm.Isend(bytearray(100 + i), right, 10 + i), comm.Irecv(room, left, 10 + i)])


def poll():
    sent = comm.Isend(bytearray(7), right, 17)
    come = comm.Irecv(room, MPI.ANY_SOURCE, 17)
    while not come.Test():
        pass
    sent.Wait()


def exchange():
    for _ in range(3):
        comm.Sendrecv(bytearray(64), right, 20, room, left, 20)


def from_anybody():
    if rank:
        comm.Send(bytearray(10 * rank), 0, 30 + rank)
        return
    for _ in range(size - 1):
        comm.Recv(room, MPI.ANY_SOURCE, MPI.ANY_TAG)


def to_nobody():
    comm.Send(bytearray(5), MPI.PROC_NULL, 40)
    comm.Recv(room, MPI.PROC_NULL, 40)


def in_halves():
    half = comm.Split(rank % 2, -rank)  # the highest rank comes first
    half.Set_name("half")
    if half.rank == 0 and half.size > 1:
        half.Send(bytearray(50), half.size - 1, 50)
    elif half.rank == half.size - 1 > 0:
        half.Recv(room, 0, 50)
    half.Allreduce(array("d", [1, 2]), array("d", [0, 0]))
    half.Bcast(bytearray(33), half.size - 1)
    half.Free()


def with_twins():
    one, other = comm.Dup(), comm.Dup()
    if rank == 0:
        other.Send(bytearray(62), 1, 61)
        one.Send(bytearray(61), 1, 61)
    elif rank == 1:
        one.Recv(room, 0, 61)
        other.Recv(room, 0, 61)
    one.Free()
    other.Free()


def across():
    half = comm.Split(rank % 2, rank)
    other = half.Create_intercomm(0, comm, 1 - rank % 2, 7)
    if rank == 0:
        other.Send(bytearray(71), other.remote_size - 1, 71)
    elif rank == size - 1:
        other.Recv(room, 0, 71)
    other.Free()
    half.Free()


def together():
    comm.Bcast(bytearray(400), 1 % size)
    comm.Reduce(array("d", [1] * 5), array("d", [0] * 5), root=size - 1)
    comm.Gather(bytearray(8), bytearray(8 * size) if rank == 1 else None, 1)
    comm.Scatter(bytearray(6 * size) if rank == 0 else None, bytearray(6), 0)
    comm.Allgather(bytearray(16), bytearray(16 * size))
    comm.Alltoall(bytearray(4 * size), bytearray(4 * size))
    comm.Allreduce(MPI.IN_PLACE, array("i", [1, 2, 3]))
    comm.Scan(array("i", [1]), array("i", [0]))
    comm.Barrier()


def together_later():
    comm.Ibarrier().Wait()
    given, sums = array("d", [1]), array("d", [0])  # mpi4py does not keep them alive
    comm.Iallreduce(given, sums).Wait()


def again_and_again():
    requests = [comm.Send_init(bytearray(80), right, 80), comm.Recv_init(room, left, 80)]
    for _ in range(3):
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
    for request in requests:
        request.Free()


def objects():
    if rank == 0:
        comm.send(list(range(1000)), 1, 90)
    elif rank == 1:
        comm.recv(source=0, tag=90)


def of_threads():
    def talk(own, turns):
        for _ in range(turns):
            own.Sendrecv(bytearray(turns), 0, turns, bytearray(turns), 0, turns)

    alone = [MPI.COMM_SELF.Dup(), MPI.COMM_SELF.Dup()]
    threads = [threading.Thread(target=talk, args=(alone[i], 40 + i)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def paused():
    MPI.Pcontrol(0)
    comm.Barrier()
    comm.Sendrecv(bytearray(99), right, 99, room, left, 99)
    MPI.Pcontrol(1)
    comm.Barrier()


def main():
    for part in (post, poll, exchange, from_anybody, to_nobody, in_halves, with_twins, across):
        part()
    for part in (together, together_later, again_and_again, objects, of_threads, paused):
        part()


main()
