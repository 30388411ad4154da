"""Threads that come and go, forks among them, children that exec: all ends as it would without a sampler."""

import os
import subprocess
import sys
import threading
import time


def work(steps):
    total = 0
    for step in range(steps):
        total += step * step
    return total


def thread():
    for _ in range(10):
        work(2000)
        time.sleep(0.0005)


def exit_code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


for turn in range(15):
    threads = [threading.Thread(target=thread) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    child = os.fork()
    if child == 0:
        work(20000)
        os._exit(7)
    assert exit_code(child) == 7
    child = os.fork()
    if child == 0:
        os.execv("/bin/sh", ["sh", "-c", "exit 9"])
    assert exit_code(child) == 9
    assert subprocess.run([sys.executable, "-c", "raise SystemExit(5)"]).returncode == 5
    try:
        os.execv("/no/such/program", ["x"])
    except FileNotFoundError:
        work(1000)

print(len(os.listdir("/proc/self/task")), "thread")
try:
    os.wait()
except ChildProcessError:
    print("no child")
