"""Uses of memory_usage. test_memory_usage.py has this file run with memory_profiler's and with sonde's, and
compares; a function named check_* is about sonde's alone, and asserts."""

import io
import json
import os
import subprocess
import sys
import time

MIB = 1 << 20
calls = []


def allocate(size, rest=0.0, *, failing=False):
    calls.append(size)
    block = bytearray(size * MIB)
    time.sleep(rest)
    if failing:
        raise ValueError(size)
    return len(block)


def rounded(figures):
    """Growth since the first figure, in steps that small change does not show in."""
    return [round((figure - figures[0]) / 10) * 10 for figure in figures]


def case_returns(memory_usage):
    usage, returned = memory_usage((allocate, (50,), {"rest": 0.5}), interval=0.05, retval=True)
    return max(rounded(usage)), rounded(usage)[-1], returned


def case_max_usage(memory_usage):
    before = memory_usage()[0]
    return round((memory_usage((allocate, (50, 0.5)), interval=0.05, max_usage=True) - before) / 10)


def case_timestamps(memory_usage):
    usage = memory_usage((allocate, (50, 0.5)), interval=0.05, timestamps=True)
    times = [at for _, at in usage]
    return times == sorted(times), abs(times[0] - time.time()) < 60, len(usage[0])


def case_this_process(memory_usage):
    several = memory_usage(-1, interval=0.01, timeout=0.05)
    return [len(several), len(memory_usage(os.getpid())), len(memory_usage())]


def case_popen(memory_usage):
    code = "import time; block = bytearray(60 << 20); time.sleep(1)"
    usage = memory_usage(subprocess.Popen([sys.executable, "-c", code]), interval=0.05, timestamps=True)
    return max(figure for figure, _ in usage) > 60, len(usage) > 1


def case_children(memory_usage):
    code = "block = bytearray(60 << 20); print('ready', flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    alone, together = memory_usage()[0], memory_usage(include_children=True)[0]
    child.kill()
    child.wait()
    return together - alone > 60


def case_stream(memory_usage):
    stream = io.StringIO()
    result = memory_usage(os.getpid(), interval=0.01, timeout=0.03, timestamps=True, stream=stream)
    return result, [line.split()[0] for line in stream.getvalue().splitlines()]


def case_kinds(memory_usage):
    pss, rss = memory_usage(backend="psutil_pss")[0], memory_usage(backend="psutil")[0]
    return 0 < pss <= rss


def case_failing(memory_usage):
    try:
        memory_usage((allocate, (1,), {"failing": True}))
    except ValueError as error:
        return str(error)


def check_function_is_run_once(memory_usage):
    """memory_profiler runs it again and again until it has five figures."""
    calls.clear()
    memory_usage((allocate, (1,)), interval=10)
    assert len(calls) == 1


def check_peak_is_never_missed(memory_usage):
    """A function that is over before anybody can have looked."""
    usage = memory_usage((allocate, (200,)), interval=60)
    assert 199 <= max(usage) - usage[0] < 210, usage
    assert usage[-1] - usage[0] < 10
    peak = memory_usage((allocate, (100,)), max_usage=True)
    assert 99 <= peak - usage[0] < 110, (peak, usage)


def check_children_of_the_program_are_its_own(memory_usage):
    """Nobody whom it has not started is met by a program that waits for its children."""

    def wait():
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        found = os.wait()
        try:
            os.wait()
        except ChildProcessError:
            return found == (pid, 3 << 8)

    assert memory_usage(wait, retval=True)[1] is True


def check_mistakes(memory_usage):
    for wrong in ((), (1, 2), (allocate, (), {}, 1)):
        try:
            memory_usage(wrong)
        except ValueError as error:
            assert "proc" in str(error)
        else:
            raise AssertionError(wrong)


if __name__ == "__main__":
    tool, kind, package = sys.argv[1:]
    sys.path.insert(0, package)
    if tool == "sonde":
        from sonde import memory_usage
    else:
        from memory_profiler import memory_usage
    chosen = {name: case for name, case in globals().items() if name.startswith(kind)}
    print(json.dumps({name: case(memory_usage) for name, case in chosen.items()}))
