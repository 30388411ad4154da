"""What a solver does: each rank computes, then all of them wait for each other."""

from mpi4py import MPI


def compute(steps):
    return sum(step * step for step in range(steps))


def exchange(value):
    return MPI.COMM_WORLD.allreduce(value)


total = 0
for turn in range(200):
    total += exchange(compute(20000 * (1 + MPI.COMM_WORLD.rank)))
print(f"rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size} {total}")
