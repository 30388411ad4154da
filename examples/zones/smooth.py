"""Zones of Python and of C on one time line.

    gcc -O2 -fPIC -shared -I $(python -c 'import sonde; print(sonde.get_include())') smoother.c -o smoother.so
    sonde record smooth.py
    sonde view
"""

import ctypes
import os

from sonde import metadata, timed_region

HERE = os.path.dirname(os.path.abspath(__file__))
CELLS = 20000

smoother = ctypes.CDLL(os.path.join(HERE, "smoother.so"))
smoother.smooth.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.c_int, ctypes.c_double]


def main():
    metadata("cells", CELLS)
    cells = (ctypes.c_double * CELLS)()
    for step in range(5):
        with timed_region("step"):
            with timed_region("disturb"):
                for i in range(0, CELLS, 100):
                    cells[i] += 1.0 + step
            print("step", step, "took", smoother.smooth(cells, CELLS, 1e-3), "sweeps")


if __name__ == "__main__":
    main()
