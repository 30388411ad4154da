"""One explicit finite-volume step of the shallow-water equations, with Rusanov fluxes."""

import math

GRAVITY = 9.81


def wave_speed(depth, momentum):
    return abs(momentum) / depth + math.sqrt(GRAVITY * depth)


def rusanov(left, right):
    """Flux of (depth, momentum along, momentum across) through the face between two cells."""
    (dl, ml, tl), (dr, mr, tr) = left, right
    ul, ur = ml / dl, mr / dr
    speed = 0.5 * max(wave_speed(dl, ml), wave_speed(dr, mr))
    return (
        0.5 * (ml + mr) - speed * (dr - dl),
        0.5 * (ml * ul + mr * ur + 0.5 * GRAVITY * (dl * dl + dr * dr)) - speed * (mr - ml),
        0.5 * (tl * ul + tr * ur) - speed * (tr - tl),
    )


class Solver:
    """Advances a basin; every step is as long as the fastest wave allows."""

    def __init__(self, basin, courant=0.4):
        self.basin = basin
        self.courant = courant
        self.time_s = 0.0

    def step_length(self):
        basin = self.basin
        fastest = max(
            max(wave_speed(depth, east), wave_speed(depth, north))
            for depth, east, north in zip(basin.depth, basin.east, basin.north)
        )
        return self.courant / fastest

    def step(self):
        basin, dt = self.basin, self.step_length()
        change = [[0.0] * len(basin.depth) for _ in range(3)]
        for row in range(basin.rows):
            line = [basin.cell(column, row) for column in range(basin.columns)]
            self.sweep(line, basin.east, basin.north, change)
        turned = [change[0], change[2], change[1]]
        for column in range(basin.columns):
            line = [basin.cell(column, row) for row in range(basin.rows)]
            self.sweep(line, basin.north, basin.east, turned)
        self.apply(change, dt)
        self.time_s += dt

    def sweep(self, line, along, across, change):
        """Adds the fluxes through all faces of one line of cells; its ends are walls that reflect."""
        depth = self.basin.depth
        states = [(depth[cell], along[cell], across[cell]) for cell in line]
        first, last = states[0], states[-1]
        states.insert(0, (first[0], -first[1], first[2]))
        states.append((last[0], -last[1], last[2]))
        before = rusanov(states[0], states[1])
        for index, cell in enumerate(line, 1):
            after = rusanov(states[index], states[index + 1])
            for field, entering, leaving in zip(change, before, after):
                field[cell] += entering - leaving
            before = after

    def apply(self, change, dt):
        basin = self.basin
        for field, rates in zip((basin.depth, basin.east, basin.north), change):
            field[:] = [value + dt * rate for value, rate in zip(field, rates)]
