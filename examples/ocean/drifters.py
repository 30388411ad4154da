"""Floats that drift with the water. How a drifter finds its cell is the program's avoidable hot spot."""

import random


class Drifter:
    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.track = [(x, y)]

    def distance(self, point):
        return (self.x - point[0]) ** 2 + (self.y - point[1]) ** 2

    def locate(self, basin):
        """The cell with the nearest centre. It looks at all of them; a division would do."""
        return min(range(len(basin.depth)), key=lambda cell: self.distance(basin.centre(cell)))

    def drift(self, basin, seconds):
        east, north = basin.velocity(self.locate(basin))
        self.x = min(max(self.x + east * seconds, 0.0), float(basin.columns))
        self.y = min(max(self.y + north * seconds, 0.0), float(basin.rows))
        self.track.append((self.x, self.y))

    def travelled(self):
        return sum(abs(x - u) + abs(y - v) for (x, y), (u, v) in zip(self.track, self.track[1:]))


def release(count, basin, seed=7):
    chance = random.Random(seed)
    return [Drifter(chance.uniform(0, basin.columns), chance.uniform(0, basin.rows)) for _ in range(count)]
