"""sonde trace --timeline: each call by itself, in its order and depth, agreeing with the tree."""

import json
import os
import re
import signal
import time
from collections import Counter, defaultdict

import pytest

# Threads, forks, generators, coroutines, greenlets, exceptions, deep recursion, and programs that end
# otherwise than by reaching their end.
PROGRAMS = [
    "async_tasks.py",
    "deep.py",
    "exceptions.py",
    "exits.py",
    "generators.py",
    "greenlets.py",
    "processes_fork.py",
    "threads.py",
]


class Event:
    def __init__(self, thread, node, start_ns, end_ns):
        self.thread, self.node, self.start_ns, self.end_ns = thread, node, start_ns, end_ns
        self.self_ns = end_ns - start_ns
        self.depth = 0


def events_of(recording):
    """All calls, with depth and own time. They lie inside one another, each below the node of its caller."""
    columns, parents = recording.data["call_events"], recording.data["nodes"]["parent"]
    stack, events = [], []
    for row in zip(columns["thread"], columns["node"], columns["start_ns"], columns["end_ns"]):
        event = Event(*row)
        assert event.start_ns <= event.end_ns
        while stack and (stack[-1].thread != event.thread or stack[-1].end_ns <= event.start_ns):
            stack.pop()
        if stack:
            assert event.end_ns <= stack[-1].end_ns, "a call ends after its caller"
            stack[-1].self_ns -= event.end_ns - event.start_ns
        assert parents[event.node] == (stack[-1].node if stack else 0)
        event.depth = len(stack)
        stack.append(event)
        events.append(event)
    return events


def check_tree(recording, events):
    """Counts are the tree's; so are times, as far as the clock resolves them."""
    counts, times = Counter(), Counter()
    for event in events:
        counts[event.thread, event.node] += 1
        times[event.thread, event.node] += event.self_ns
    tree, tree_ns = Counter(), Counter()
    calls = recording.data["calls"]
    names = "thread", "node", "calls", "self_ns"
    for thread, node, number, self_ns in zip(*(calls[name] for name in names)):
        tree[thread, node] += number
        tree_ns[thread, node] += self_ns
    more = {key: counts[key] - tree[key] for key in tree | counts if counts[key] != tree[key]}
    for key, own_ns in tree_ns.items():
        assert abs(times[key] - own_ns) <= 2000 + 2 * counts[key] + own_ns / 500, (key, times[key], own_ns)
    return more


def notes(recording):
    rows = recording.data["notes"]
    return {recording.text[text]: number for text, number in zip(rows["text"], rows["count"])}


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_the_tree(launch, name):
    head = (launch.folder / launch.program(name)).read_text()
    needs = re.search("^# needs: (.*)", head, re.M)
    executable = launch.python.executable
    if needs:
        executable, why_not = launch.python.peer_environment([needs.group(1)])
        if not executable:
            pytest.skip(why_not)
    launch.run([*launch.tracer(trace=["--timeline"]), "--", executable, name])
    recording = launch.recording()
    events = events_of(recording)
    more = check_tree(recording, events)
    # A forked process is in the calls of its parent; a greenlet that goes on is again in its own.
    for (thread, _), number in more.items():
        forked = recording.process_of(thread) != recording.first_process()
        assert number == 1 if forked else name == "greenlets.py" and number > 0
    assert bool(more) == (name in ("processes_fork.py", "greenlets.py"))
    assert not any("timeline" in text for text in notes(recording))


SEQUENCE = """
    def leaf():
        pass

    def twice():
        leaf()
        leaf()

    def countdown(number):
        if number:
            countdown(number - 1)

    def numbers():
        yield 1
        yield 2

    def fails():
        leaf()
        raise ValueError

    async def waits():
        leaf()

    def main():
        twice()
        countdown(2)
        for _ in numbers():
            leaf()
        try:
            fails()
        except ValueError:
            leaf()
        try:
            waits().send(None)
        except StopIteration:
            pass

    main()
"""
EXPECTED = """
    0 <module>
    1 main
    2 twice
    3 leaf
    3 leaf
    2 countdown
    3 countdown
    4 countdown
    2 numbers
    2 leaf
    2 numbers
    2 leaf
    2 numbers
    2 fails
    3 leaf
    2 leaf
    2 waits
    3 leaf
"""


def own_calls(recording, events, script):
    codes = recording.data["nodes"]["code"]
    labels = [(event, recording.labels[codes[event.node]]) for event in events]
    return [(event, name) for event, (file, _, name) in labels if file.endswith(script)]


@pytest.mark.parametrize("options", [(), ("--no-c-calls",)])
def test_calls_are_in_order(launch, options):
    launch.write("sequence.py", SEQUENCE)
    assert launch.traced("sequence.py", trace=["--timeline", *options]).returncode == 0
    recording = launch.recording()
    events = events_of(recording)
    calls = own_calls(recording, events, "sequence.py")
    depth = calls[0][0].depth
    inner = [(event.depth - depth, name) for event, name in calls]
    if not options:  # send is a C function, and lies between
        place = inner.index((3, "waits"))
        inner[place : place + 2] = [(2, "waits"), (3, "leaf")]
    assert inner == [(int(line.split()[0]), line.split()[1]) for line in EXPECTED.strip().splitlines()]


def test_killed(launch):
    """What the log held when the program died is there, and open calls end with it."""
    launch.write(
        "killed.py",
        """
        import os, signal
        def step(number):
            return number
        def work():
            for number in range(1000):
                step(number)
            os.kill(os.getpid(), signal.SIGKILL)
        work()
        """,
    )
    assert launch.traced("killed.py", trace=["--timeline"]).returncode == -signal.SIGKILL
    recording = launch.recording()
    events = events_of(recording)
    assert Counter(name for _, name in own_calls(recording, events, "killed.py")) == {
        "<module>": 1,
        "work": 1,
        "step": 1000,
    }
    assert check_tree(recording, events) == {}


def busy(launch, count):
    return launch.write(
        "busy.py",
        f"""
        import time
        def short(number):
            return number
        def long():
            time.sleep(.002)
        def main():
            for number in range({count}):
                short(number)
                if number % 1000 == 0:
                    long()
        main()
        """,
    )


def check_losses(recording, events):
    """Every call is on the timeline or counted as left out."""
    calls = sum(recording.data["calls"]["calls"])
    left_out = sum(number for text, number in notes(recording).items() if "not on the timeline" in text)
    assert len(events) + left_out == calls, notes(recording)
    return left_out


def test_size_limit(modern_launch):
    """Short calls go first; then all that is later; nothing goes unsaid."""
    script = busy(modern_launch, 200000)
    done = modern_launch.traced(script, trace=["--timeline", "--no-c-calls", "--timeline-limit", "64K"])
    assert done.returncode == 0
    recording = modern_launch.recording()
    events = events_of(recording)
    assert check_losses(recording, events) > 100000
    names = Counter(name for _, name in own_calls(recording, events, "busy.py"))
    assert names["main"] == 1 and names["short"] < 100000
    assert (modern_launch.folder / "out.sonde").stat().st_size < 200000
    told = modern_launch.run([modern_launch.sonde, "info", modern_launch.folder / "out.sonde"])
    assert b"not on the timeline" in told.stdout


def test_ring_keeps_the_last(modern_launch):
    script = busy(modern_launch, 100000)
    options = ["--timeline", "--no-c-calls", "--ring", "--timeline-limit", "64K"]
    assert modern_launch.traced(script, trace=options).returncode == 0
    recording = modern_launch.recording()
    events = events_of(recording)
    assert check_losses(recording, events) > 50000
    calls = own_calls(recording, events, "busy.py")
    first = next(event for event, name in calls if name == "short")
    main = next(event for event, name in calls if name == "main")
    # The last part of main's time, without a hole up to its end.
    assert first.start_ns - main.start_ns > (main.end_ns - main.start_ns) / 2
    assert len(calls) > 5000


def test_recorder_that_cannot_keep_up(modern_launch):
    """The program does not wait for a recorder that is stopped; what it loses is counted."""
    script = busy(modern_launch, 5000000)
    program = f"import runpy; runpy.run_path({str(script)!r}); open('done', 'w').close(); input()"
    modern_launch.write("done.py", program)
    command = [*modern_launch.tracer("out.sonde", ["--timeline", "--no-c-calls"]), "--"]
    command += [modern_launch.python.executable, "-S", "done.py"]
    with modern_launch.start(command, stdin=-1) as process:
        deadline = time.monotonic() + 60
        while not (modern_launch.folder / "out.sonde").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGSTOP)
        while not (modern_launch.folder / "done").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGCONT)
        process.communicate(b"\n", timeout=120)
    recording = modern_launch.recording()
    assert check_losses(recording, recording.data["call_events"]["node"]) > 0
    assert any("could not keep up" in text for text in notes(recording))


def test_range_and_chrome(launch):
    """A part of the time has the calls of that part; a Chrome trace has them all, nested as they were."""
    launch.write("sequence.py", SEQUENCE + "    import time\n    time.sleep(.3)\n    countdown(1)\n")
    assert launch.traced("sequence.py", trace=["--timeline"]).returncode == 0
    recording = launch.recording()
    events = events_of(recording)
    path = launch.folder / "out.sonde"
    late = next(e for e, name in own_calls(recording, events, "sequence.py")[::-1] if name == "countdown")
    begin_ns = min(min(recording.data["series"]["time_ns"]), min(event.start_ns for event in events))
    report = [launch.sonde, "report", "--json", "--range", f"{(late.start_ns - begin_ns) / 1e9 - .1},", path]
    table = json.loads(launch.run(report).stdout)
    found = {row["name"]: row["calls"] for row in table["functions"] if row["file"].endswith("sequence.py")}
    assert found == {"countdown": 2, "<module>": 0}
    export = [launch.sonde, "export", "-f", "chrome", "-o", launch.folder / "x.json", path]
    assert launch.run(export).returncode == 0
    trace = json.loads((launch.folder / "x.json").read_text())["traceEvents"]
    calls = [event for event in trace if event["ph"] == "X"]
    assert len(calls) == len(events)
    threads = defaultdict(list)
    for event in calls:
        stack = threads[event["pid"], event["tid"]]
        begin, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1]
        stack.append(end)


LINES = """
    import threading

    def leaf(number):
        return number + 1

    def countdown(number):
        if number:
            countdown(number - 1)
        return number

    def numbers(count):
        for number in range(count):
            yield number

    def fails():
        try:
            raise ValueError
        except ValueError:
            leaf(0)
        return [
            leaf(1),
            leaf(2),
        ]

    def loop(count):
        for number in range(count):
            leaf(number)

    loop(2000)
    countdown(3)
    list(numbers(4))
    fails()
    thread = threading.Thread(target=loop, args=[7])
    thread.start()
    thread.join()
"""


def line_events_of(recording):
    """{(name, line): how often}. Each line lies in its call, and what it calls in the line."""
    columns, nodes = recording.data["call_events"], recording.data["nodes"]
    stack, found = [], Counter()
    for row in zip(*(columns[name] for name in ("thread", "node", "line", "start_ns", "end_ns"))):
        thread, node, line, start_ns, end_ns = row
        while stack and (stack[-1][0] != thread or stack[-1][4] <= start_ns):
            stack.pop()
        around = stack[-1] if stack else (0, 0, 0, 0, end_ns)
        assert end_ns <= around[4]
        assert around[:3] == (thread, node, 0) if line else nodes["parent"][node] == around[1]
        stack.append(row)
        if line:
            found[recording.labels[nodes["code"][node]][2], line] += 1
    return found


def line_hits_of(recording):
    lines, hits = recording.data["lines"], Counter()
    for code, line, number in zip(lines["code"], lines["line"], lines["hits"]):
        hits[recording.labels[code][2], line] += number
    return +hits


@pytest.mark.parametrize("options", [(), ("--no-c-calls",)])
def test_lines_are_events(launch, options):
    """Every hit of a line is on the timeline; so is what is left of one when a generator goes on in it."""
    if options and launch.python.numbers >= (3, 12):
        pytest.skip("the same events tell of it")
    script = launch.write("lines.py", LINES)
    assert launch.traced(script, trace=["--timeline", "-l", *options]).returncode == 0
    recording = launch.recording()
    found, hits = line_events_of(recording), line_hits_of(recording)
    text = script.read_text().splitlines()
    yields = text.index("        yield number") + 1
    assert hits["loop", text.index("        leaf(number)") + 1] == 2007 and hits["numbers", yields] == 4
    assert found == hits + Counter({("numbers", yields): 4})
    assert not any("timeline" in text for text in notes(recording))
    path = launch.folder / "out.sonde"
    export = [launch.sonde, "export", "-f", "chrome", "-o", launch.folder / "x.json", path]
    assert launch.run(export).returncode == 0
    events = json.loads((launch.folder / "x.json").read_text())["traceEvents"]
    shown = Counter(event["args"]["line"] for event in events if event.get("cat") == "line")
    assert shown[yields] == 8 and sum(shown.values()) == sum(found.values())
    report = [launch.sonde, "report", "--json", "--range", "0,", path]
    calls = {row["name"]: row["calls"] for row in json.loads(launch.run(report).stdout)["functions"]}
    assert calls["loop"] == 2 and calls["countdown"] == 4, "lines are no calls"


def test_lines_take_little_room(modern_launch):
    script = busy(modern_launch, 100000)
    assert modern_launch.traced(script, trace=["--timeline", "-l", "--no-c-calls"]).returncode == 0
    recording = modern_launch.recording()
    rows = len(recording.data["call_events"]["line"])
    assert rows > 400000 and (modern_launch.folder / "out.sonde").stat().st_size / rows < 8
