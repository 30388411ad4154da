"""The programs that py-spy and CPython test their samplers with: under ours they run on until they are ended,
and what they are made to show is shown."""

import os
import signal
import time

import peer_programs
import pytest
from conftest import USABLE, Launcher, read

PATIENCE_S = 90
LOCAL = [each for each in USABLE if not each.root]
CHOSEN = list({repr(each): each for each in [*USABLE[:1], *LOCAL[-1:], *USABLE[-1:]]}.values())
NEWEST = [each for each in USABLE if each.numbers >= (3, 15)]

# What each of them shows: functions, and names of threads.
PY_SPY = {
    "busyloop.py": {"busy_loop"},
    "cyrillic.py": {"кириллица"},
    "dump_subprocesses_threads.py": {"main", "_worker"},
    "longsleep.py": {"longsleep"},
    "negative_linenumber_offsets.py": {"f"},
    "recursive.py": {"recurse"},
    "subprocesses.py": {"main", "target"},
    "subprocesses_zombie_child.py": {"<module>"},
    "thread_names.py": {f"CustomThreadName-{number}" for number in range(10)},
    "thread_names_unnamed.py": {"idle", *(f"NamedThread-{number}" for number in range(3))},
    "thread_reuse.py": {"<lambda>"},
    "unicode💩.py": {"function1"},
}
CPYTHON = {
    "gc_test_script": {"__del__"},
    "native_test_script": {"inner"},
    "generator_script": {"fibonacci_generator", "consume_generator", "main"},
    "async_script": {"cpu_leaf"},
    "cpu_vs_idle_script": {"idle_worker", "cpu_active_worker"},
    "gil_test_script": {"gil_releasing_work", "gil_holding_work"},
    "exception_vs_normal_script": {"normal_worker", "exception_handling_worker"},
}


@pytest.fixture(params=CHOSEN, ids=repr)
def chosen_launch(request, sonde, tmp_path):
    return Launcher(sonde, request.param, tmp_path)


def shown(path):
    """The functions and the threads in a recording that may still grow."""
    try:
        data = read(path)
    except (OSError, ValueError, RuntimeError):
        return set()
    text = data["strings"]
    parents = data["nodes"]["parent"]
    seen = set()
    for node in {int(node) for node in data["samples"]["node"]}:
        while node and node not in seen:
            seen.add(node)
            node = int(parents[node])
    codes = {int(data["nodes"]["code"][node]) for node in seen}
    return {text[data["codes"]["name"][code]] for code in codes} | {
        text[name] for name in data["threads"]["name"]
    }


def lacking(launch, wanted):
    """{program: what of it is not shown}, once all is shown or patience has an end."""
    until = time.monotonic() + PATIENCE_S
    left = dict(wanted)
    while left and time.monotonic() < until:
        time.sleep(0.3)
        left = {name: left[name] - shown(launch.folder / f"{name}.sonde") for name in left}
        left = {name: names for name, names in left.items() if names}
    return left


def end(process):
    """The program and what it has started, as a shell ends a job. multiprocessing's own helper goes on for a
    while, and may be spoken of."""
    os.killpg(process.pid, signal.SIGTERM)
    err = process.communicate(timeout=60)[1]
    return process.returncode, [line for line in err.splitlines() if b"still run" not in line]


def recorder(launch, name):
    return [launch.sonde, "record", "--quiet", "-s", "-r", "200", "-o", launch.folder / f"{name}.sonde"]


def start_all(launch, wanted, before=lambda name: []):
    return {
        name: launch.start([*before(name), launch.python.executable, name], start_new_session=True)
        for name in wanted
    }


def check_launched(launch, wanted):
    running = start_all(launch, wanted, lambda name: [*recorder(launch, name), "--"])
    left = lacking(launch, wanted)
    ends = {name: end(process) for name, process in running.items()}
    assert left == {}
    assert ends == dict.fromkeys(wanted, (-signal.SIGTERM, []))


def check_attached(launch, wanted):
    running = start_all(launch, wanted)
    time.sleep(0.5)
    tools = {
        name: launch.start([*recorder(launch, name), "-p", str(process.pid)], start_new_session=True)
        for name, process in running.items()
    }
    left = lacking(launch, wanted)
    for tool in tools.values():
        os.killpg(tool.pid, signal.SIGINT)
    said = {name: (tool.communicate(timeout=60)[1], tool.returncode) for name, tool in tools.items()}
    alive = [name for name, process in running.items() if process.poll() is None]
    ends = {name: end(process) for name, process in running.items()}
    assert (left, said) == ({}, dict.fromkeys(wanted, (b"", 0)))
    assert alive == list(wanted)
    assert ends == dict.fromkeys(wanted, (-signal.SIGTERM, []))


@pytest.mark.parametrize("check", [check_launched, check_attached])
def test_py_spy_programs(chosen_launch, check):
    folder = peer_programs.py_spy()
    wanted = {name: names for name, names in PY_SPY.items() if (folder / name).exists()}
    assert len(wanted) >= 8
    for name in wanted:
        (chosen_launch.folder / name).write_bytes((folder / name).read_bytes())
    check(chosen_launch, wanted)


@pytest.mark.parametrize("check", [check_launched, check_attached])
def test_cpython_programs(sonde, tmp_path, check):
    if not NEWEST:
        pytest.skip("no Python that has a sampler of its own (3.15)")
    launch = Launcher(sonde, NEWEST[-1], tmp_path)
    programs = peer_programs.cpython(launch.python)
    wanted = {f"{name}.py": names for name, names in CPYTHON.items() if name in programs}
    assert len(wanted) >= 5
    for name in wanted:
        (tmp_path / name).write_text(programs[name[:-3]])
    check(launch, wanted)
