"""sonde.Timer, timed_region and the rest with PyOP2's meaning, on every Python, with nothing recording."""

import csv
import subprocess

import interpreters
import pytest

# Times are those of a clock that the program moves itself, so that they are known.
CLOCK = """
import sys
sys.path.insert(0, sys.argv[1])
from sonde import Timer, get_timers, reset_timers, summary, tic, timed_function, timed_region, timing, toc
now = [100.0]
def clock():
    return now[0]
def pass_time(seconds):
    now[0] += seconds
"""


def run(launch, text, environment=None):
    program = launch.write("timed.py", CLOCK + text)
    done = launch.plain(program, interpreters.package_folder(), environment=environment or {})
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_documented_uses(launch):
    """PyOP2's examples, the import changed."""
    out = run(
        launch,
        """
import time
with timed_region("my code"):
    time.sleep(0.02)

@timed_function("my function")
def my_func(a, b=2):
    "its text"
    return a + b

@timed_function()
def by_its_name():
    pass

assert my_func(1) == 3 and my_func(1, b=5) == 6
assert (my_func.__name__, my_func.__doc__) == ("my_func", "its text")
by_its_name()
assert 0.02 <= timing("my code") < 5
assert timing("my code", total=False) == timing("my code")
assert timing("my function") > 0 and get_timers()["my function"].ncalls == 2
assert timing("never") == 0 and timing("never", total=False) != timing("never", total=False)
assert timing("my code", reset=True) >= 0.02 and timing("my code") == 0
assert "never" not in get_timers()
reset_timers()
assert get_timers() == {}
my_func(1)
print(*get_timers())
""",
    )
    assert out == "my function\n"


def test_table_and_csv(launch):
    out = run(
        launch,
        """
Timer("b", timer=clock)
tic("b"); pass_time(2.5); assert toc("b") == 2.5
tic("b"); pass_time(0.5); toc("b")
Timer("a long name").add(1e-7)
summary()
summary("table.csv")
""",
    )
    assert out.splitlines() == [
        "      Timer | Total time | Calls | Average time",
        "a long name |      1e-07 |     1 |        1e-07",
        "          b |          3 |     2 |          1.5",
    ]
    text = (launch.folder / "table.csv").read_bytes()
    assert text.startswith(b"Timer,Total time,Calls,Average time\n") and b"\r" not in text
    rows = {row["Timer"]: row for row in csv.DictReader(text.decode().splitlines())}
    assert {name: float(row["Total time"]) for name, row in rows.items()} == {"b": 3.0, "a long name": 1e-7}


def test_recursion_and_exceptions(launch):
    """Time counts once, calls all; an exception ends a region, and passes."""
    run(
        launch,
        """
Timer("f", timer=clock)
@timed_function("f")
def f(n):
    pass_time(1)
    if n == 0:
        raise KeyError
    f(n - 1)
try:
    f(3)
except KeyError:
    pass
assert (timing("f"), get_timers()["f"].ncalls) == (4.0, 4)
region = timed_region("f")
with region:
    with region, timed_region("f"):
        pass_time(2)
    pass_time(1)
assert (timing("f"), get_timers()["f"].ncalls) == (7.0, 7)
try:
    Timer("f").stop()
except RuntimeError as error:
    assert "has not been started" in str(error)
else:
    raise SystemExit("it was not running")
""",
    )


def test_threads_and_tasks_add_up(launch):
    """Two that are inside at the same time: each has its own time, so that the average is a call's."""
    run(
        launch,
        """
import asyncio, threading
for name in ("threads", "tasks", "child"):
    Timer(name, timer=clock)
inside, leave = threading.Barrier(3), threading.Barrier(3)
def work():
    with timed_region("threads"):
        inside.wait(); leave.wait()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
inside.wait(); pass_time(5); leave.wait()
for thread in threads: thread.join()
assert (timing("threads"), get_timers()["threads"].ncalls) == (10.0, 2)

async def wait(event):
    with timed_region("tasks"):
        await event.wait()
async def main():
    event = asyncio.Event()
    tasks = [asyncio.ensure_future(wait(event)) for _ in range(3)]
    await asyncio.sleep(0)
    pass_time(4)
    event.set()
    await asyncio.gather(*tasks)
asyncio.run(main())
assert (timing("tasks"), get_timers()["tasks"].ncalls) == (12.0, 3), get_timers()["tasks"]
""",
    )


def test_generators_and_coroutines(launch):
    run(
        launch,
        """
import asyncio
for name in ("outer", "inner", "steps", "coroutine", "async steps"):
    Timer(name, timer=clock)
def interleaved():
    with timed_region("inner"):
        yield 1
        yield 2
generator = interleaved()
with timed_region("outer"):
    next(generator); pass_time(1)
next(generator); pass_time(1)
generator.close()
assert (timing("outer"), timing("inner")) == (1.0, 2.0)

@timed_function("steps")
def steps():
    got = yield 1
    try:
        yield got
    except ValueError as error:
        yield str(error)
    return "end"
def outer():
    return (yield from steps())
g = outer()
assert (next(g), g.send("said"), g.throw(ValueError("thrown"))) == (1, "said", "thrown")
try:
    next(g)
except StopIteration as end:
    assert end.value == "end"
closed = steps()
next(closed); closed.close()
assert get_timers()["steps"].ncalls == 2

@timed_function("coroutine")
async def coroutine():
    await asyncio.sleep(0); pass_time(3); return 7
@timed_function("async steps")
async def async_steps():
    for i in range(3):
        pass_time(1); yield i
async def main():
    return await coroutine(), [i async for i in async_steps()]
assert asyncio.run(main()) == (7, [0, 1, 2])
assert (timing("coroutine"), timing("async steps")) == (3.0, 3.0)
""",
    )


@pytest.mark.parametrize("name", ["SONDE_PRINT_SUMMARY", "PYOP2_PRINT_SUMMARY"])
def test_summary_at_the_end_of_the_first_rank(modern_launch, name):
    text = "Timer('x').add(1)\n"
    head = "**** sonde timings summary ****\n"
    assert run(modern_launch, text, {name: "1"}).startswith(head)
    assert run(modern_launch, text, {name: "1", "OMPI_COMM_WORLD_RANK": "0"}).startswith(head)
    assert run(modern_launch, text, {name: "1", "OMPI_COMM_WORLD_RANK": "1"}) == ""
    assert run(modern_launch, text, {name: "0"}) == ""
    assert run(modern_launch, "", {name: "1"}) == ""


def test_switched_off(launch):
    """Nothing is counted, and a decorated function is itself."""
    out = run(
        launch,
        """
def f():
    pass
assert timed_function("f")(f) is f and timed_function(f) is f
with timed_region("r"):
    tic("t"); toc("t")
Timer("t").add(1)
print(get_timers(), timing("r"))
summary()
""",
        {"SONDE_TIMERS": "0"},
    )
    assert out == "{} 0.0\n"


def test_no_other_thread_or_file(modern_launch):
    """Timers alone start nothing."""
    out = run(
        modern_launch,
        """
import os, threading
with timed_region("x"):
    pass
print(threading.active_count(), len(os.listdir("/proc/self/task")))
""",
    )
    assert out == "1 1\n"
    assert subprocess.run(["ls", modern_launch.folder], capture_output=True, text=True).stdout == "timed.py\n"
