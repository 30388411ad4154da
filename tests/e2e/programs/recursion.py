"""Direct, mutual and indirect recursion."""
# calls: fib=1973/1 even=21/1 odd=20/1 total=15/1 hanoi=1023/1 ping=6/1 pong=5/1


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def tree(depth):
    return (1, [tree(depth - 1), tree(depth - 1)] if depth else [])


def total(node):
    value, children = node
    return value + sum(total(child) for child in children)


def hanoi(n, a, b, c):
    if n == 0:
        return 0
    return hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)


def ping(n):
    return list(map(pong, [n - 1])) if n else []


def pong(n):
    return list(map(ping, [n]))


assert fib(15) == 610
assert even(40)
assert total(tree(3)) == 15
assert hanoi(9, "a", "b", "c") == 511
ping(5)
