"""A program, the marks of its functions, and the regions that its calls are."""

import json

import conftest

PROGRAM = """
import asyncio, threading

class Grid:
    title = "north"
    options = {"name": "sweep", 0: "first"}
    def step(self, n, scale=1):
        if n:
            self.step(n - 1, scale)
    def fail(self):
        raise ValueError
    @classmethod
    def make(cls):
        return cls()

def values(n):
    for i in range(n):
        yield i

def keep(x):
    def inner():
        return x
    return inner()

def plain():
    pass

async def pause(n):
    await asyncio.sleep(0)

async def both():
    await asyncio.gather(pause(1), pause(2))

def main():
    grid = Grid.make()
    grid.step(2, scale=3)
    try:
        grid.fail()
    except ValueError:
        pass
    list(values(2))
    keep("cell")
    plain()
    asyncio.run(both())
    thread = threading.Thread(target=grid.step, args=(1,))
    thread.start()
    thread.join()

main()
"""
NAMES = """
def describe(frame, event, arg):
    assert event == "call" and arg is None
    return "made by %s %s" % (frame.f_code.co_name, frame.f_locals["n"])

def wrong():
    pass
"""
MARKS = [
    {"fn": "main"},
    {"fn": "step", "file": "grid.py", "name": "{class}.{function} {n} {scale} {self.title}"},
    {"fn": "step", "file": "grid.py", "name": "again {self.options[name]} {self.options[0]}"},
    {"fn": "values", "maker": "names:describe"},
    {"fn": "fail", "name": "{{fail}} {nothing}{self.nothing}"},
    {"fn": "make", "file": None, "name": "{class}.make"},
    {"fn": "keep", "name": "keep {x}"},
    {"fn": "pause", "name": "pause {n}"},
    {"fn": "plain", "file": "elsewhere/"},
]


def steps(*numbers, scale):
    """A recursive call, with the two regions of each."""
    if not numbers:
        return []
    inner = steps(*numbers[1:], scale=scale)
    return [(f"Grid.step {numbers[0]} {scale} north", [("again sweep first", inner)])]


def pauses():
    """Each of two tasks begins, waits, and goes on."""
    return [("pause 1", []), ("pause 2", []), ("pause 1", []), ("pause 2", [])]


EXPECTED = [
    [
        (
            "main",
            [
                ("Grid.make", []),
                *steps(2, 1, 0, scale=3),
                ("{fail} ??", []),
                *[("made by values 2", [])] * 3,
                ("keep cell", []),
                *pauses(),
            ],
        )
    ],
    steps(1, 0, scale=1),
]
COLLECTORS = {
    "record": ["record", "-r", "100"],
    "python calls": ["trace", "--no-c-calls"],
    "lines and calls": ["line", "--with", "trace", "-f", "values"],
    "memory of lines": ["mem", "--lines", "--no-view", "-f", "values"],
}
# In which nothing depends on the version that the others do not have.
MORE_COLLECTORS = {
    "all calls": ["trace"],
    "lines": ["line", "-f", "main", "-f", "values", "-f", "Grid.step"],
    "memory": ["mem"],
    "memory from outside": ["mem", "--rss", "--interval", "0.05"],
}


class Nesting:
    """Ranges as they begin and end → [(name, [those within])] of each thread."""

    def __init__(self):
        self.threads = {}

    def begin(self, thread, name):
        open_ranges = self.threads.setdefault(thread, [("", [])])
        open_ranges.append((name, []))
        open_ranges[-2][1].append(open_ranges[-1])

    def end(self, thread, name=None):
        ended = self.threads[thread].pop()
        assert name in {None, ended[0]}
        assert self.threads[thread], "more ends than beginnings"

    def trees(self):
        assert all(len(ranges) == 1 for ranges in self.threads.values()), "a range has not ended"
        return [ranges[0][1] for ranges in self.threads.values()]


def recorded(launch, output="out.sonde"):
    """The regions of a recording, by process and thread in the order in which they have any."""
    data = conftest.read(launch.folder / output)
    names = [data["strings"][name] for name in data["regions"]["name"]]
    events = data["region_events"]
    nesting = Nesting()
    for thread, region, ends in zip(events["thread"], events["region"], events["ends"]):
        if region:
            nesting.begin(thread, names[region])
        else:
            nesting.end(thread, names[ends])
    return nesting.trees()


def run(launch, command, program, *options, marks=MARKS, environment=None):
    launch.write("names.py", NAMES)
    path = launch.write("grid.py", program)
    if marks is not None:
        launch.write("marks.json", json.dumps({"marks": marks}))
        options = ["--marks", launch.folder / "marks.json", *options]
    head = [launch.sonde, command[0], "--quiet", "-o", launch.folder / "out.sonde", *options, *command[1:]]
    done = launch.run([*head, "--", launch.python.executable, path], environment=environment or {})
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    return done
