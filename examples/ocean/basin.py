"""The basin: cells, the water in them, the walls around them."""

import math


class Basin:
    """`columns` x `rows` square cells of 1 m; depth and the two momenta of each, row by row."""

    def __init__(self, columns, rows, depth):
        self.columns = columns
        self.rows = rows
        self.depth = [depth] * (columns * rows)
        self.east = [0.0] * (columns * rows)
        self.north = [0.0] * (columns * rows)

    def cell(self, column, row):
        return row * self.columns + column

    def centre(self, cell):
        row, column = divmod(cell, self.columns)
        return column + 0.5, row + 0.5

    def raise_hump(self, x, y, height, width):
        """Adds a round hump of water, from which the waves start."""
        for cell in range(len(self.depth)):
            cx, cy = self.centre(cell)
            self.depth[cell] += height * math.exp(-((cx - x) ** 2 + (cy - y) ** 2) / width**2)

    def volume(self):
        return math.fsum(self.depth)

    def velocity(self, cell):
        return self.east[cell] / self.depth[cell], self.north[cell] / self.depth[cell]
