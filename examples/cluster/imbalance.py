"""An imbalance: bundles of spectra are dealt to the ranks, but there are fewer bundles than ranks.

    mpirun -n 32 sonde trace examples/cluster/imbalance.py
    sonde report imbalance.*/

With 20 bundles and 32 ranks, 12 ranks have nothing to do and wait for the others at the end. The report says
so in its first line; `sonde report --ranks-of _xypix` shows the function rank by rank.
"""

import argparse

from mpi4py import MPI


def _xypix(bundle, wavelength):
    """Where a wavelength of a bundle lies on the detector: some arithmetic in its place."""
    x = 0.0
    for term in range(1, 400):
        x += (bundle + term) / (wavelength * term)
    return x


def extract(bundle, wavelengths):
    return [_xypix(bundle, 3600.0 + step) for step in range(wavelengths)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundles", type=int, default=20)
    parser.add_argument("--wavelengths", type=int, default=200)
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    mine = range(comm.rank, arguments.bundles, comm.size)
    spectra = {bundle: sum(extract(bundle, arguments.wavelengths)) for bundle in mine}
    everything = comm.gather(spectra, root=0)
    if comm.rank == 0:
        workers = sum(bool(part) for part in everything)
        print(f"{workers} of {comm.size} ranks had work")


if __name__ == "__main__":
    main()
