"""Functions in every shape that a report of lines has to find the end of; all of them are timed."""

import functools


@profile  # noqa: F821  (put into builtins by whoever times the lines)
def inner(count):
    total = 0
    for i in range(count):  # a loop
        total += i * i
    # the end
    return total


def passed_on(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


class Grid:
    """A class."""

    @passed_on
    @profile  # noqa: F821
    def step(self, count):
        """Text
    that is less indented.
        """
        total = 0
        for k in range(count):
            total += inner(
                10 * k
            )
        text = "a string: # '''" + 'and "another" \\'
        return total, text
        # a comment after the end

    # one that is no more inside
    @profile  # noqa: F821
    def never(self):
        return 1

    @profile  # noqa: F821
    def größe(self): return [  # noqa: E704
        n for n in range(
            30
        )]


@profile  # noqa: F821
def counting(limit):
    at = 0
    while at < limit:
        yield at
        at += 1


def main():
    square = profile(lambda n: n *  # noqa: F821
                     n)
    grid = Grid()
    return grid.step(40), grid.größe(), sum(counting(50)), square(3)


if __name__ == "__main__":
    main()
