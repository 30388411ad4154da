#!/bin/sh
# Without a batch system: sh examples/cluster/run.sh [RANKS]
set -eu
here=$(dirname "$0")
ranks=${1:-4}

# Each makes a folder NAME.<date>-<process of mpirun>, and says its name.
mpirun -n "$ranks" sonde trace "$here/halo.py" --steps 100
mpirun -n "$ranks" sonde trace "$here/imbalance.py" --bundles 3 --wavelengths 100
mpirun -n "$ranks" sonde record "$here/master_worker.py" --tasks 50
