"""BLAS threads, LAPACK, sorting and a callback into Python, for some seconds: native_numpy.py SECONDS"""

import sys
import time

import numpy

# A recorder knows new libraries a moment later, on a busy machine a long one: not what is tested here.
time.sleep(0.3)
matrix = numpy.random.default_rng(1).random((300, 300))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    product = matrix @ matrix
    numpy.linalg.solve(matrix, product[:, :10])
    numpy.sort(matrix.ravel())
    numpy.linalg.eigvals(matrix[:60, :60])
    numpy.apply_along_axis(lambda row: row.sum(), 0, matrix)
