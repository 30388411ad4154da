"""Threads: each does known work; one raises; one is a daemon; one pool."""
# calls: work=40 leaf=4000 raising=1 pooled=25 daemon=1 in_daemon=7 main_work=1
# alone: cProfile sees one thread before 3.12. From 3.12 on it gets the events of all threads but keeps one
# stack for them: it reports work() with 40 calls of which 10 (3.13.0) or 20 (3.12.1) are primitive.

import sys
import threading
from concurrent.futures import ThreadPoolExecutor


def leaf(n):
    return n + 1


def work():
    value = 0
    for _ in range(100):
        value = leaf(value)
    return value


def loop():
    for _ in range(10):
        work()


def raising():
    raise ValueError("expected")


def pooled(n):
    return n * n


def in_daemon():
    pass


def daemon(done):
    for _ in range(7):
        in_daemon()
    done.set()
    threading.Event().wait()


def main_work():
    return sum(range(1000))


threading.excepthook = lambda args: None
threads = [threading.Thread(target=loop, name="worker-%d" % i) for i in range(4)]
threads.append(threading.Thread(target=raising))
done = threading.Event()
threads.append(threading.Thread(target=daemon, args=(done,), daemon=True))
sys.setswitchinterval(1e-5)
for thread in threads:
    thread.start()
main_work()
for thread in threads[:-1]:
    thread.join()
done.wait()
with ThreadPoolExecutor(3) as pool:
    assert sum(pool.map(pooled, range(25))) == 4900
