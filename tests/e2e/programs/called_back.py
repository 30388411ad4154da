"""Python → C++ → Python → C++, exceptions through both, and threads of C++ alone: called_back.py TURNS"""

import sys

import called_back


def innermost(number):
    if number % 7 == 0:
        raise ValueError(number)
    return sum(digit * digit for digit in range(number % 40))


def sorted_by_callback(numbers):
    return sorted(numbers, key=lambda number: -called_back.apply_to(innermost, number))


def middle(number):
    return called_back.apply_to(innermost, number) + sorted_by_callback(range(number % 20))[0]


def outer(number):
    total = called_back.apply_to(middle, number)
    if total % 5 == 0:
        total += len(list(map(called_back.apply_to, [innermost] * 3, range(3))))
    return total


print(sum(outer(number) for number in range(1, int(sys.argv[1]))))
print(round(called_back.spin_in_threads(int(sys.argv[1]) * 100), 6))
