"""Call counts and caller edges are exact: equal to cProfile's where both apply, and to the answers known.

What is compared with cProfile is the part of our tree below the script's own body, in the main thread of the
first process: all of it, the standard library, import machinery and C functions included. What lies beside
that body in our tree (the interpreter's start-up and shut-down code, other threads and processes) cProfile
does not see. Of cProfile's table one row is left out: its own `disable`. Primitive calls are not compared for
labels that several code objects share, and their edges: we record recursion of the function that the label
names, cProfile's engine that of each code object, and what pstats keeps of it depends on the version.

Programs marked `# alone:` are ones on which cProfile has nothing to say or is wrong; each says why.
"""

import json
import re

import profiles
import pytest
from conftest import PROGRAMS, Launcher

OWN = ("~", 0, "<method 'disable' of '_lsprof.Profiler' objects>")
# cProfile names a C method by looking its name up in the object's type. Where a Python subclass overrides the
# method, it finds the Python function (which has a row of its own) and prints that one's name.
RENAMED = {("~", 0, "<function socket.close>"): ("~", 0, "<method 'close' of '_socket.socket' objects>")}
NAMES = sorted(
    path.name for path in PROGRAMS.glob("*.py") if re.search("^# (calls|compare):", path.read_text(), re.M)
)


class Program:
    """What a program's head says of it."""

    def __init__(self, name):
        self.name, head = name, (PROGRAMS / name).read_text()
        self.alone = re.search("^# alone: (.*)", head, re.M)
        self.needs = re.search("^# needs: (.*)", head, re.M)
        code = re.search("^# exit: (.*)", head, re.M)
        self.exit_code = int(code.group(1)) if code else 0
        self.known = {}
        for row in re.findall("^# calls: (.*)", head, re.M):
            for function, calls, primitive in re.findall(r"(\w+)=(\d+)(?:/(\d+))?", row):
                self.known[function] = int(calls), int(primitive or calls)


class Run:
    """One program under one Python; each way of running it happens once, when it is first asked for."""

    def __init__(self, launch, program, executable):
        self.launch, self.program = launch, program
        self.script, self.executable = launch.program(program.name), executable
        self.made = {}

    def trace(self, output, *options):
        if output not in self.made:
            command = [*self.launch.tracer(output, options), "--", self.executable, self.script]
            done = self.launch.run(command, timeout=120)
            assert (done.stderr, done.returncode) == (b"", self.program.exit_code)
            self.made[output] = self.launch.folder / output
        return self.made[output]

    def recording(self, output="all.sonde", *options):
        key = "recording " + output
        if key not in self.made:
            self.trace(output, *options)
            self.made[key] = self.launch.recording(output)
        return self.made[key]

    def ours(self, *of):
        """The part that cProfile sees too."""
        return profiles.of_tree(self.recording(*of).module(self.program.name))

    def reference(self):
        """cProfile's own table."""
        if "reference" not in self.made:
            runner, output = self.launch.support("lsprof_runner.py"), self.launch.folder / "reference.json"
            done = self.launch.run([self.executable, runner, output, self.script], timeout=120)
            assert (done.stderr, done.returncode) == (b"", self.program.exit_code)
            table = profiles.of_lsprof(output)
            del table.functions[OWN]
            self.made["reference"] = table
        return self.made["reference"]


@pytest.fixture(scope="session")
def runs(sonde, tmp_path_factory):
    """run(python, program name) → Run, kept for the whole session."""
    made = {}

    def run(python, name):
        program = Program(name)
        if (python, name) not in made:
            executable = python.executable
            if program.needs:
                executable, why_not = python.peer_environment([program.needs.group(1)])
                if why_not:
                    pytest.skip(why_not)
            launch = Launcher(sonde, python, tmp_path_factory.mktemp(name[:-3]))
            made[python, name] = Run(launch, program, executable)
        return made[python, name]

    return run


def compared(names):
    return [name for name in names if not Program(name).alone]


def difference(ours, theirs):
    """{key: (ours, theirs)} of what differs."""
    keys = sorted(set(ours) | set(theirs), key=str)
    return {key: (ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)}


@pytest.mark.parametrize("name", NAMES)
def test_known_counts(runs, python, name):
    """The answers that the program's head states, over all threads and processes."""
    run = runs(python, name)
    counts = run.recording().table().named(name)
    assert {function: counts[function] for function in run.program.known} == run.program.known


@pytest.mark.parametrize("name", compared(NAMES))
def test_equal_to_cprofile(runs, python, name):
    run = runs(python, name)
    ours, theirs = run.ours(), run.reference()
    assert difference(whole(ours.functions, theirs), whole(theirs.functions, theirs)) == {}
    assert difference(whole(ours.edges, theirs), whole(theirs.edges, theirs)) == {}


def whole(rows, reference):
    """The rows, without primitive calls where labels are shared, cProfile's wrong names put right."""
    shared = reference.shared
    cut = {}
    for key, (calls, primitive) in rows.items():
        labels = key if isinstance(key[0], tuple) else (key,)
        named = tuple(RENAMED.get(label, label) for label in labels)
        cut[named] = (calls, None) if shared.intersection(labels) else (calls, primitive)
    return cut


@pytest.mark.parametrize("name", compared(NAMES))
def test_prof_file_holds_the_same(runs, python, name):
    """`-o x.prof` says what the recording says: every function, every caller."""
    run = runs(python, name)
    file, table = profiles.of_prof(run.trace("all.prof")), run.recording().table()
    assert difference(file.functions, table.functions) == {}
    assert difference(file.edges, table.edges) == {}


@pytest.mark.parametrize("name", compared(NAMES))
def test_without_c_calls(runs, python, name):
    """--no-c-calls gives the same tree with the C functions taken out: their callbacks hang on the caller."""
    run = runs(python, name)
    without = run.ours("python.sonde", "--no-c-calls")
    assert not [label for label in without.functions if label[0] == "~"]
    expected = {label: row[0] for label, row in run.reference().functions.items() if label[0] != "~"}
    assert difference({label: row[0] for label, row in without.functions.items()}, expected) == {}
    collapsed = collapse(run.recording().module(name))
    assert difference(collapse(run.recording("python.sonde").module(name)), collapsed) == {}


def collapse(top):
    """{(nearest Python caller, Python callee): calls}."""
    pairs = {}
    for node in top.below():
        caller = node.parent
        while caller.label and caller.label[0] == "~":
            caller = caller.parent
        if node.label[0] != "~" and node is not top:
            pair = caller.label, node.label
            pairs[pair] = pairs.get(pair, 0) + node.calls
    return pairs


@pytest.mark.parametrize("name", NAMES)
def test_self_times_add_up(runs, python, name):
    """In table and tree: self times make the total, an inclusive time is self time and the children's."""
    run = runs(python, name)
    total_ns = sum(run.recording().data["calls"]["self_ns"])
    done = run.launch.run([run.launch.sonde, "report", "--json", "all.sonde"])
    report = json.loads(done.stdout)
    assert report["total_ns"] == total_ns > 0
    assert sum(row["self_ns"] for row in report["functions"]) == total_ns
    inclusive = [0] * len(report["tree"])
    for place, (parent, _, _, self_ns, total) in reversed(list(enumerate(report["tree"]))):
        inclusive[place] += self_ns
        assert inclusive[place] == total
        if place:
            inclusive[parent] += total
    assert inclusive[0] == total_ns


@pytest.mark.parametrize("name", NAMES)
def test_no_thread_has_more_time_than_it_lived(runs, python, name):
    recording = runs(python, name).recording()
    threads, processes = recording.data["threads"], recording.data["processes"]
    for thread, root in recording.threads.items():
        end_ns = threads["end_ns"][thread] or processes["end_ns"][threads["process"][thread]]
        spent_ns = [node.self_ns for node in root.below()]
        rounding_ns = len(spent_ns)  # each was ticks of the clock
        assert not end_ns or sum(spent_ns) <= end_ns - threads["start_ns"][thread] + rounding_ns


def test_threads_are_told_apart(runs, python):
    recording = runs(python, "threads.py").recording()
    per_thread = {}
    for thread, root in recording.threads.items():
        calls = profiles.of_tree(root).named("threads.py")
        if calls["work"][0]:
            per_thread[thread] = calls["work"], calls["leaf"]
    assert list(per_thread.values()) == [((10, 10), (1000, 1000))] * 4
    names = recording.data["threads"]["name"]
    assert sorted(recording.text[names[thread]] for thread in per_thread) == [f"worker-{n}" for n in range(4)]


@pytest.mark.parametrize(("name", "children"), [("processes_fork.py", 5), ("processes_spawn.py", 4)])
def test_processes_are_told_apart(runs, python, name, children):
    recording = runs(python, name).recording()
    callers = {"in_child": set(), "parent_only": set(), "square": set()}
    for thread, root in recording.threads.items():
        for function, (calls, _) in profiles.of_tree(root).named(name).items():
            if calls and function in callers:
                callers[function].add(recording.process_of(thread))
    first = recording.first_process()
    assert callers["parent_only"] == {first}
    assert first not in callers["in_child"] | callers["square"]
    pids = recording.data["processes"]["pid"]
    parents = recording.data["processes"]["parent"]
    with_work = callers["in_child"] | callers["square"]
    assert len({pids[process] for process in with_work}) == len(with_work) <= children
    assert {parents[process] for process in with_work} == {first}
