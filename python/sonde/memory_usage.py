"""memory_usage, with memory_profiler's meaning; but a function is run once.

The process is looked at from outside: a second interpreter, which is not its child, reads its figures from
/proc while the function runs. How high the memory was at most is known from the kernel's own mark, which is
reset before: so the peak is true of functions, too, that are over before anybody could look.

As a program (``python memory_usage.py PID INTERVAL KIND CHILDREN``) this file is that second interpreter.
"""

import os
import sys
import time

_MIB = float(1 << 20)
_KINDS = {"rss": "Rss", "pss": "Pss", "uss": "Private_"}
_BACKENDS = {
    None: "rss",
    "psutil": "rss",
    "posix": "rss",
    "psutil_pss": "pss",
    "psutil_uss": "uss",
    "rss": "rss",
    "pss": "pss",
    "uss": "uss",
}
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")


# ---- one look ----


def _memory_of(pid, kind):
    """Bytes of one process; None when it is gone, or not ours to see."""
    try:
        if kind == "rss":
            with open(f"/proc/{pid}/statm", "rb") as stream:
                return int(stream.read().split()[1]) * _PAGE_BYTES
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as stream:
            lines = [line.split() for line in stream if line.startswith(_KINDS[kind])]
        names = ("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:") if kind == "uss" else ("Pss:",)
        return sum(int(words[1]) * 1024 for words in lines if words[0] in names)
    except (OSError, ValueError, IndexError):
        return None


def _children_of(pid):
    """The processes that it has started, and that these have, as far as they are there."""
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as stream:
                children = [int(word) for word in stream.read().split()]
        except (OSError, ValueError):
            continue
        for child in children:
            found += [child, *_children_of(child)]
    return found


def _look(pid, kind, include_children):
    """MiB of the process, with its children if wanted; None when it is gone."""
    memory = _memory_of(pid, kind)
    if memory is None:
        return None
    if include_children:
        memory += sum(_memory_of(child, kind) or 0 for child in _children_of(pid))
    return memory / _MIB


# ---- a process that runs by itself ----


def _write(stream, memory, pid, kind, multiprocess):
    now = time.time()
    stream.write(f"MEM {memory:.6f} {now:.4f}\n")
    if multiprocess:
        for index, child in enumerate(_children_of(pid)):
            of_child = _memory_of(child, kind)
            if of_child is not None:
                stream.write(f"CHLD {index} {of_child / _MIB:.6f} {now:.4f}\n")


def _watch(pid, settings, most, is_over):
    """Looks again and again: at most so often, until the process has ended."""
    looks = []
    for count in range(1, most + 1) if most is not None else iter(int, 1):
        memory = _look(pid, settings["kind"], settings["children"])
        if memory is None:
            break
        looks.append((memory, time.time()))
        if settings["stream"] is not None:
            _write(settings["stream"], memory, pid, settings["kind"], settings["multiprocess"])
            if count % 50 == 0:
                settings["stream"].flush()
        if most is not None and count == most:
            break
        time.sleep(settings["interval"])
        if is_over():
            break
    return looks


# ---- a function ----


class _Watcher:
    """The second interpreter. It is nobody's child: a program that waits for its own does not meet it."""

    def __init__(self, settings):
        import subprocess

        request, self._request = os.pipe()
        self._answer, answer = os.pipe()
        arguments = [os.getpid(), settings["interval"], settings["kind"], int(settings["children"])]
        flags = ["-I", "-S"] if sys.implementation.name == "cpython" else []
        command = [sys.executable, *flags, os.path.abspath(__file__), *map(str, arguments)]
        try:
            subprocess.run(command, stdin=request, stdout=answer, close_fds=True, check=True)
        except BaseException:
            os.close(self._request)
            os.close(self._answer)
            raise
        finally:
            os.close(request)
            os.close(answer)
        self._stream = os.fdopen(self._answer, "rb")
        self._stream.readline()  # it looks

    def finish(self):
        """What it has seen: pairs of MiB and time."""
        import contextlib

        with contextlib.suppress(OSError):  # it may be gone
            os.write(self._request, b".")
        os.close(self._request)
        with self._stream as stream:
            return [tuple(map(float, line.split())) for line in stream]


def _reset_peak():
    """Makes the kernel's mark of the highest memory begin anew; False where it does not let us."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
            stream.write("5")
        return True
    except OSError:
        return False


def _peak():
    with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
        for line in stream:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / _MIB
    return 0.0


def _with_peak(looks, peak):
    """The looks, with the peak between the two that it must lie between, if none has seen it."""
    highest = max(range(len(looks)), key=lambda i: looks[i][0])
    if looks[highest][0] >= peak:
        return looks
    place = highest + 1 if highest + 1 < len(looks) else highest
    before, after = looks[max(place - 1, 0)], looks[place]
    return [*looks[:place], (peak, (before[1] + after[1]) / 2), *looks[place:]]


def _run(function, arguments, keywords, settings):
    """What was seen while the function ran, and what it returned."""
    watcher = _Watcher(settings)
    knows_peak = settings["kind"] == "rss" and not settings["children"] and _reset_peak()
    first = _look(os.getpid(), settings["kind"], settings["children"]), time.time()
    try:
        returned = function(*arguments, **keywords)
    except BaseException:
        watcher.finish()
        raise
    last = _look(os.getpid(), settings["kind"], settings["children"]), time.time()
    peak = _peak() if knows_peak else 0.0
    seen = [look for look in watcher.finish() if first[1] < look[1] < last[1]]
    return _with_peak([first, *seen, last], peak), returned


def _parts(proc):
    """Function, positional and keyword arguments."""
    if callable(proc):
        return proc, (), {}
    if not 1 <= len(proc) <= 3 or not callable(proc[0]):
        raise ValueError("proc: a function, or a tuple (function, arguments, keyword arguments)")
    arguments = proc[1] if len(proc) > 1 else ()
    return proc[0], arguments, proc[2] if len(proc) > 2 else {}


# ---- what programs call ----


def _kind_of(backend):
    if backend not in _BACKENDS:
        import warnings

        warnings.warn(f"there is no backend {backend!r} here: rss, pss and uss are", stacklevel=3)
    return _BACKENDS.get(backend, "rss")


def _result(looks, timestamps, max_usage):
    if max_usage:
        best = max(looks, default=(-1, 0.0))
        return best if timestamps else best[0]
    return looks if timestamps else [memory for memory, _ in looks]


def memory_usage(
    proc=-1,
    interval=0.1,
    timeout=None,
    timestamps=False,
    include_children=False,
    multiprocess=False,
    max_usage=False,
    retval=False,
    stream=None,
    backend=None,
    max_iterations=None,
):
    """The memory of a process or a function over time, in MiB.

    ``proc``: a function, or a tuple (function, arguments, keyword arguments), which is run; a
    subprocess.Popen; the pid of a process; -1 = this one. ``interval``: seconds between two looks.
    ``timeout``: look for so many seconds; without it a process is looked at once, a Popen until it ends.
    ``timestamps``: pairs of memory and time. ``include_children``: with the processes that it has started;
    ``multiprocess``: these apart, in ``stream``. ``max_usage``: only the highest. ``retval``: a pair of the
    result and what the function returned. ``stream``: a file for lines as mprof writes them; then None is
    returned. ``backend``: rss, pss or uss (memory_profiler's names psutil, psutil_pss, psutil_uss and posix
    are known, too).

    A function is run once, whatever ``max_iterations`` says, and its highest memory is that of the kernel's
    own mark: it is never missed. (The mark is the process's, and begins anew for everybody who asks for it.)
    """
    import subprocess

    settings = {
        "interval": interval,
        "kind": _kind_of(backend),
        "children": include_children,
        "multiprocess": multiprocess,
        "stream": stream,
    }
    most = None if timeout is None else max(1, round(timeout / interval))
    returned = None
    if callable(proc) or isinstance(proc, (list, tuple)):
        looks, returned = _run(*_parts(proc), settings)
        for memory, at in looks if stream is not None else ():
            stream.write(f"MEM {memory:.6f} {at:.4f}\n")
    elif isinstance(proc, subprocess.Popen):
        looks = _watch(proc.pid, settings, most, lambda: proc.poll() is not None)
    else:
        pid = os.getpid() if proc == -1 else int(proc)
        looks = _watch(pid, settings, most or 1, lambda: False)
    if stream is not None:
        stream.flush()
        return None
    result = _result(looks, timestamps, max_usage)
    return (result, returned) if retval else result


# ---- the second interpreter ----


def _look_until_told(pid, interval, kind, children):
    """Says on standard output that it looks, then what it has seen, once it is told to on standard input."""
    import select

    looks = []
    sys.stdout.write("looking\n")
    sys.stdout.flush()
    while True:
        memory = _look(pid, kind, children)
        if memory is None:
            return
        looks.append(f"{memory!r} {time.time()!r}\n")
        if select.select([0], [], [], interval)[0]:
            break
    sys.stdout.writelines(looks)
    sys.stdout.flush()


if __name__ == "__main__":
    if os.fork() == 0:
        os.setsid()  # Ctrl-C is for the program
        _look_until_told(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4] == "1")
    os._exit(0)
