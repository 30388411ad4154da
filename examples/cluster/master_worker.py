"""Master and workers: rank 0 hands out tasks of different length, one at a time, to whoever is free.

    mpirun -n 4 sonde record --mpi examples/cluster/master_worker.py
    sonde report master_worker.*/ --mpi all

The workers are evenly busy whatever the tasks are like; the master only waits. With few and long tasks the
last ones make everybody wait: try --tasks 5.
"""

import argparse

from mpi4py import MPI

TASK, STOP = 1, 2


def solve(size):
    return sum(1.0 / (1 + number) for number in range(size))


def hand_out(comm, tasks):
    """The master: an answer asks for the next task."""
    results, status = [], MPI.Status()
    waiting = comm.size - 1
    tasks = iter(tasks)
    while waiting:
        answer = comm.recv(source=MPI.ANY_SOURCE, status=status)
        if answer is not None:
            results.append(answer)
        task = next(tasks, None)
        comm.send(task, dest=status.Get_source(), tag=STOP if task is None else TASK)
        waiting -= task is None
    return results


def work(comm):
    answer, status = None, MPI.Status()
    while True:
        comm.send(answer, dest=0)
        size = comm.recv(source=0, status=status)
        if status.Get_tag() == STOP:
            return
        answer = solve(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--size", type=int, default=20000, help="of the longest")
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.size < 2:
        raise SystemExit("a master needs at least one worker: mpirun -n 2 or more")
    if comm.rank == 0:
        sizes = [arguments.size * (1 + task % 10) // 10 for task in range(arguments.tasks)]
        results = hand_out(comm, sizes)
        print(f"{len(results)} tasks done by {comm.size - 1} workers")
    else:
        work(comm)


if __name__ == "__main__":
    main()
