# ruff: noqa
"""Small programs whose decorated functions two line profilers must count alike. Each case is called once by main()."""

import asyncio
import contextlib
import functools
import sys
import threading

CASES = []


def case(function):
    CASES.append(function)
    return function


@profile
def loops(count):
    total = 0
    for i in range(count):
        if i % 3 == 0:
            continue
        total += i
    else:
        total += 1
    while total > 10:
        total //= 2
    return total


@case
def run_loops():
    return loops(10) + loops(0)


@profile
def one_line_loops(count):
    total = 0
    for i in range(count): total += i
    while total > 1: total //= 3
    return total if total else None


@case
def run_one_line_loops():
    return one_line_loops(12)


@profile
def outer(count):
    def inner(number):
        number += 1
        return number

    total = 0
    for i in range(count):
        total += inner(i)
    return total


@case
def run_nested():
    return outer(5)


def make_inner():
    @profile
    def inner(number):
        number *= 2
        return number

    return inner


@case
def run_decorated_inner():
    return [make_inner()(i) for i in range(4)]


@profile
def fibonacci(number):
    if number < 2:
        return number
    return fibonacci(number - 1) + fibonacci(number - 2)


@case
def run_recursion():
    return fibonacci(9)


@profile
def even(number):
    if number == 0:
        return True
    return odd(number - 1)


@profile
def odd(number):
    return number != 0 and even(number - 1)


@case
def run_mutual_recursion():
    return even(11)


@profile
def numbers(count):
    for i in range(count):
        got = yield i
        if got:
            yield got
    return count


@profile
def delegating(count):
    result = yield from numbers(count)
    yield result


@case
def run_generators():
    generator = numbers(4)
    next(generator)
    generator.send("x")
    closed = numbers(3)
    next(closed)
    closed.close()
    return list(generator) + list(delegating(3))


def thrown_into():
    caught = 0
    while True:
        try:
            yield caught
        except ValueError:
            caught += 1
        finally:
            caught += 10


@case
def run_throw():
    """Not decorated: what is thrown into line_profiler's wrapper of a generator never gets to the generator."""
    profile.add_function(thrown_into)
    generator = thrown_into()
    with profile:
        next(generator)
        generator.throw(ValueError)
        next(generator)
        with contextlib.suppress(KeyError):
            generator.throw(KeyError)


@profile
async def waits(count):
    total = 0
    for _ in range(count):
        await asyncio.sleep(0)
        total += await adds(total)
    return total


@profile
async def adds(number):
    await asyncio.sleep(0)
    return number + 1


@profile
async def produces(count):
    for i in range(count):
        await asyncio.sleep(0)
        yield i


@profile
async def consumes(count):
    total = 0
    async for i in produces(count):
        total += i
    async with contextlib.AsyncExitStack():
        total += 1
    return total


@case
def run_async():
    async def together():
        return await asyncio.gather(waits(3), waits(2), consumes(4))

    asyncio.run(together())


@profile
def raises(number):
    if number == 0:
        raise ValueError(number)
    number -= 1
    return raises(number)


@profile
def catches(count):
    caught = 0
    for i in range(count):
        try:
            raises(i)
        except ValueError as error:
            caught += len(error.args)
        else:
            caught -= 1
    return caught


@case
def run_exceptions():
    return catches(4)


@profile
def finally_and_return(number):
    try:
        if number % 2:
            return number
        number += 1
    finally:
        number -= 1
    return number


@case
def run_finally():
    return [finally_and_return(i) for i in range(5)]


@contextlib.contextmanager
def quietly():
    try:
        yield
    except ZeroDivisionError:
        pass


@profile
def with_blocks(number):
    with quietly():
        number = 1 / number
    with quietly(), \
            quietly():
        number += 1
    return number


@case
def run_with():
    return with_blocks(0), with_blocks(1)


def three(*values, **named):
    return len(values) + len(named)


@profile
def multi_line(number):
    total = three(
        number,
        three(number),
        key=three(
            number,
        ),
    )
    text = (
        "a"
        "b"
        + str(total)
    )
    values = [
        total,
        text,
        number,
    ]
    return (
        values
        and total > 1
        and text
    )


@case
def run_multi_line():
    return multi_line(3), multi_line(4)


@profile
def comprehensions(count):
    squares = [i * i for i in range(count)]
    pairs = {
        i: j
        for i in squares
        for j in range(2)
        if i > j
    }
    small = {i for i in squares if i < 10}
    return sum(i for i in small) + len(pairs)


@case
def run_comprehensions():
    return comprehensions(6)


@profile
def calls_back(count):
    order = sorted(range(count), key=lambda i: -i)
    doubled = list(map(lambda i: i * 2, order))
    return functools.reduce(
        lambda a, b: a + b,
        doubled,
        0,
    )


named_lambda = profile(lambda number: number + 1 if number else None)


@case
def run_lambdas():
    return calls_back(5), named_lambda(1), named_lambda(0)


def tracing_wrapper(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@tracing_wrapper
@profile
def wrapped(number):
    number += 1
    return number


@case
def run_wrapped():
    return wrapped(1), wrapped(2)


class Shape:
    sides = 0

    @profile
    def __init__(self, sides):
        self.sides = sides

    @profile
    def area(self):
        total = self.sides
        return total + self.base()

    @classmethod
    @profile
    def unit(cls):
        made = cls(1)
        return made

    @staticmethod
    @profile
    def base():
        return 1

    @property
    @profile
    def double(self):
        value = self.sides
        return value * 2

    @profile
    def __add__(self, other):
        total = self.sides + other.sides
        return Shape(total)


@case
def run_methods():
    shape = Shape.unit() + Shape(2)
    return shape.area() + shape.double


@profile
def in_thread(count, seen):
    for i in range(count):
        seen.append(i)
    return seen


@case
def run_threads():
    threads = [threading.Thread(target=in_thread, args=(3 + i, [])) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@profile
def conditions(number):
    if number > 1 and \
            number < 5:
        found = "some"
    elif number >= 5:
        found = "many"
    else:
        found = "few"
    assert found
    del number
    return found


@case
def run_conditions():
    return [conditions(i) for i in range(7)]


@profile
def docstring_and_default(number, step=1):
    """A line that does nothing."""
    global counter
    counter = number
    pass
    counter += step
    import os.path as path
    return path and counter


@case
def run_statements():
    return docstring_and_default(1), docstring_and_default(2, step=3)


@profile
def class_inside(number):
    class Inner:
        value = number

        def get(self):
            return self.value

    made = Inner()
    return made.get()


@case
def run_class_inside():
    return class_inside(1)


MATCH = '''
@profile
def matches(value):
    match value:
        case 0:
            return "zero"
        case [first, *rest] if first:
            return len(rest)
        case {"key": found}:
            return found
        case str() | bytes():
            return "text"
        case _:
            return None
'''


@case
def run_match():
    if sys.version_info >= (3, 10):
        space = {"profile": profile}
        exec(compile("\n" * 2000 + MATCH, __file__, "exec"), space)
        return [space["matches"](value) for value in (0, [1, 2], [0], {"key": 3}, "a", None)]


def main():
    for run in CASES:
        run()


if __name__ == "__main__":
    main()
