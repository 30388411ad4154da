"""What `sonde trace` leaves out when asked to: by name, by depth, by cost; what is left stays exact."""

import interpreters

SCRIPT = """
import json
def leaf():
    return 1
def middle():
    return leaf() + leaf()
def top():
    return sum(middle() for _ in range(10))
def busy():
    for _ in range(250000):
        leaf()
top()
json.dumps({"a": 1}, indent=1)
if __name__ == "__main__" and "busy" in __import__("sys").argv:
    busy()
"""


def traced(launch, *options, words=()):
    launch.write("x.py", SCRIPT)
    done = launch.traced("x.py", *words, trace=list(options))
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    return launch.recording()


def test_exclude(launch):
    """What is excluded is charged to its caller, and what it calls hangs there."""
    table = traced(launch, "--exclude", "middle").table()
    counts = table.named("x.py")
    assert "middle" not in counts
    assert counts["leaf"] == (20, 20)
    assert counts["top"] == (1, 1)


def test_include(launch):
    counts = traced(launch, "--include", "leaf|top").table().named("x.py")
    assert counts["leaf"] == (20, 20)
    assert counts["top"] == (1, 1)
    assert "middle" not in counts


def test_exclude_library(launch):
    recording = traced(launch, "--exclude-library")
    table = recording.table()
    assert table.named("x.py")["leaf"] == (20, 20)
    assert not [label for label in table.functions if label[0].endswith("encoder.py")]


def test_depth(launch):
    recording = traced(launch, "--depth", "3")
    counts = recording.table().named("x.py")
    assert counts["top"] == (1, 1)
    assert counts["leaf"] == (0, 0)
    deepest = 0
    for root in recording.threads.values():
        waiting = [(root, 0)]
        while waiting:
            node, depth = waiting.pop()
            deepest = max(deepest, depth)
            waiting.extend((child, depth + 1) for child in node.children)
    assert deepest == 3


def test_throttle(launch):
    """As in TAU: after 100,000 calls at under 10 us each a function is switched off, which is recorded."""
    recording = traced(launch, "--throttle", words=["busy"])
    calls = recording.table().named("x.py")["leaf"][0]
    assert 100000 <= calls < 250000
    assert any("leaf" in note for note in recording.notes())
    full = traced(launch, words=["busy"])
    assert full.table().named("x.py")["leaf"] == (250020, 250020)


def test_exclude_keeps_the_time(launch):
    """The time of what was left out is its caller's own."""
    launch.write(
        "x.py", "import time\ndef nap():\n    time.sleep(0.05)\ndef day():\n    nap()\n    nap()\nday()\n"
    )
    assert launch.traced("x.py", trace=["--exclude", "nap|sleep"]).returncode == 0
    nodes = [node for root in launch.recording().threads.values() for node in root.below() if node.label]
    (day,) = [node for node in nodes if node.label[2] == "day"]
    assert day.self_ns >= 100_000_000
    assert day.children == []


SUBSCRIPTS = """
class Table:
    def __getitem__(self, key): return key
def look(table):
    for key in range(1000): table[key]
look(Table())
"""


def test_no_c_calls_misses_no_python_call(launch):
    """Early releases of 3.11 specialise a __getitem__ so that no evaluation hook sees it."""
    launch.write("x.py", SUBSCRIPTS)
    assert launch.traced("x.py", trace=["--no-c-calls"]).returncode == 0
    counts = launch.counts("x.py")
    assert counts["__getitem__"] == (1000, 1000) and counts["look"] == (1, 1)


def test_no_c_calls_in_a_program_that_has_been_specialised(launch):
    enable = "import sys; sys.path.insert(0, sys.argv[1]); import sonde\n"
    use = "profile = sonde.Profile(builtins=False)\nprofile.enable()\nlook(Table())\nprofile.disable()\n"
    show = "profile.create_stats()\nprint(sorted(row[0] for row in profile.stats.values()))\n"
    launch.write("x.py", SUBSCRIPTS + enable + use + show)
    done = launch.plain("x.py", interpreters.package_folder())
    assert (done.returncode, done.stdout) == (0, b"[1, 1000]\n"), done.stderr
