def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def work():
    for n in range(1, 6):
        factorial(n)
    return sorted([3, 1, 2], key=lambda x: -x)


work()
