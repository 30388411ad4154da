/* A program of its own that speaks MPI, and has a Python inside that does, too. */
#include <Python.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    double given = 1, sum;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&given, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    Py_Initialize();
    PyRun_SimpleString("from mpi4py import MPI\n"
                       "def inner():\n"
                       "    MPI.COMM_WORLD.Barrier()\n"
                       "inner()\n");
    return MPI_Finalize();
}
