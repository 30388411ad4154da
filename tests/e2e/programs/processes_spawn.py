"""multiprocessing with spawn: new interpreters that import this file under another name."""
# calls: square=20 in_child=2 leaf=300 parent_only=4
# alone: cProfile sees one process, and the pool's helper threads as in threads.py

import multiprocessing


def leaf():
    pass


def square(n):
    for _ in range(10):
        leaf()
    return n * n


def in_child():
    for _ in range(50):
        leaf()


def parent_only():
    pass


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    for _ in range(4):
        parent_only()
    with context.Pool(2) as pool:
        assert pool.map(square, range(20)) == [n * n for n in range(20)]
        pool.close()
        pool.join()
    children = [context.Process(target=in_child) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
