"""Without any target: the functions that take the time are found by samples, in the same run."""

import json
import shutil
import subprocess

import line_times
import pytest
from conftest import VERSIONS, Launcher

# Each runs for about a second; `hot` are the functions that take its time.
PROGRAMS = {
    "called often": (
        {"leaf", "other"},
        """
        def cold():
            return 1


        def leaf(count):
            total = 0
            for i in range(count):
                total += i
            return total


        def other(count):
            found = []
            for i in range(count):
                found.append(i)
            return found


        def main():
            while time.monotonic() < end:
                leaf(3000)
                other(3000)
                cold()


        main()
        """,
    ),
    "one long call": (
        {"spin"},
        """
        def spin():
            total = 0
            while time.monotonic() < end:
                total += 1
                total ^= 3
            return total


        spin()
        """,
    ),
    "time in the library": (
        {"parse"},
        """
        import json.decoder


        def parse(text):
            decoder = json.decoder.JSONDecoder()
            decoder.parse_array = json.decoder.JSONArray
            decoder.scan_once = json.scanner.py_make_scanner(decoder)
            return decoder.scan_once(text, 0)


        text = "[" + ", ".join(["1"] * 500) + "]"
        while time.monotonic() < end:
            parse(text)
        """,
    ),
    "methods": (
        {"push"},
        """
        class Stack:
            def __init__(self):
                self.values = []

            def push(self, count):
                for i in range(count):
                    self.values.append(i)
                self.values.clear()


        stack = Stack()
        while time.monotonic() < end:
            stack.push(2000)
        """,
    ),
    "generators": (
        {"produce", "consume"},
        """
        def produce(count):
            for i in range(count):
                yield i * 2


        def consume(count):
            total = 0
            for value in produce(count):
                total += value
            return total


        while time.monotonic() < end:
            consume(3000)
        """,
    ),
}
HEAD = "import sys\nimport time\n\nend = time.monotonic() + float(sys.argv[1])\n\n\n"
ON_EVERY_PYTHON = ["called often", "one long call"]


def shares(rows):
    """What share of the hits of its function each line has, of those that have many."""
    all_hits = sum(row["hits"] for row in rows.values())
    return {line: row["hits"] / all_hits for line, row in rows.items() if row["hits"] > 0.02 * all_hits}


def check_hot(launch, name):
    hot, text = PROGRAMS[name]
    path = launch.write("program.py", text)
    path.write_text(HEAD + path.read_text())
    done = line_times.timed(launch, "program.py", "1")
    assert done.returncode == 0, done.stderr.decode()
    found = line_times.by_name(launch)
    assert hot <= set(found)
    threads = json.loads(launch.run([launch.sonde, "report", "--json", "out.sonde"]).stdout)["threads"]
    assert len(threads) == 1, "samples and lines are of one thread"
    assert "cold" not in found
    line_times.timed(launch, "program.py", "0.2", output="named.sonde", options=["-f", "program.py"])
    asked_for = line_times.by_name(launch, "named.sonde")
    for function in hot:
        assert shares(found[function]) == pytest.approx(shares(asked_for[function]), rel=0.02), function


@pytest.mark.parametrize("name", ON_EVERY_PYTHON)
def test_hot_functions(launch, name):
    check_hot(launch, name)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - set(ON_EVERY_PYTHON)))
def test_hot_functions_of_other_kinds(modern_launch, name):
    check_hot(modern_launch, name)


NAMED = """
    def leaf():
        total = 0
        for i in range(3000):
            total += i


    @profile
    def named():
        return leaf()


    while time.monotonic() < end:
        named()
"""


def test_what_the_program_names_is_all(modern_launch):
    path = modern_launch.write("program.py", NAMED)
    path.write_text(HEAD + path.read_text())
    done = line_times.timed(modern_launch, "program.py", "0.5")
    assert done.returncode == 0, done.stderr.decode()
    assert set(line_times.by_name(modern_launch)) == {"named"}


def test_no_line_and_why(modern_launch):
    """There are samples, but too few of them."""
    path = modern_launch.write("program.py", "while time.monotonic() < end: pass")
    path.write_text(HEAD + path.read_text())
    done = line_times.timed(modern_launch, "program.py", "0.02", options=["-v"])
    assert done.returncode == 0, done.stderr.decode()
    assert b"No line was timed: no function with @profile was ever called" in done.stdout


LATE = """
    #include <time.h>
    void late(void)
    {
        for (clock_t end = clock() + CLOCKS_PER_SEC / 4; clock() < end;)
            ;
    }
"""
ENDS = """
    import ctypes, sys, time
    assert ctypes.pythonapi.Py_AtExit(ctypes.CDLL(sys.argv[2]).late) == 0
    def hot(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            sum(range(100))
    hot(float(sys.argv[1]))
"""


def test_a_function_is_found_when_the_interpreter_is_gone(sonde, tmp_path):
    """As in a program of MPI, which mpi4py ends that late: later Pythons take what is asked of them then."""
    older = [each for each in VERSIONS if each.numbers < (3, 12) and not each.root]
    if not older or not shutil.which("gcc"):
        pytest.skip("no gcc, or no Python before 3.12")
    launch = Launcher(sonde, older[-1], tmp_path)
    source, library = launch.write("late.c", LATE), launch.folder / "late.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    launch.write("ends.py", ENDS)
    for seconds in ("0.015", "0.02", "0.025", "0.03") * 2:
        done = line_times.timed(launch, "ends.py", seconds, library)
        assert done.returncode == 0, (seconds, done)
