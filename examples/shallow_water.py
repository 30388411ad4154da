"""A wave in a closed basin: water, drifters, archive threads and a small ensemble in child processes.

    sonde trace examples/shallow_water.py [CELLS] [STEPS]

It takes a few seconds. Most of them are spent where nobody would look first; the profile shows where.
"""

import multiprocessing
import sys

from ocean.archive import Archive
from ocean.basin import Basin
from ocean.drifters import release
from ocean.flow import Solver

SHADES = " .:-=+*#%@"


def make_basin(cells, height):
    basin = Basin(2 * cells, cells, depth=1.0)
    basin.raise_hump(0.6 * cells, 0.4 * cells, height, width=0.15 * cells)
    return basin


def simulate(cells, steps, drifter_count):
    basin = make_basin(cells, height=0.5)
    solver = Solver(basin)
    drifters = release(drifter_count, basin)
    archive = Archive()
    for step in range(steps):
        before_s = solver.time_s
        solver.step()
        for drifter in drifters:
            drifter.drift(basin, solver.time_s - before_s)
        if step % 5 == 0:
            archive.add(basin)
    return basin, solver, drifters, archive.close()


def ensemble_member(height):
    """The highest water at the eastern wall after some steps, for one height of the first hump."""
    basin = make_basin(10, height)
    solver = Solver(basin)
    for _ in range(30):
        solver.step()
    return max(basin.depth[basin.cell(basin.columns - 1, row)] for row in range(basin.rows))


def picture(basin):
    low, high = min(basin.depth), max(basin.depth)
    scale = (len(SHADES) - 1) / ((high - low) or 1.0)
    for row in range(0, basin.rows, 2):
        line = (basin.depth[basin.cell(column, row)] for column in range(basin.columns))
        yield "".join(SHADES[int((depth - low) * scale)] for depth in line)


def main(cells=30, steps=100):
    volume = make_basin(cells, height=0.5).volume()
    basin, solver, drifters, archive_bytes = simulate(cells, steps, drifter_count=12)
    with multiprocessing.Pool(2) as pool:
        heights = pool.map(ensemble_member, [0.2, 0.4, 0.6, 0.8])
    print("\n".join(picture(basin)))
    print(f"after {solver.time_s:.2f} s of waves: water lost {abs(basin.volume() - volume):.1e} m3,", end=" ")
    print(f"drifters went {sum(drifter.travelled() for drifter in drifters):.2f} m,", end=" ")
    print(f"archive {archive_bytes} bytes")
    print("wave at the far wall:", " ".join(f"{height:.3f}" for height in heights))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
