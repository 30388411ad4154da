"""sonde graph beside gprof2dot: the same functions, calls, percentages and counts, from the same files.

Where sonde differs on purpose, it is said here once: names of frozen modules keep their dots, an __init__
is named with its package, and an edge counts all calls, where gprof2dot leaves out those in recursion.
"""

import marshal
import os
import re
import shutil
import subprocess
import textwrap

import interpreters
import pytest

TIMES = "\u00d7"

PROGRAMS = {
    "recursion": """
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n != 0 and even(n - 1)
        def ackermann(m, n):
            if m == 0: return n + 1
            return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))
        def main():
            fib(15), ackermann(2, 20)
            for _ in range(20): even(200)
        main()
        """,
    "library": """
        import argparse, ast, decimal, inspect, json, tokenize, unittest, xml.dom.minidom
        tree = xml.dom.minidom.parseString("<a>" + "<b c='1'>x</b>" * 200 + "</a>")
        tree.toprettyxml(), json.loads(json.dumps({"a": [1, 2, 3] * 200})), ast.dump(ast.parse(PROGRAM))
        """.replace("PROGRAM", "open(argparse.__file__).read()"),
    "callbacks": """
        import functools, re
        class Table:
            def __init__(self): self.rows = list(range(500))
            def key(self, row): return -row
            def sort(self): return sorted(self.rows, key=self.key)
            def __iter__(self): yield from self.rows
        @functools.lru_cache(None)
        def cached(n): return sum(i * i for i in range(n))
        for _ in range(20):
            table = Table()
            table.sort(), [cached(n % 50) for n in table]
            re.sub("a", lambda m: m.group(0) * 2, "banana" * 20)
        """,
    "failing": """
        def deeper(n):
            if n == 0: raise ValueError(n)
            try: deeper(n - 1)
            finally: str(n)
        for _ in range(50):
            try: deeper(30)
            except ValueError: pass
        """,
}


def run(*words, status=0, environment=None):
    options = {"stdin": subprocess.DEVNULL, "env": {**os.environ, **(environment or {})}}
    done = subprocess.run([str(word) for word in words], capture_output=True, **options)
    assert done.returncode == status, done.stderr.decode()
    return done


def graph(*words, **options):
    return run(interpreters.sonde_program(), "graph", *words, **options).stdout.decode()


def fail(*words, **options):
    return run(interpreters.sonde_program(), "graph", *words, status=2, **options)


@pytest.fixture(scope="session")
def gprof2dot(modern):
    """The real program, in an environment that is kept between runs."""
    python, reason = modern.peer_environment(["gprof2dot"])
    if not python:
        pytest.skip(reason)
    return lambda *words: run(python, "-m", "gprof2dot", "-f", "pstats", *words).stdout.decode()


def record(interpreter, name, folder):
    """cProfile's file of one of the programs."""
    script, profile = folder / (name + ".py"), folder / (name + ".prof")
    script.write_text(textwrap.dedent(PROGRAMS[name]))
    command = [interpreter.executable, "-m", "cProfile", "-o", profile, script]
    run(*interpreter.enter(command, folder))
    return profile


@pytest.fixture(scope="session")
def profiles(modern, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiles")
    return {name: record(modern, name, folder) for name in PROGRAMS}


LINE = re.compile(r"\t(\d+)(?: -> (\d+))? \[(.*)\];")
ATTRIBUTE = re.compile(r'(?:^|, )(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^ ,]*))')
ESCAPE = re.compile(r"\\(.)")


def text_of(quoted):
    plain = ESCAPE.sub(lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), quoted)
    return plain.replace("&amp;", "&")


def parse(dot):
    """{(name, file): label lines}, {(caller, callee): label lines} of dot text with one statement a line."""
    nodes, edges, names = {}, {}, {}
    for line in dot.splitlines():
        match = LINE.fullmatch(line)
        if not match:
            continue
        first, second, rest = match.groups()
        values = {name: text_of(quoted or bare) for name, quoted, bare in ATTRIBUTE.findall(rest)}
        lines = [part.strip() for part in values["label"].split("\n")]
        if second:
            edges[first, second] = lines
        else:
            file = re.sub(r":\d+$", "", values["tooltip"].split("\n")[0])
            names[first] = (lines[0], file)
            nodes[names[first]] = lines[1:]
    return nodes, {(names[first], names[second]): lines for (first, second), lines in edges.items()}


def as_gprof2dot(key):
    """The name that gprof2dot gives."""
    name, file = key
    name = re.sub(r"^(<[^:]*)\.[^:.]*>:", r"\1:", name)  # the last dot of a frozen module taken for a suffix
    return re.sub(r"^[^/:<]*/__init__:", "__init__:", name), file


def percent(text):
    return float(text.strip("()%"))


def callers_of(profile):
    """{(caller, callee): (calls, calls that were not recursive)} from the file itself."""
    found = {}
    for callee, row in marshal.loads(profile.read_bytes()).items():
        for caller, counts in row[4].items():
            found[caller, callee] = counts[:2]
    return found


def name_of(key):
    file, line, function = key
    return f"{os.path.basename(os.path.splitext(file)[0])}:{line}:{function}", file


def assert_same(ours, theirs, profile):
    our_nodes, our_edges = parse(ours)
    their_nodes, their_edges = parse(theirs)
    assert {as_gprof2dot(key) for key in our_nodes} == set(their_nodes)
    for key, (total, self_time, calls) in our_nodes.items():
        expected = their_nodes[as_gprof2dot(key)]
        assert percent(total) == pytest.approx(percent(expected[0]), abs=0.011), key
        assert percent(self_time) == pytest.approx(percent(expected[1]), abs=0.011), key
        assert calls == expected[2], key
    plain = {(as_gprof2dot(a), as_gprof2dot(b)): lines for (a, b), lines in our_edges.items()}
    assert set(plain) == set(their_edges)
    counts = {(name_of(a), name_of(b)): pair for (a, b), pair in callers_of(profile).items()}
    for key, (total, calls) in plain.items():
        assert percent(total) == pytest.approx(percent(their_edges[key][0]), abs=0.011), key
        all_calls, plain_calls = counts[key]
        assert calls == f"{all_calls}{TIMES}", key
        assert their_edges[key][1] == f"{plain_calls}{TIMES}", key


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("thresholds", [(0, 0), (0.5, 0.1), (5, 2), (30, 10)], ids=str)
def test_same_graph(gprof2dot, profiles, name, thresholds):
    words = ["-n", thresholds[0], "-e", thresholds[1], profiles[name]]
    assert_same(graph(*words), gprof2dot(*words), profiles[name])


SELECTIONS = {
    "recursion": [["-z", "*:main"], ["-l", "*:odd"], ["-z", "*:even", "-l", "*:odd"]],
    "library": [["-z", "minidom:*:parseString"], ["-l", "*isinstance*"], ["-z", "[!~]*:dumps"]],
    "callbacks": [["-z", "*:sort", "--depth", "1"], ["-l", "*:key", "--depth", "2"], ["-p", "/"]],
    "failing": [["-z", "failing:?:deeper"], ["-l", "*ValueError*", "-l", "*deeper"]],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_selection(gprof2dot, profiles, name):
    for selection in SELECTIONS[name]:
        words = ["-n", 0, "-e", 0, *selection, profiles[name]]
        assert_same(graph(*words), gprof2dot(*words), profiles[name])


def test_same_graph_of_every_python(gprof2dot, python, tmp_path):
    profile = record(python, "recursion", tmp_path)
    assert_same(graph(profile), gprof2dot(profile), profile)


def test_recording_has_exact_edges(modern_launch):
    launch = modern_launch
    launch.write("recursion.py", PROGRAMS["recursion"])
    done = launch.traced("recursion.py")
    assert done.returncode == 0, done.stderr
    table = launch.recording().table()
    nodes, edges = parse(graph("-n0", "-e0", launch.folder / "out.sonde"))
    own = {(name, lines[2]) for (name, file), lines in nodes.items() if file.endswith("recursion.py")}
    expected = {
        (f"recursion:{line}:{name}", f"{calls}{TIMES}")
        for (file, line, name), (calls, _) in table.functions.items()
        if file.endswith("recursion.py")
    }
    assert own == expected and ("recursion:1:fib", f"1973{TIMES}") in own
    assert {
        (caller, callee): lines[1]
        for ((caller, _), (callee, file)), lines in edges.items()
        if file.endswith("recursion.py")
    } == {
        (name_of(caller)[0], name_of(callee)[0]): f"{calls}{TIMES}"
        for (caller, callee), (calls, _) in table.edges.items()
        if callee[0].endswith("recursion.py")
    }


def test_several_files_are_summed(gprof2dot, profiles):
    files = [profiles["recursion"], profiles["failing"]]
    ours, theirs = graph(*files), gprof2dot(*files)
    assert {as_gprof2dot(key) for key in parse(ours)[0]} == set(parse(theirs)[0])
    assert {key: lines[2] for key, lines in parse(ours)[0].items()} == {
        key: parse(theirs)[0][as_gprof2dot(key)][2] for key in parse(ours)[0]
    }


def test_measures(gprof2dot, profiles):
    for measure in ("self-time", "self-time-percentage", "total-time", "total-time-percentage"):
        words = ["--node-label", measure, "--time-format", "%.6f", profiles["recursion"]]
        ours, theirs = parse(graph(*words))[0], parse(gprof2dot(*words))[0]
        for key, lines in ours.items():
            assert percent(lines[0]) == pytest.approx(percent(theirs[as_gprof2dot(key)][0]), abs=0.011)
            assert (lines[0][0] == "(") == (theirs[as_gprof2dot(key)][0][0] == "(")


def test_names_that_are_hard_to_quote(tmp_path):
    names = ['say "hi"', "back\\slash", "two\nlines", "<b>&amp;</b>", "tab\there", "caf\u00e9 \u2192"]
    names += ["x" * 10000, '"' * 10000, "\u00e9" * 10000, "\\N\\G\\l", "bell\a", ""]
    rows = {("/tmp/a.py", line, name): (1, 1, 1.0, 1.0, {}) for line, name in enumerate(names)}
    profile = tmp_path / "hard.prof"
    profile.write_bytes(marshal.dumps(rows))
    nodes = parse(graph(profile))[0]
    shown = {int(name.split(":")[1]): name.split(":", 2)[2] for name, _ in nodes}
    assert shown[0] == names[0] and shown[1] == names[1] and shown[3] == names[3] and shown[5] == names[5]
    assert shown[2] == "two\\nlines" and shown[4] == "tab\\there" and shown[10] == "bell\\x07"
    assert len("a:6:" + shown[6]) == 4096 and shown[6].endswith("x\u2026")
    assert shown[7].endswith('"\u2026') and shown[8].endswith("\u00e9\u2026") and shown[9] == names[9]
    if not shutil.which("dot"):
        pytest.skip("graphviz is not installed")
    svg = graph("--format", "svg", profile)
    shown = ["say &quot;hi&quot;", "back\\slash", "two\\nlines", "&lt;b&gt;&amp;amp;&lt;/b&gt;", "\\N\\G\\l"]
    for text in shown:
        assert f":{text}<" in svg, text


@pytest.mark.skipif(not shutil.which("dot"), reason="graphviz is not installed")
def test_pictures(profiles, tmp_path):
    for suffix, start in {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph"}.items():
        picture = tmp_path / f"picture.{suffix}"
        graph(profiles["recursion"], "-o", picture)
        assert picture.read_bytes().startswith(start)
    assert sorted(os.listdir(tmp_path)) == ["picture.dot", "picture.pdf", "picture.png", "picture.svg"]
    text = (tmp_path / "picture.svg").read_text()
    assert "recursion.prof: " in text and ":ackermann" in text


def fake_dot(folder, script):
    program = folder / "bin/dot"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return {"PATH": str(program.parent)}


FAILURES = {
    "complains": ("/bin/cat >/dev/null; echo 'syntax error in line 3' >&2; exit 1", "syntax error in line 3"),
    "stops reading": ("exec 0<&-; echo 'no room' >&2; exit 3", "failed with code 3: no room"),
    "dies": ("kill -9 $$", "signal 9"),
    "gives nothing": ("/bin/cat >/dev/null", "no picture"),
    "talks much": ("/bin/cat >&2; exit 1", "digraph sonde"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_dot_fails(profiles, tmp_path, case):
    script, message = FAILURES[case]
    picture = tmp_path / "picture.svg"
    picture.write_text("old")
    words = ["-n0", "-e0", profiles["library"], "-o", picture]
    done = fail(*words, environment=fake_dot(tmp_path, script))
    assert message in done.stderr.decode()
    assert picture.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["bin", "picture.svg"]


def test_dot_is_missing(profiles, tmp_path):
    picture = tmp_path / "x.svg"
    done = fail(profiles["recursion"], "-o", picture, environment={"PATH": str(tmp_path)})
    assert "install" in done.stderr.decode() and "graphviz" in done.stderr.decode()
    assert not os.listdir(tmp_path)


MISTAKES = {
    "unknown suffix": (["-o", "picture.xyz"], "picture.xyz"),
    "unwritable": (["-o", "/nonexistent/folder/x.dot"], "/nonexistent/folder/x.dot"),
    "no such root": (["-z", "nowhere"], "nowhere"),
    "no such leaf": (["-l", "*:nowhere"], "nowhere"),
    "skew": (["--skew", "0"], "--skew"),
    "measure": (["--node-label", "weight"], "self-time-percentage"),
    "format string": (["--time-format", "%s"], "%s"),
    "two numbers": (["--time-format", "%f%f"], "%f%f"),
    "no number": (["--time-format", "x"], "one number"),
    "star": (["--time-format", "%*f"], "%*f"),
    "colours": (["-c", "rainbow"], "rainbow"),
    "one file to compare": (["--compare"], "--compare"),
    "other format": (["-f", "callgrind"], "callgrind"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(profiles, case):
    words, message = MISTAKES[case]
    done = fail(*words, profiles["recursion"])
    assert message in done.stderr.decode() and not done.stdout


def test_bad_files(tmp_path):
    for content in (b"", b"hello", marshal.dumps({}), b"{" * 100):
        file = tmp_path / "bad.prof"
        file.write_bytes(content)
        assert "bad.prof" in fail(file).stderr.decode()


def test_list_functions(profiles):
    names = graph("-n0", "-e0", "--list-functions", "+", profiles["recursion"]).splitlines()
    nodes = parse(graph("-n0", "-e0", profiles["recursion"]))[0]
    assert sorted(names) == sorted(name for name, _ in nodes)
    assert graph("-n0", "--list-functions", "*:ackermann", profiles["recursion"]) == "recursion:5:ackermann\n"
    (detail,) = graph("-n0", "--list-functions", "%*:fib", profiles["recursion"]).splitlines()
    assert "1973 calls" in detail and "recursion.py" in detail


def test_own_name_selects(profiles):
    whole = graph("-z", "*:main", "-n0", profiles["recursion"])
    assert graph("-z", "main", "-n0", profiles["recursion"]) == whole


def test_recursion_is_said(profiles):
    dot = graph("-n0", "-e0", profiles["recursion"])
    assert "in a cycle of 2 functions" in dot
    dashed = [line for line in dot.splitlines() if "style=dashed" in line]
    assert any("recursion:2:fib \u2192 recursion:2:fib" in line for line in dashed)
    assert any("recursion:4:odd \u2192 recursion:3:even" in line for line in dashed)


def test_depth_from_the_start(tmp_path):
    rows, caller = {}, None
    for depth in range(10):
        key = ("a.py", depth, f"f{depth}")
        rows[key] = (1, 1, 0.1, 1 - depth / 10, {caller: (1, 1, 0.1, 1 - depth / 10)} if caller else {})
        caller = key
    profile = tmp_path / "chain.prof"
    profile.write_bytes(marshal.dumps(rows))
    assert len(parse(graph("--depth", 3, profile))[0]) == 4


def test_ten_thousand_functions_in_a_circle(tmp_path):
    count = 10000
    keys = [("a.py", line, f"f{line}") for line in range(count)]
    times = (1, 1, 0.001, 0.001)
    rows = {key: (*times, {keys[place - 1]: times}) for place, key in enumerate(keys)}
    profile = tmp_path / "circle.prof"
    profile.write_bytes(marshal.dumps(rows))
    dot = graph("-n0", "-e0", profile)
    nodes, edges = parse(dot)
    assert len(nodes) == count and len(edges) == count
    assert f"in a cycle of {count} functions that takes 100.00%" in dot


def two_runs(folder):
    def rows(seconds):
        main = ("m.py", 1, "main")
        under = {
            ("m.py", line, name): (1, 1, time, time, {main: (1, 1, time, time)})
            for (line, name), time in seconds.items()
        }
        return {main: (1, 1, 0.0, 10.0, {}), **under}

    before = {(10, "slower"): 2.0, (20, "faster"): 4.0, (30, "same"): 3.0, (40, "gone"): 1.0}
    after = {(10, "slower"): 4.0, (25, "faster"): 2.0, (30, "same"): 3.0, (50, "new"): 1.0}
    for name, seconds in {"before": before, "after": after}.items():
        (folder / (name + ".prof")).write_bytes(marshal.dumps(rows(seconds)))
    return folder / "before.prof", folder / "after.prof"


def test_compare(tmp_path):
    nodes, edges = parse(graph("--compare", *two_runs(tmp_path)))
    labels = {name.split(":")[2]: lines for (name, _), lines in nodes.items()}
    assert labels["slower"] == ["20.00% +20.000%", "(20.00%) +20.000%", f"1{TIMES} / 1{TIMES}"]
    assert labels["faster"] == ["40.00% -20.000%", "(40.00%) -20.000%", f"1{TIMES} / 1{TIMES}"]
    assert labels["same"] == ["30.00%", "(30.00%)", f"1{TIMES} / 1{TIMES}"]
    assert labels["gone"][0] == "gone" and labels["new"][0] == "new"
    assert sorted(lines[0] for lines in edges.values()) == [
        "10.00%",
        "10.00%",
        "20.00% / 40.00%",
        "30.00% / 30.00%",
        "40.00% / 20.00%",
    ]


def test_compare_options(tmp_path):
    files = two_runs(tmp_path)
    slower = graph("--compare", "--compare-only-slower", *files)
    assert "20.00% +20" in slower and "40.00% -20" not in slower
    faster = graph("--compare", "--compare-only-faster", *files)
    assert "\\n20.00% +20" not in faster and "\\n40.00% -20" in faster
    assert "\\n20.00% +20" not in graph("--compare", "--compare-tolerance", 25, *files)
    colored = graph("--compare", "--compare-color-by-difference", *files)
    colors = dict(re.findall(r'label="m:\d+:(\w+)[^"]*", color="(#\w+)"', colored))
    assert colors["slower"] == colors["faster"] != colors["same"] == colors["main"]
