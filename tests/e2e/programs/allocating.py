"""Takes and gives back memory of known sizes. A comment behind a line says what is known of it, by allocator:

    # malloc: total/count live/count peak/count temporary    in bytes and blocks; what is 0 may be left out

Of blocks that are given back at once the one taken last is temporary: its thread has allocated nothing since.

The peak is where 60,000,000 bytes are taken on top of everything else.
"""

import sys
import threading

import blocks


def kept():
    blocks.take(1000, 10)  # malloc: 10000/10 live 10000/10 peak 10000/10


def given_back():
    blocks.take(2000, 5)  # malloc: 10000/5 temporary 1
    blocks.give(5)


def passed():
    blocks.pass_(300, 100)  # malloc: 30000/100 temporary 100


def zeroed():
    blocks.zeroed(4096, 3)  # calloc: 12288/3 live 12288/3 peak 12288/3


def grown():
    blocks.grow(100, 3)  # malloc: 100/1; realloc: 1400/3 live 800/1 peak 800/1


def aligned():
    blocks.aligned(8192)  # aligned: 24576/3 live 24576/3 peak 24576/3


def mapped():
    blocks.mapped(1048576, 262144)  # mmap: 1048576/1 live 262144/1 peak 262144/1


def without_gil():
    blocks.without_gil(5000, 7)  # malloc: 35000/7 live 35000/7 peak 35000/7


def highest():
    blocks.take(6000000, 10)  # malloc: 60000000/10 peak 60000000/10 temporary 1
    blocks.give(10)


def after():
    blocks.take(500, 4)  # malloc: 2000/4 live 2000/4


def recursive(depth):
    if depth:
        return recursive(depth - 1)
    blocks.take(777, 2)  # malloc: 1554/2 live 1554/2 peak 1554/2


def generated():
    blocks.take(64, 3)  # malloc: 192/3 live 192/3 peak 192/3
    yield 1
    blocks.take(128, 3)  # malloc: 384/3 live 384/3 peak 384/3


def raised():
    try:
        blocks.take(32, 6)  # malloc: 192/6 live 192/6 peak 192/6
        raise ValueError
    except ValueError:
        blocks.take(48, 6)  # malloc: 288/6 live 288/6 peak 288/6


def in_thread():
    blocks.take(900, 11)  # malloc: 9900/11 live 5400/6 peak 5400/6


def freed_elsewhere():
    blocks.give(5)


def repeated():
    for _ in range(1000):
        blocks.pass_(24, 1)  # malloc: 24000/1000 temporary 1000


def main():
    kept()
    given_back()
    passed()
    zeroed()
    grown()
    aligned()
    mapped()
    without_gil()
    recursive(100)
    for _ in generated():
        pass
    raised()
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    freed_elsewhere()
    repeated()
    highest()
    after()


main()
sys.stdout.write("done\n")
