# cython: language_level=3
"""Cython between Python and Python: a cdef function, a generator and a class that call back."""


cdef double through_c(object function, long number, int depth) except? -1.0:
    if depth == 0:
        return function(number)
    cdef double own = through_c(function, number, depth - 1)
    return own + depth


def twice(function, long number):
    return through_c(function, number, 4) + through_c(function, number + 1, 2)


def generated(function, long count):
    cdef long number
    for number in range(count):
        yield function(number)


cdef class Summed:
    cdef object function

    def __init__(self, function):
        self.function = function

    def __call__(self, number):
        return twice(self.function, number)
