"""``pytest --sonde``: what each test does is recorded, without pytest's own part in it.

Calls are counted by this process itself (``sonde.Profile``), and so are the allocations of each test
(``sonde.memory``). All else needs a recorder around the program: then pytest begins anew, for example under
``sonde record --partial``. In every recording a test is a frame that is called what pytest calls the test.
"""

import collections
import os
import pathlib
import re
import sys
import time

import pytest

LISTED = 3  # functions of a test, in the summary
BEGUN_ANEW = "SONDE_PYTEST"  # set in the environment until pytest has seen it

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


def place_of(file, line):
    return f"{os.path.join(*pathlib.Path(file).parts[-2:])}:{line}"


# ---- calls ----


class Calls:
    title = "slowest tests, and their functions by own time"
    unit = "s"

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


def rows_of_calls(tables, tests):
    strings, codes, nodes = tables["strings"], tables["codes"], tables["nodes"]
    own = {code: collections.Counter() for code, name in enumerate(codes["name"]) if strings[name] in tests}
    counts = collections.Counter()  # calls of a function in a test
    test_of = [0] * len(nodes["code"])  # which a node lies in
    for node, (code, parent) in enumerate(zip(nodes["code"], nodes["parent"])):
        test_of[node] = code if code in own else test_of[parent]
    for node, calls, self_ns in zip(*(tables["calls"][name] for name in ("node", "calls", "self_ns"))):
        if test_of[node]:
            own[test_of[node]][nodes["code"][node]] += self_ns
            counts[test_of[node], nodes["code"][node]] += calls
    return [row_of_calls(tables, test, own[test], counts) for test in own]


def row_of_calls(tables, test, own, counts):
    strings, codes = tables["strings"], tables["codes"]
    del own[test]  # what pytest itself does about it
    total_ns = sum(own.values())
    details = []
    for code, ns in own.most_common(LISTED):
        name = strings[codes["qualname"][code]] or strings[codes["name"][code]]
        file = strings[codes["file"][code]]
        if file != "~":
            name += f" ({place_of(file, codes['line'][code])})"
        details.append(f"{ns / max(total_ns, 1):6.1%} {counts[test, code]:9,} calls  {name}")
    return Row(total_ns / 1e9, strings[codes["name"][test]], details)


# ---- allocations ----


class Allocations:
    title = "tests that allocated most at their peak, and where"
    unit = "MiB"

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
        where = " < ".join(f"{frame.function} ({place_of(*frame[1:])})" for frame in own[:2])
        details.append(f"{stack.bytes / (1 << 20):8.1f} MiB  {where or '(no Python frame)'}")
    return Row(region.peak_bytes / (1 << 20), test, details)


# ---- samples and lines ----


class Launched:
    """The recorder around pytest does it all."""

    title = None

    def __init__(self, config):
        pass

    def run(self, item, function):
        __tracebackhide__ = True
        from sonde import Profiler

        with Profiler():
            return frame_of(item)(function)

    def finish(self, path):
        return []


# ---- beginning ----


def check(config):
    mode, per_test = config.getoption("sonde"), config.getoption("sonde_per_test")
    if per_test and mode in {"record", "line"}:
        raise pytest.UsageError(
            f"--sonde-per-test goes with --sonde=trace and --sonde=mem; --sonde={mode} makes one recording, "
            "in which each test is a frame of its own name"
        )


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
    import subprocess

    flags = subprocess._args_from_interpreter_flags()
    return [sys.executable, *(given[1:] or [*flags, *head, *sys.argv[1:]])]


def begin_anew(config):
    """Becomes sonde, which runs this pytest again."""
    from sonde.__main__ import find_program

    mode, command = config.known_args_namespace.sonde, own_command()
    program = find_program(os.path.dirname(os.path.abspath(__file__)))
    if not command or not program:
        why = "here it is a part of another" if program else "sonde's program was not found"
        raise pytest.UsageError(
            f"--sonde={mode} has sonde start pytest anew, which must be a program of its own; {why}. Use: "
            f"sonde {mode} --partial -m pytest, and the fixture sonde_profile"
        )
    options = ["--partial", *(["--exact"] if mode == "mem" else [])]
    if config.known_args_namespace.sonde_output:
        options += ["-o", config.known_args_namespace.sonde_output]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(program, ["sonde", mode, *options, "--", *command], {**os.environ, BEGUN_ANEW: "1"})


def begin(config):
    """At pytest's start, before anything is captured."""
    known = config.known_args_namespace
    is_worker = "PYTEST_XDIST_WORKER" in os.environ  # whose first process was told already
    if os.environ.pop(BEGUN_ANEW, None) or is_worker or known.help or known.version:
        return
    if known.sonde != "trace" and not known.sonde_per_test:
        begin_anew(config)


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
        check(config)
        kinds = {"trace": Calls, "mem": Allocations}
        self.config = config
        self.recorder = kinds.get(config.getoption("sonde"), Launched)(config)
        self.per_test = config.getoption("sonde_per_test")
        self.in_process = self.per_test or isinstance(self.recorder, Calls)
        self.worker = getattr(config, "workerinput", {})  # of pytest-xdist
        made_up = self.worker.get("sonde_base") or "pytest." + time.strftime("%Y%m%d-%H%M%S")
        self.base = pathlib.Path(config.invocation_params.dir, config.getoption("sonde_output") or made_up)
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
        if self.per_test:
            self.finish(self.path(item.nodeid))

    def finish(self, path):
        self.rows += self.recorder.finish(path)
        self.rows = sorted(self.rows, reverse=True)[: self.config.getoption("sonde_slowest")]
        if path:
            self.written.append(os.path.relpath(path, self.config.invocation_params.dir))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self):
        if self.has_run and not self.per_test:
            self.finish(self.path() if self.in_process else None)
        if self.worker:
            self.config.workeroutput["sonde"] = [[list(row) for row in self.rows], self.written]

    # In the process that distributes tests to others:

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["sonde_base"] = self.base.name

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
