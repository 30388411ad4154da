"""`sonde mem --lines`: the memory of each line is what it is, by heap and by resident size; memory_profiler's
where that is right."""

import json
import re
import signal

import pytest

MIB = 1 << 20
SLACK = MIB // 2  # of resident sizes: the interpreter's own small change

PROGRAM = """
    import threading

    MIB = 1 << 20


    @profile
    def straight():
        first = bytearray(50 * MIB)
        second = bytearray(40 * MIB)
        del first
        return second


    @profile
    def loop():
        for size in (200, 40, 40, 40):
            block = bytearray(size * MIB)
            block = None


    @profile
    def caller():
        kept = straight()
        other = inner(straight)
        return kept, other


    def inner(function):
        return function()


    @profile
    def recursive(depth):
        block = bytearray(40 * MIB)
        rest = recursive(depth - 1) if depth else []
        return [block, *rest]


    @profile
    def generator():
        for size in (40, 50):
            block = bytearray(size * MIB)
            yield block
            del block


    @profile
    def failing():
        block = bytearray(40 * MIB)
        raise ValueError(block)


    @profile
    def one(): return bytearray(40 * MIB)


    straight()
    loop()
    caller()
    kept = recursive(3)
    blocks = list(generator())
    kept = blocks = None
    for _ in range(3):
        try:
            failing()
        except ValueError:
            pass
    blocks = [one() for _ in range(2)]
"""
# Function: {line of the function, from 0: (hits, growth in MiB)}; lines that grew by nothing are left out.
EXPECTED = {
    "straight": {2: (3, 150), 3: (3, 120), 4: (3, -150)},
    "loop": {3: (4, 320), 4: (4, -320)},
    "caller": {2: (1, 40), 3: (1, 40)},
    "recursive": {2: (4, 160)},
    "generator": {3: (2, 90)},
    "failing": {2: (3, 120)},
    "one": {1: (2, 80)},
}


def measured(launch, *arguments, options=(), **more):
    command = [launch.sonde, "mem", "--lines", "--quiet", "-o", launch.folder / "out.sonde", *options]
    return launch.run([*command, "--", launch.python.executable, *arguments], **more)


def functions(launch):
    """{name: (first line, {line: row})}, threads and processes added up."""
    report = launch.run([launch.sonde, "report", "--json", launch.folder / "out.sonde"])
    assert report.returncode == 0, report.stderr.decode()
    found = {}
    for function in json.loads(report.stdout)["lines"]:
        name = function["qualname"].split(".")[-1]
        _, rows = found.setdefault(name, (function["line"], {}))
        for row in function["rows"]:
            sums = rows.setdefault(row["line"], dict.fromkeys(("hits", "rss_growth_bytes"), 0))
            for key, value in row.items():
                if key == "hits" or key.endswith("growth_bytes"):
                    sums[key] = sums.get(key, 0) + value
                elif key.endswith("_bytes"):
                    sums[key] = max(sums.get(key, 0), value)
    return found


def growth(rows, key, first):
    """What lines grew by, from the function's first one; rounded to MiB, without small change."""
    return {
        line - first: (row["hits"], round(row[key] / MIB))
        for line, row in rows.items()
        if abs(row.get(key, 0)) > SLACK
    }


def test_growth_of_every_line(launch):
    script = launch.write("program.py", PROGRAM)
    done = measured(launch, script)
    assert done.returncode == 0, done.stderr.decode()
    found = functions(launch)
    for name, lines in EXPECTED.items():
        first, rows = found[name]
        assert growth(rows, "rss_growth_bytes", first) == lines, name
        assert growth(rows, "heap_growth_bytes", first) == lines, name
    first, rows = found["straight"]
    assert rows[first]["hits"] == 3  # of the function itself: its calls
    assert rows[first + 3]["rss_bytes"] - rows[first]["rss_bytes"] >= 90 * MIB - SLACK


EXACT = """
    @profile
    def exact():
        kept = []
        for i in range(100):
            kept.append(None)
            kept[i] = bytes(12345)
            other = bytes(100000)
            del other
        return kept


    exact()
"""


def test_heap_is_counted_to_the_byte(launch):
    script = launch.write("program.py", EXACT)
    done = measured(launch, script)
    assert done.returncode == 0, done.stderr.decode()
    first, rows = functions(launch)["exact"]
    empty = int(launch.plain("-c", "import sys; print(sys.getsizeof(b''))").stdout)
    grown = {line - first: row["heap_growth_bytes"] for line, row in rows.items()}
    assert grown[5] == 100 * (empty + 12345) and grown[6] == -grown[7] == 100 * (empty + 100000)
    assert 0 < grown[4] < 10000 and rows[first + 7]["hits"] == 100


# ---- memory_profiler ----

# Blocks of more than 32 MiB are the kernel's again as soon as they are freed.
PEER_PROGRAM = """
    @profile
    def straight():
        first = bytearray(50 << 20)
        second = bytearray(40 << 20)
        del first
        total = 0
        for i in range(3):
            total += i
        return second


    @profile
    def loop():
        for size in (200, 40, 40, 40):
            block = bytearray(size << 20)
            block = None


    straight()
    loop()
"""


def table(text):
    """{line: (growth in MiB, occurrences)} of a printed table."""
    row = re.compile(r" *(\d+) +-?[\d.]+ MiB +(-?[\d.]+) MiB +(\d+) .*")
    found = [row.fullmatch(line) for line in text.splitlines()]
    return {int(match[1]): (round(float(match[2])), int(match[3])) for match in found if match}


@pytest.fixture
def peer(launch):
    executable, reason = launch.python.peer_environment(["memory_profiler"])
    if not executable:
        pytest.skip(reason)
    return executable


def test_memory_profiler_says_the_same_or_is_wrong(launch, peer):
    script = launch.write("program.py", PEER_PROGRAM)
    done = measured(launch, script)
    assert done.returncode == 0, done.stderr.decode()
    ours = table(done.stdout.decode())
    theirs = table(launch.run([peer, "-W", "ignore", "-m", "memory_profiler", script]).stdout.decode())
    # The first line of a function has not grown by what the interpreter had before.
    assert ours.pop(1) == (0, 1) and theirs.pop(1)[1] == 1
    assert ours.pop(12) == (0, 1) and theirs.pop(12)[1] == 1
    straight, loop = range(1, 11), range(12, 17)
    assert {line: ours[line] for line in straight if line in ours} == {
        line: theirs[line] for line in straight if line in theirs
    }
    assert {line: ours[line] for line in loop if line in ours} == {14: (0, 5), 15: (320, 4), 16: (-320, 4)}
    # Nothing stays of the loop. memory_profiler compares with the highest that the line before ever had.
    assert sum(ours[line][0] for line in loop if line in ours) == 0
    assert sum(theirs[line][0] for line in loop if line in theirs) < -300
    # Both print the same lines of the source beside.
    columns = [line.split("MiB")[-1] for line in done.stdout.decode().splitlines() if "second = " in line]
    assert columns and columns[0].endswith("second = bytearray(40 << 20)")


DECORATED = """
    import sys
    from memory_profiler import profile


    @profile(precision=4)
    def kept():
        return bytearray(40 << 20)


    @profile
    def named():
        with profile.timestamp("block") if hasattr(profile, "timestamp") else open("/dev/null"):
            return len(kept())


    print(named(), "memory_profiler" in sys.modules)
"""


def check_decorated(launch, done):
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[0] == f"{40 << 20} True"
    first, rows = functions(launch)["kept"]
    assert growth(rows, "rss_growth_bytes", first) == {2: (1, 40)}
    assert "named" in functions(launch)


def test_memory_profilers_decorator(launch):
    """Where it is not installed, there is a stand-in."""
    script = launch.write("program.py", DECORATED)
    assert launch.plain("-c", "import memory_profiler").returncode != 0
    check_decorated(launch, measured(launch, script))


def test_installed_memory_profiler_hands_over(launch, peer):
    """Its own decorator chooses the functions, and prints nothing itself."""
    script = launch.write("program.py", DECORATED)
    command = [launch.sonde, "mem", "--lines", "--quiet", "--no-view", "-o", launch.folder / "out.sonde"]
    done = launch.run([*command, "--", peer, "-W", "ignore", script])
    check_decorated(launch, done)
    assert "Line #" not in done.stdout.decode()


# ---- the command ----

TARGETS = """
    import os
    import threading

    from sonde import lineprof, memprof


    class Grid:
        def step(self):
            self.cells = bytearray(40 << 20)


    @memprof
    def child():
        return bytearray(50 << 20)


    @lineprof
    def timed():
        return 1


    def busy(go_on):
        while go_on:
            block = bytearray(1 << 20)


    go_on = [1]
    thread = threading.Thread(target=busy, args=(go_on,))
    thread.start()
    grid = Grid()
    grid.step()
    timed()
    if os.fork() == 0:
        child()
        os._exit(0)
    os.wait()
    go_on.clear()
    thread.join()
"""


def test_targets_threads_and_forks(launch):
    script = launch.write("program.py", TARGETS)
    done = measured(launch, "-W", "ignore", script, options=["-f", "Grid.step", "--precision", "1"])
    assert done.returncode == 0, done.stderr.decode()
    found = functions(launch)
    assert set(found) == {"step", "child"}
    first, rows = found["step"]  # the other thread allocates all the while
    assert abs(rows[first + 1]["heap_growth_bytes"] - 40 * MIB) < 10000
    first, rows = found["child"]
    assert growth(rows, "rss_growth_bytes", first) == {2: (1, 50)}
    assert re.search(r"^ +\d+ +\d+\.\d MiB +\d+\.\d MiB +1 .* return bytearray", done.stdout.decode(), re.M)


DEBUGGED = """
    @profile
    def grow(count):
        kept = []
        for i in range(count):
            kept.append(bytearray(40 << 20))
        print("done", len(kept))


    grow(10)
"""


def test_debugger_stops_at_the_limit(launch):
    script = launch.write("program.py", DEBUGGED)
    commands = b"p 'kept', len(kept)\nwhere\ncontinue\n"
    done = measured(launch, script, options=["--pdb-at", "200", "--no-view"], input=commands)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    words = r"Current memory ([\d.]+) MiB exceeded the maximum of ([\d.]+) MiB"
    used, limit = re.search(words, text).groups()
    assert float(limit) == 200 and 200 <= float(used) < 245
    assert re.search(r"\('kept', [45]\)", text), text
    assert "program.py(9)<module>()" in text and "done 10" in text


def test_nothing_was_measured(modern_launch):
    launch = modern_launch
    script = launch.write("program.py", "print('ran')\n")
    done = measured(launch, script)
    assert done.returncode == 0 and b"@profile" in done.stdout
    done = measured(launch, script, options=["-f", "missing"])
    assert done.returncode == 0 and b"missing" in done.stdout
    for options in (["--precision", "20"], ["--pdb-at", "-1"], ["-f", ""]):
        done = measured(launch, script, options=options)
        assert done.returncode == 2 and b"ran" not in done.stdout, options


KILLED = """
    import os
    import signal


    @profile
    def killed():
        os.closerange(3, 2000)
        kept = bytearray(40 << 20)
        os.kill(os.getpid(), signal.SIGKILL)


    killed()
"""


def test_killed_program_that_closes_descriptors(modern_launch):
    launch = modern_launch
    script = launch.write("program.py", KILLED)
    assert measured(launch, script).returncode == -signal.SIGKILL
    first, rows = functions(launch)["killed"]
    assert growth(rows, "rss_growth_bytes", first) == growth(rows, "heap_growth_bytes", first) == {3: (1, 40)}
    done = launch.run([launch.sonde, "report", launch.folder / "out.sonde"])
    assert re.search(rb"^ +9 +1 +os\.kill", done.stdout, re.M), done.stdout.decode()


def test_csv(modern_launch):
    launch = modern_launch
    script = launch.write("program.py", PROGRAM)
    measured(launch, script)
    done = launch.run([launch.sonde, "report", "--csv", launch.folder / "out.sonde"])
    head, *rows = [line.split(",") for line in done.stdout.decode().splitlines()]
    assert head[:4] == ["line", "hits", "rss_growth_bytes", "rss_bytes"]
    sums = {}
    for row in rows:
        sums[row[-1]] = sums.get(row[-1], 0) + round(int(row[2]) / MIB)
    assert sums["recursive"] == 160 and sums["loop"] == 0
    report = [launch.sonde, "report", "--precision"]
    done = launch.run([*report, "0", "--restrict", "loop", launch.folder / "out.sonde"])
    assert re.search(rb"^ +\d+ +\d+ MiB +320 MiB +4 .* block = bytearray", done.stdout, re.M)
    assert b"adds " in done.stdout and b"recursive" not in done.stdout.split(b"Filename")[1]
    assert launch.run([*report, "99", launch.folder / "out.sonde"]).returncode == 2
    done = launch.run([launch.sonde, "report", launch.folder / "out.sonde"])
    firsts = [int(number) for number in re.findall(rb"^=+\n +(\d+) ", done.stdout, re.M)]
    assert len(firsts) > 5 and firsts == sorted(firsts), "functions stand as in their file"
