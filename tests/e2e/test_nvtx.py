"""Ranges told to a tool that listens to NVTX (--nvtx), and those of libraries as regions (--nvtx-in)."""

import re
import shutil

import conftest
import interpreters
import pytest
from mark_cases import COLLECTORS, EXPECTED, PROGRAM, Nesting, recorded, run


def tool_of(launch):
    """The environment in which a tool listens, and the file where it writes what it is told."""
    library = interpreters.sonde_folder() / "tests" / "e2e" / "native" / "libnvtx_tool.so"
    if not library.exists():
        pytest.skip("the test library is not built (tests are off)")
    shutil.copy(library, launch.folder)
    log = launch.folder / "told.txt"
    return {"NVTX_INJECTION64_PATH": str(launch.folder / library.name), "NVTX_TOOL_LOG": str(log)}, log


@pytest.fixture
def tool(launch):
    return tool_of(launch)


def told(log):
    """What the tool was told, as ranges within each other; every name is registered, every domain ours."""
    nesting = Nesting()
    lines = log.read_text().splitlines()
    assert lines[0] == "1 domain sonde"
    for line in lines[1:]:
        thread, what, rest = re.fullmatch(r"(\d+) (push|pop) sonde(?: registered (.*))?", line).groups()
        if what == "push":
            nesting.begin(thread, rest)
        else:
            nesting.end(thread)
    return nesting.trees()


@pytest.mark.parametrize("collector", ["record", "lines and calls"])
def test_a_tool_is_told_of_the_same_ranges(launch, tool, collector):
    environment, log = tool
    run(launch, COLLECTORS[collector], PROGRAM, "--nvtx", environment=environment)
    assert told(log) == EXPECTED == recorded(launch)


def test_timers_and_instants_are_told(modern_launch):
    """Also those of tasks that take turns: ranges stay within each other."""
    launch = modern_launch
    environment, log = tool_of(launch)
    environment["PYTHONPATH"] = str(interpreters.package_folder())
    program = """
    import asyncio, sonde
    async def task(name, *order):
        with sonde.timed_region(name):
            for event in order:
                await asyncio.sleep(0)
    async def both():
        await asyncio.gather(task("a", 1), task("b", 1, 2))
    with sonde.timed_region("all"):
        asyncio.run(both())
        sonde.signpost("here", "a message")
    """
    run(launch, ["record", "-r", "100"], program, "--nvtx", marks=None, environment=environment)
    lines = [line.split(" ", 2)[1:] for line in log.read_text().splitlines()]
    assert lines == [
        ["domain", "sonde"],
        ["push", "sonde registered all"],
        ["push", "sonde registered a"],
        ["push", "sonde registered b"],
        *[["pop", "sonde"]] * 2,  # a ends below b, which begins again
        ["push", "sonde registered b"],
        ["pop", "sonde"],
        ["mark", "sonde a message"],
        ["pop", "sonde"],
    ]


def test_no_tool_or_not_asked(modern_launch):
    """No tool, one that is not there, one but no --nvtx: nobody is told, and all is recorded."""
    launch = modern_launch
    environment, log = tool_of(launch)
    for options, variables in [
        (["--nvtx"], {}),
        (["--nvtx"], {"NVTX_INJECTION64_PATH": "/no/such/library.so"}),
        ([], environment),
    ]:
        run(launch, ["record", "-r", "100"], PROGRAM, *options, environment=variables)
        assert recorded(launch) == EXPECTED
        assert not log.exists()


EMITTER = """
import os, sys, threading
assert "NVTX_INJECTION64_PATH" not in os.environ
import nvtx
halo = nvtx.get_domain("halo")
with nvtx.annotate("outer"):
    with nvtx.annotate("inner", domain="model", color="red", category="c", payload=3):
        pass
    nvtx.push_range("pushed")
    nvtx.pop_range()
    nvtx.mark("here", domain="model")
def elsewhere(begun):
    nvtx.end_range(begun)
    with nvtx.annotate("of a thread"):
        pass
begun = nvtx.start_range("from thread to thread")
thread = threading.Thread(target=elsewhere, args=(begun,))
thread.start()
thread.join()
"""


def emitted(launch, *options, environment=None):
    python, why = launch.python.peer_environment(["nvtx"])
    if not python:
        pytest.skip(why)
    path = launch.write("emitter.py", EMITTER if not environment else EMITTER.replace("assert", "#"))
    command = [launch.sonde, "record", "--quiet", "-r", "100", "-o", launch.folder / "out.sonde", *options]
    done = launch.run([*command, "--", python, path], environment=environment or {})
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()


def test_ranges_of_a_library_are_regions(launch):
    emitted(launch)
    outer = ("outer", [("model:inner", []), ("pushed", [])])
    assert recorded(launch) == [[outer, ("from thread to thread", [])], [("of a thread", [])]]
    data = conftest.read(launch.folder / "out.sonde")
    assert [data["strings"][name] for name in data["marks"]["name"]] == ["model:here"]


def test_another_tool_has_the_ranges(modern_launch):
    launch = modern_launch
    environment, log = tool_of(launch)
    emitted(launch, environment=environment)
    assert recorded(launch) == []
    assert "push model" in log.read_text()


def test_ranges_of_libraries_can_be_left_out(modern_launch):
    emitted(modern_launch, "--no-nvtx-in")
    assert recorded(modern_launch) == []
