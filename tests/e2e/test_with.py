"""--with: several collectors in one run; each says what it says alone, by its own measure."""

import collections
import json
import pathlib
import pstats
import re
import shutil

import line_times
import pytest
from heaps import NOTHING, Heap, blocks, expected, mem
from samples import Grammar, Samples, record

__all__ = ["blocks"]  # a fixture

OTHERS = {
    "record": ("trace,line,mem", "sampled"),
    "trace": ("sample,line,mem", "time"),
    "line": ("sample,trace,mem", "time"),
    "mem": ("sample,trace,line", "peak"),
}
PROGRAM = """
import threading

kept = []


def leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total


def hold():
    kept.append(bytearray(3 << 20))


def work():
    for _ in range(300):
        leaf(20000)
    for _ in range(8):
        hold()


thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
"""
CALLS = {"leaf": 600, "hold": 16, "work": 2}


def together(launch, command, *options):
    """PROGRAM under `command` with all other collectors."""
    program = launch.write("program.py", PROGRAM)
    words = [
        launch.sonde,
        command,
        "--quiet",
        "-o",
        launch.folder / "out.sonde",
        "--with",
        OTHERS[command][0],
    ]
    run = launch.run([*words, *options, "--", launch.python.executable, program])
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b""), run.stderr.decode()


def report(launch, *options):
    run = launch.run([launch.sonde, "report", "--json", *options, launch.folder / "out.sonde"])
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def of_program(found, key):
    rows = [row for row in found["functions"] if row["file"].endswith("program.py")]
    return {row["name"]: row[key] for row in rows}


@pytest.mark.parametrize("command", OTHERS)
def test_all_in_one_recording(launch, command):
    together(launch, command)
    own = report(launch)
    assert (own["measure"], own["meta"]["mode"]) == (OTHERS[command][1], command)
    findings = " ".join(finding["text"] for finding in own["findings"])
    assert re.search(r"Line \d+ of leaf .* takes \d+% .* at the peak come from hold\(\)", findings), findings
    calls = of_program(report(launch, "--measure", "time"), "calls")
    assert {name: calls[name] for name in CALLS} == CALLS
    assert of_program(report(launch, "--measure", "sampled"), "total_samples")["leaf"] > 0
    held = of_program(report(launch, "--measure", "peak"), "self_bytes")["hold"]
    assert 16 * (3 << 20) * 0.6 < held < 16 * (3 << 20) * 1.4  # estimated: a block of 3 MiB is met as a rule
    lines = line_times.by_name(launch)["leaf"]
    assert lines[8]["hits"] == pytest.approx(lines[9]["hits"], rel=0.01) and lines[9]["hits"] > 20000


def test_lines_are_exact_beside_the_others(launch):
    together(launch, "line", "-f", "leaf", "-f", "hold")
    found = {name: line_times.hits(rows) for name, rows in line_times.by_name(launch).items()}
    assert found == {
        "leaf": {7: 600, 8: 600 * 20001, 9: 600 * 20000, 10: 600},
        "hold": {14: 16},
    }


def test_blocks_are_exact_beside_the_others(launch, blocks):
    shutil.copy(blocks, launch.folder)
    known = pathlib.Path(launch.program("allocating.py"))
    run = mem(launch, known, more=("--exact", "--with", "sample,trace"))
    assert (run.returncode, run.stdout) == (0, b"done\n"), run.stderr
    found, said = Heap(launch.folder / "out.sonde").by_line("allocating.py"), expected(known)
    assert {key: found.get(key, NOTHING) for key in said} == said


def test_stacks_are_legal_beside_the_others(launch):
    program = pathlib.Path(launch.program("grammar.py"))
    run = record(launch, program, "1", more=("--with", "trace,mem"))
    assert run.returncode == 0, run.stderr
    grammar, found = Grammar(program), Samples(launch.folder / "out.sonde")
    stacks = collections.Counter(row.stack for row in found.rows if any(map(grammar.is_own, row.stack)))
    assert len(stacks) > 10
    assert [stack for stack in stacks if not grammar.is_legal(stack)] == []


def test_a_part_of_the_time_is_told_by_samples(modern_launch):
    """Calls that were only added up cannot say when they were."""
    together(modern_launch, "trace")
    whole, part = report(modern_launch), report(modern_launch, "--range", "0,0.2")
    assert (whole["measure"], part["measure"]) == ("time", "sampled")
    assert 0 < part["total_samples"] < report(modern_launch, "--measure", "sampled")["total_samples"]


def test_files_of_calls_are_made_of_calls(modern_launch):
    together(modern_launch, "record")
    command = [modern_launch.sonde, "export", "-f", "pstats", "-o", modern_launch.folder / "x.prof"]
    assert modern_launch.run([*command, modern_launch.folder / "out.sonde"]).returncode == 0
    stats = pstats.Stats(str(modern_launch.folder / "x.prof")).stats
    assert {name: row[1] for (_, _, name), row in stats.items() if name in CALLS} == CALLS


def test_report_says_what_else_there_is(modern_launch):
    together(modern_launch, "record")
    run = modern_launch.run([modern_launch.sonde, "report", modern_launch.folder / "out.sonde"])
    said = b"In the same recording: calls (--measure time), memory (--measure peak)\n"
    assert said in run.stdout


def test_children_have_all_of_it_too(launch):
    launch.write(
        "parent.py",
        f"import multiprocessing\n{PROGRAM.split('thread =')[0]}\nif __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('fork').Process(target=work)\n"
        "    child.start()\n    child.join()\n",
    )
    command = [launch.sonde, "trace", "--quiet", "-o", launch.folder / "out.sonde", "--with", "sample,mem"]
    run = launch.run([*command, "--", launch.python.executable, "parent.py"])
    assert run.returncode == 0, run.stderr
    processes = {process["pid"]: process for process in report(launch)["processes"]}
    assert len(processes) == 2
    for measure, key in (("time", "calls"), ("sampled", "total_samples"), ("peak", "self_bytes")):
        child = report(launch, "--measure", measure, "--process", str(max(processes)))
        name = "hold" if measure == "peak" else "leaf"
        rows = {row["name"]: row[key] for row in child["functions"]}
        assert rows[name] > 0, measure


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["record", "--with", "trac", "x.py"],
            "there is no collector 'trac'; --with knows sample, trace, line, mem",
        ),
        (["record", "--with", "mem", "-p", "1"], "from a program's beginning on: not with --pid"),
        (["mem", "--rss", "--with", "trace", "x.py"], "--rss only looks at the program from outside"),
        (["mem", "--lines", "--with", "trace", "x.py"], "--with cannot go with --lines"),
    ],
)
def test_what_cannot_go_together_is_refused(modern_launch, words, said):
    modern_launch.write("x.py", "print(1)\n")
    run = modern_launch.run([modern_launch.sonde, *words])
    assert run.returncode == 2 and said in run.stderr.decode()
    assert run.stdout == b""


def test_the_commands_own_name_adds_nothing(modern_launch):
    """As in defaults of a project that name all of them."""
    modern_launch.write("x.py", "print(1)\n")
    command = [modern_launch.sonde, "record", "--quiet", "-o", modern_launch.folder / "o.sonde", "--with"]
    run = modern_launch.run([*command, "record,sample", "--", modern_launch.python.executable, "x.py"])
    assert (run.returncode, run.stdout, run.stderr) == (0, b"1\n", b"")
