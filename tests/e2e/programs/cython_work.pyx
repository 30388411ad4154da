# cython: language_level=3
"""Cython between Python and Python: a cdef function, a generator and a class that call back; and C of its own."""


cdef double through_c(object function, long number, int depth) except? -1.0:
    if depth == 0:
        return function(number)  # calls
    cdef double own = through_c(function, number, depth - 1)  # recurses
    return own + depth


def twice(function, long number):
    return through_c(function, number, 4) + through_c(function, number + 1, 2)  # twice


def generated(function, long count):
    cdef long number
    for number in range(count):
        yield function(number)  # yields


cdef class Summed:
    cdef object function

    def __init__(self, function):
        self.function = function

    def __call__(self, number):
        return twice(self.function, number)  # called


cdef inline double weigh(double sum, long number) noexcept:
    return sum * 0.5 + 1.0 / (number + sum)  # weighs


def weighed(long count):
    cdef double sum = 1.0
    cdef long number
    for number in range(count):
        sum = weigh(sum, number)  # inlines
    return sum
