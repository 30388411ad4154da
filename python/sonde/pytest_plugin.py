"""The plugin of pytest: limits for the memory of a test, in any run of pytest::

    @pytest.mark.limit_memory("24 MB")     # at its peak
    @pytest.mark.limit_leaks("1 MB")       # of any one call stack, not freed when the test has ended

The marks mean what they mean in pytest-memray, and are left to it where it is installed.

The fixture ``sonde_profile``, or ``tracy_profile``: the tests that ``sonde trace --partial -m pytest``
records. ``pytest --sonde`` records all (pytest_profile.py).
"""

import gc
import re

import pytest

UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGTP]?B)\s*$", re.IGNORECASE)
MARKS = {
    "limit_memory": "limit_memory(limit, current_thread_only=False): fail the test if it has allocated "
    'more than limit ("24 MB") at its peak.',
    "limit_leaks": "limit_leaks(limit, filter_fn=None, warmups=0, current_thread_only=False): fail the test "
    'if any call stack in it has allocated more than limit ("1 MB") that is not freed at its end.',
}
LISTED = 5  # stacks in the words about a failed test


def parse_size(text):
    """Bytes of "24 MB"."""
    match = SIZE.match(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"a limit of memory is a number and B, KB, MB, GB, TB or PB ('24 MB'), not {text!r}")
    return int(float(match.group(1)) * UNITS[match.group(2).upper()])


def format_size(size):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.1f}{unit}" if unit != "B" else f"{size}B"
        size /= 1024
    return None


def frames_of_test(stack):
    """The frames below those of pytest itself."""
    for place, frame in enumerate(stack.frames):
        if frame.function == "pytest_pyfunc_call":
            return stack.frames[:place]
    return stack.frames


def format_stacks(stacks, title):
    lines = [title]
    for stack in stacks[:LISTED]:
        lines.append(f"    - {format_size(stack.bytes)} in {stack.count} blocks allocated here:")
        lines.extend("        {}:{}:{}".format(*frame) for frame in frames_of_test(stack))
    if len(stacks) > LISTED:
        lines.append(f"    … and {len(stacks) - LISTED} more stacks")
    return "\n".join(lines)


class LimitMemory:
    """What is asked of a test by @pytest.mark.limit_memory."""

    section = "sonde-memory"
    python_allocators = wants_collection = False
    warmups = 0

    def __init__(self, limit, current_thread_only=False):
        self.limit = parse_size(limit)
        self.current_thread_only = current_thread_only

    def judge(self, region):
        """Why the test fails, and the text of a section; or None."""
        stacks = region.stacks("peak", current_thread_only=self.current_thread_only)
        used = sum(stack.bytes for stack in stacks) if self.current_thread_only else region.peak_bytes
        if used <= self.limit:
            return None
        words = f"Test was limited to {format_size(self.limit)} but allocated {format_size(used)}"
        return words, format_stacks(stacks, "List of allocations:")


class LimitLeaks:
    """What is asked of a test by @pytest.mark.limit_leaks."""

    section = "sonde-leaked-memory"
    python_allocators = wants_collection = True

    def __init__(self, limit, filter_fn=None, warmups=0, current_thread_only=False):
        self.limit = parse_size(limit)
        self.filter_fn = filter_fn
        self.warmups = warmups
        self.current_thread_only = current_thread_only

    def judge(self, region):
        """Why the test fails, and the text of a section; or None."""
        stacks = region.stacks("leaked", current_thread_only=self.current_thread_only)
        stacks = [stack for stack in stacks if stack.bytes > self.limit]
        if self.filter_fn:
            stacks = [stack for stack in stacks if self.filter_fn(stack)]
        if not stacks:
            return None
        words = f"Test was allowed to leak {format_size(self.limit)} per location, and one leaked more"
        return words, format_stacks(stacks, "List of leaked allocations:")


LIMITS = {"limit_memory": LimitMemory, "limit_leaks": LimitLeaks}
FAILURES = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("sonde", "profiling with sonde")
    group.addoption(
        "--sonde",
        nargs="?",
        const="trace",
        choices=("trace", "record", "line", "mem"),
        metavar="MODE",
        help="record what the tests do: every call (--sonde=trace, the default), samples (record), lines of "
        "the slowest functions (line), or allocations (mem); all but trace start pytest anew, under sonde",
    )
    group.addoption(
        "--sonde-per-test",
        action="store_true",
        help="one recording for each test, in a folder; of lines, those of all functions of the project",
    )
    group.addoption(
        "--sonde-output",
        metavar="PATH",
        help="the recording, or with --sonde-per-test the folder (otherwise pytest.<time>)",
    )
    group.addoption(
        "--sonde-library",
        action="store_true",
        help="functions of the standard library, installed packages and pytest, too (not with --sonde=mem)",
    )
    group.addoption(
        "--sonde-slowest", type=int, default=10, metavar="N", help="tests in the summary (default 10)"
    )


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if early_config.known_args_namespace.sonde:
        from sonde import pytest_profile

        pytest_profile.begin(early_config)
    yield


@pytest.fixture
def sonde_profile():
    """While the test runs, `sonde trace --partial` (record, line, mem) records."""
    from sonde import Profiler

    profiler = Profiler()
    profiler.enable()
    yield profiler
    profiler.disable()


@pytest.fixture
def tracy_profile(sonde_profile):
    """The same, by the name that it has in projects which use Tracy."""
    return sonde_profile


def is_recorded():
    """Whether sonde runs this pytest."""
    try:
        from sonde._inside import events_on
    except ImportError:  # an interpreter that sonde cannot record
        return False
    return events_on()


class Regions:
    """In a recording of pytest each test is a region."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        from sonde._inside import event_begin, event_end

        event_begin(item.nodeid)
        yield
        event_end(item.nodeid)


def pytest_configure(config):
    if config.getoption("sonde"):
        from sonde import pytest_profile

        config.pluginmanager.register(pytest_profile.Profiling(config), "sonde-profiling")
    if is_recorded():
        config.pluginmanager.register(Regions(), "sonde-regions")
    if config.pluginmanager.hasplugin("memray"):
        return
    for words in MARKS.values():
        config.addinivalue_line("markers", words)
    config.pluginmanager.register(Limits(), "sonde-memory-limits")


def warm_up(item, times):
    """Run a test function beforehand, so that what it fills caches with is there already."""
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    for _ in range(times):
        item.obj(**arguments)


class Limits:
    """The hooks, registered where pytest-memray is not."""

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        marks = [(name, pyfuncitem.get_closest_marker(name)) for name in LIMITS]
        limits = [LIMITS[name](*mark.args, **mark.kwargs) for name, mark in marks if mark]
        if not limits:
            yield
            return
        from sonde import memory

        warm_up(pyfuncitem, max(limit.warmups for limit in limits))
        with memory(python_allocators=any(limit.python_allocators for limit in limits)) as region:
            outcome = yield
            if any(limit.wants_collection for limit in limits):
                gc.collect()
        if outcome.excinfo is None:
            why = [(limit.section, limit.judge(region)) for limit in limits]
            pyfuncitem.stash[FAILURES] = [(section, *words) for section, words in why if words]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        failures = item.stash.get(FAILURES, []) if call.when == "call" and report.passed else []
        for section, words, text in failures:
            report.outcome = "failed"
            report.longrepr = f"{report.longrepr}\n{words}" if report.longrepr else words
            report.sections.append((section, text))
