"""``pytest --sonde``: what each test does is recorded, without pytest's own part in it.

Calls are counted by this process itself (``sonde.Profile``), and so are the allocations of each test
(``sonde.memory``). All else needs a recorder around the program: then pytest begins anew, for example under
``sonde record --partial``. In every recording a test is a frame that is called what pytest calls the test.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

LISTED = 3  # functions of a test, in the summary
BEGUN_ANEW = "SONDE_PYTEST"  # in the environment until pytest has seen it: the recording
PATIENCE_S = 10  # for the recorder to write what it has
LIBRARY = re.compile(re.escape(os.path.dirname(os.__file__) + os.sep) + "|<frozen|.*/(site|dist)-packages/")

# What the summary says of a test: an amount that it is sorted by, and lines.
Row = collections.namedtuple("Row", "amount test details")


def call(function):
    __tracebackhide__ = True
    return function()


def frame_of(item):
    """A function that calls another, and looks in a stack as if it were the test."""
    path, line, _ = item.location
    # In the line below the test's first, lest pytest take the frame for the test when it shows a failure.
    code = call.__code__.replace(
        co_filename=str(item.config.rootpath / path), co_firstlineno=(line or 0) + 2, co_name=item.nodeid
    )
    if sys.version_info >= (3, 11):
        code = code.replace(co_qualname=item.nodeid)
    return type(call)(code, call.__globals__)


def words_of(name, file, line):
    """A function and where it is; C functions and the garbage collector are in no file."""
    if file in ("", "~"):
        return name
    return f"{name} ({os.path.join(*pathlib.Path(file).parts[-2:])}:{line})"


# ---- calls ----


class Calls:
    title = "slowest tests, and their functions by own time"
    unit = "s"
    is_split_at_end = False  # recordings of single tests are written as these end

    def __init__(self, config):
        from sonde import Profile

        self.profile = Profile(library=config.getoption("sonde_library"))
        self.codes = {}  # test → its frame's code, which must not be mistaken for another's

    def run(self, item, function):
        __tracebackhide__ = True
        frame = frame_of(item)
        self.codes[item.nodeid] = frame.__code__
        self.profile.enable()
        try:
            return frame(function)
        finally:
            self.profile.disable()

    def finish(self, path):
        """Writes what was recorded since the last time. The rows of its tests."""
        from sonde import read

        recording = self.profile.snapshot()
        path.write_bytes(recording)
        self.profile.clear()
        rows = rows_of_calls(read(recording), self.codes)
        self.codes.clear()
        return rows


def find_tests(tables, tests):
    """The codes of frames that are tests, and for each node the one that it lies in; 0 = none."""
    strings, codes, nodes = tables["strings"], tables["codes"], tables["nodes"]
    found = {code for code, name in enumerate(codes["name"]) if strings[name] in tests}
    test_of = [0] * len(nodes["code"])
    for node, (code, parent) in enumerate(zip(nodes["code"], nodes["parent"])):
        test_of[node] = code if code in found else test_of[parent]
    return found, test_of


def name_of(tables, code, line=0):
    strings, codes = tables["strings"], tables["codes"]
    name = strings[codes["qualname"][code]] or strings[codes["name"][code]]
    file = strings[codes["file"][code]]
    return words_of(name, file, line or codes["line"][code])


def rows_of_calls(tables, tests):
    nodes = tables["nodes"]
    found, test_of = find_tests(tables, tests)
    own = {test: collections.Counter() for test in found}
    counts = collections.Counter()  # calls of a function in a test
    for node, calls, self_ns in zip(*(tables["calls"][name] for name in ("node", "calls", "self_ns"))):
        if test_of[node]:
            own[test_of[node]][nodes["code"][node]] += self_ns
            counts[test_of[node], nodes["code"][node]] += calls
    return [row_of_calls(tables, test, own[test], counts) for test in own]


def row_of_calls(tables, test, own, counts):
    del own[test]  # what pytest itself does about it
    total_ns = sum(own.values())
    details = [
        f"{ns / max(total_ns, 1):6.1%} {counts[test, code]:9,} calls  {name_of(tables, code)}"
        for code, ns in own.most_common(LISTED)
    ]
    return Row(total_ns / 1e9, tables["strings"][tables["codes"]["name"][test]], details)


# ---- allocations ----


class Allocations:
    title = "tests that allocated most at their peak, and where"
    unit = "MiB"
    is_split_at_end = False

    def __init__(self, config):
        self.rows = []

    def run(self, item, function):
        __tracebackhide__ = True
        from sonde import Profiler, memory

        self.region = memory()
        try:
            with self.region, Profiler():
                return frame_of(item)(function)
        finally:
            self.rows.append(row_of_allocations(self.region, item.nodeid))

    def finish(self, path):
        if path:
            path.write_bytes(self.region.snapshot())
        rows, self.rows = self.rows, []
        return rows


def row_of_allocations(region, test):
    details = []
    for stack in region.stacks("peak")[:LISTED]:
        own = [frame for frame in stack.frames if frame.filename != __file__]
        where = " < ".join(words_of(*frame) for frame in own[:2])
        details.append(f"{stack.bytes / (1 << 20):8.1f} MiB  {where or '(no Python frame)'}")
    return Row(region.peak_bytes / (1 << 20), test, details)


# ---- samples and lines ----


class Samples:
    """The recorder around pytest takes them. Its file is looked at when the last test has ended."""

    title = "slowest tests, and their functions by samples"
    unit = "s"
    is_split_at_end = True

    def __init__(self, config):
        self.library = config.getoption("sonde_library")
        self.recording = None
        self.tests = set()

    def run(self, item, function):
        __tracebackhide__ = True
        from sonde import Profiler

        self.tests.add(item.nodeid)
        with Profiler():
            return frame_of(item)(function)

    def finish(self, path):
        from sonde import read
        from sonde._inside import flush

        if not self.recording or not flush(PATIENCE_S):
            return []
        try:
            tables = read(self.recording)
        except (OSError, ValueError):  # another format was asked for, which is made in the end
            return []
        return self.rows_of(tables)

    def split(self, path_of):
        """A recording for each test, of what was seen while it ran. Their paths."""
        paths = {test: path_of(test) for test in sorted(self.tests)} if self.recording else {}
        for test, path in paths.items():
            words = ["export", "--quiet", "--region", test, "-o", str(path), self.recording]
            subprocess.run([sonde_program(), *words], stderr=subprocess.DEVNULL, check=False)
        return [path for path in paths.values() if path.exists()]

    def rows_of(self, tables):
        samples, nodes = tables["samples"], tables["nodes"]
        found, test_of = find_tests(tables, self.tests)
        shown = shown_nodes(tables, found, self.library)
        weights = {test: collections.Counter() for test in found}
        counts = collections.Counter()
        for node, weight_ns, count in zip(samples["node"], samples["weight_ns"], samples["count"]):
            test, place = test_of[node], self.place_of(nodes, shown[node])
            if test and place[0] != test:  # what pytest itself does about it
                weights[test][place] += weight_ns
                counts[test, place] += count
        return [self.row_of(tables, test, weights[test], counts) for test in found]

    def row_of(self, tables, test, weights, counts):
        total_ns = sum(weights.values())
        details = [
            f"{ns / max(total_ns, 1):6.1%} {self.count_of(tables, place, counts[test, place])}"
            f"  {name_of(tables, *place)}"
            for place, ns in weights.most_common(LISTED)
        ]
        return Row(total_ns / 1e9, tables["strings"][tables["codes"]["name"][test]], details)

    @staticmethod
    def place_of(nodes, node):
        """A function, and a line of it or 0."""
        return nodes["code"][node], 0

    def count_of(self, tables, place, samples):
        return f"{samples:9,} samples"


class Lines(Samples):
    """Lines are timed over all tests; samples tell which of them a test was in."""

    title = "slowest tests, and their lines by samples, with the hits of all tests"

    def rows_of(self, tables):
        lines, self.hits = tables["lines"], collections.Counter()
        for code, line, hits in zip(lines["code"], lines["line"], lines["hits"]):
            self.hits[source_of(tables, code, line)] += hits
        return super().rows_of(tables)

    @staticmethod
    def place_of(nodes, node):
        return nodes["code"][node], nodes["line"][node]

    def count_of(self, tables, place, samples):
        hits = self.hits[source_of(tables, *place)]
        return f"{hits:9,} hits" if hits else " " * 14


class OwnLines:
    """Of a test alone, by this process itself: the lines of all functions in the modules of the project."""

    title = "slowest tests, and their lines by own time"
    unit = "s"
    is_split_at_end = False

    def __init__(self, config):
        pass

    def run(self, item, function):
        __tracebackhide__ = True
        from sonde import LineProfiler

        self.test, self.profiler = item.nodeid, LineProfiler()
        for module in own_modules(item.config.rootpath):
            self.profiler.add_module(module, scoping_policy="children")
        with self.profiler:
            return frame_of(item)(function)

    def finish(self, path):
        from sonde import read

        recording = self.profiler.snapshot()
        path.write_bytes(recording)
        return [row_of_lines(read(recording), self.test)]


def own_modules(folder):
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith(str(folder) + os.sep) and not LIBRARY.match(file):
            yield module


def row_of_lines(tables, test):
    lines = tables["lines"]
    rows = sorted(zip(lines["self_ns"], lines["hits"], lines["code"], lines["line"]), reverse=True)
    total_ns = sum(lines["self_ns"])
    details = [
        f"{ns / max(total_ns, 1):6.1%} {hits:9,} hits  {name_of(tables, code, line)}"
        for ns, hits, code, line in rows[:LISTED]
    ]
    return Row(total_ns / 1e9, test, details)


def source_of(tables, code, line):
    """The same of whoever has met the function: samples do not know its module."""
    return *(tables["codes"][name][code] for name in ("file", "qualname", "line")), line


def shown_nodes(tables, tests, library):
    """By node, the innermost one around it that is not a library's: whose time it is."""
    nodes = tables["nodes"]
    shown = list(range(len(nodes["code"])))
    files = [tables["strings"][file] for file in tables["codes"]["file"]]
    hidden = [not library and bool(LIBRARY.match(file)) for file in files]
    for node, (code, parent) in enumerate(zip(nodes["code"], nodes["parent"])):
        if hidden[code] and code not in tests:
            shown[node] = shown[parent]
    return shown


# ---- beginning ----


def own_command():
    """The command line of this pytest, or None when pytest is a part of another program."""
    given = getattr(sys, "orig_argv", [])  # 3.10
    name = os.path.basename(sys.argv[0])
    if name == "__main__.py" and os.path.basename(os.path.dirname(sys.argv[0])) == "pytest":
        head = ["-m", "pytest"]
    elif name in {"pytest", "py.test"}:
        head = [sys.argv[0]]
    else:
        return None
    flags = subprocess._args_from_interpreter_flags()
    return [sys.executable, *(given[1:] or [*flags, *head, *sys.argv[1:]])]


def sonde_program():
    from sonde.__main__ import find_program

    return find_program(os.path.dirname(os.path.abspath(__file__)))


def choose_output(config):
    """The recording of all tests; where there is one for each, in their folder."""
    known, folder = config.known_args_namespace, config.invocation_params.dir
    if not known.sonde_per_test:
        return folder / (known.sonde_output or free_path(folder, made_up_name()))
    folder = folder / (known.sonde_output or made_up_name())
    folder.mkdir(parents=True, exist_ok=True)
    return free_path(folder, "all")


def begin_anew(config):
    """Becomes sonde, which runs this pytest again."""
    mode, command, program = config.known_args_namespace.sonde, own_command(), sonde_program()
    if not command or not program:
        why = "here it is a part of another" if program else "sonde's program was not found"
        raise pytest.UsageError(
            f"--sonde={mode} has sonde start pytest anew, which must be a program of its own; {why}. Use: "
            f"sonde {mode} --partial -m pytest, and the fixture sonde_profile"
        )
    output = str(choose_output(config))
    options = ["--partial", *(["--exact"] if mode == "mem" else []), "-o", output]
    environment = {**os.environ, BEGUN_ANEW: output}
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(program, ["sonde", mode, *options, "--", *command], environment)


def begin(config):
    """At pytest's start, before anything is captured."""
    known = config.known_args_namespace
    is_worker = "PYTEST_XDIST_WORKER" in os.environ  # whose first process was told already
    if os.environ.get(BEGUN_ANEW) or is_worker or known.help or known.version:
        return
    if known.sonde == "record" or (known.sonde != "trace" and not known.sonde_per_test):
        begin_anew(config)


def made_up_name():
    return "pytest." + time.strftime("%Y%m%d-%H%M%S")


def free_path(folder, name):
    """The recording of that name, or of one like it that is not taken."""
    path, number = folder / (name + ".sonde"), 1
    while path.exists():
        number += 1
        path = folder / f"{name}.{number}.sonde"
    return path


class Profiling:
    """The hooks, registered where --sonde is given."""

    def __init__(self, config):
        self.config = config
        self.per_test = config.getoption("sonde_per_test")
        lines = OwnLines if self.per_test else Lines
        kinds = {"trace": Calls, "mem": Allocations, "record": Samples, "line": lines}
        self.recorder = kinds[config.getoption("sonde")](config)
        self.in_process = isinstance(self.recorder, Calls)
        self.worker = getattr(config, "workerinput", {})  # of pytest-xdist
        made_up = self.worker.get("sonde_base") or made_up_name()
        self.recorder.recording = os.environ.pop(BEGUN_ANEW, None) or self.worker.get("sonde_recording")
        self.base = pathlib.Path(config.invocation_params.dir, config.getoption("sonde_output") or made_up)
        if self.per_test and self.recorder.recording:
            self.base = pathlib.Path(self.recorder.recording).parent
        self.has_run = False
        self.rows, self.written = [], []

    def path(self, test=None):
        """Where a recording goes: of one test, in a folder, or of all."""
        if test:
            self.base.mkdir(parents=True, exist_ok=True)
            return free_path(self.base, re.sub(r"[^\w.\[\]-]+", "_", test)[-150:])
        name = self.base.stem if self.base.suffix == ".sonde" else self.base.name
        if self.worker:
            name += "." + self.worker["workerid"]
        if self.config.getoption("sonde_output"):
            return self.base.with_name(name + ".sonde")
        return free_path(self.base.parent, name)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        run, self.has_run = item.runtest, True
        item.runtest = lambda: self.recorder.run(item, run)
        yield
        del item.runtest
        if self.per_test and not self.recorder.is_split_at_end:
            self.finish(self.path(item.nodeid))

    def finish(self, path):
        self.rows += self.recorder.finish(path)
        self.rows = sorted(self.rows, reverse=True)[: self.config.getoption("sonde_slowest")]
        if path:
            self.add_written(path)

    def add_written(self, path):
        self.written.append(os.path.relpath(path, self.config.invocation_params.dir))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self):
        if self.has_run and (not self.per_test or self.recorder.is_split_at_end):
            self.finish(self.path() if self.in_process else None)
        if self.has_run and self.per_test and self.recorder.is_split_at_end:
            for path in self.recorder.split(self.path):
                self.add_written(path)
        if self.worker:
            self.config.workeroutput["sonde"] = [[list(row) for row in self.rows], self.written]

    # In the process that distributes tests to others:

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["sonde_base"] = self.base.name
        node.workerinput["sonde_recording"] = self.recorder.recording

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        rows, written = getattr(node, "workeroutput", {}).get("sonde", ((), ()))
        self.rows = sorted(self.rows + [Row(*row) for row in rows], reverse=True)
        self.rows = self.rows[: self.config.getoption("sonde_slowest")]
        self.written += written

    def pytest_terminal_summary(self, terminalreporter):
        if self.rows:
            terminalreporter.section("sonde: " + self.recorder.title)
        for row in self.rows:
            terminalreporter.write_line(f"{row.amount:8.3f} {self.recorder.unit}  {row.test}")
            for line in row.details:
                terminalreporter.write_line("            " + line)
        if self.per_test and self.written:
            folder = os.path.relpath(self.base, self.config.invocation_params.dir)
            terminalreporter.write_line(f"sonde: {len(self.written)} recordings in {folder}")
        elif self.written:
            terminalreporter.write_line("sonde: look at it with: sonde report " + " ".join(self.written))
