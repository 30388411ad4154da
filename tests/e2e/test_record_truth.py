"""Samples against the truth: no stack that never was, and shares that are those of the clock."""

import collections
import concurrent.futures
import math
import time

import pytest
from samples import Grammar, Samples, record

pytestmark = pytest.mark.alone

STACKS_WANTED = 100_000
RUN_S = 2  # short, so that little is taken beyond what is wanted
RUNS_MAX = 90  # ten will do, unless the machine is busy
AT_ONCE = 2
SHARES_RUNS_MAX = 6  # until one has a machine to itself
LATE_ALLOWED = 0.1  # with more, the bounds would say nothing
ERRORS_ALLOWED = 0.001
DEVIATIONS = 4.5  # one run in 15,000 of an honest sampler fails, over nine Pythons and three shares


def of_program_only(rows, grammar):
    """The rows of each thread between its first and its last with a frame of the program: before and after,
    the interpreter starts and ends, and an empty stack is the truth."""
    threads = collections.defaultdict(list)
    for row in sorted(rows, key=lambda row: row.time_ns):
        threads[row.thread].append(row)
    for of_thread in threads.values():
        own = [i for i, row in enumerate(of_thread) if any(map(grammar.is_own, row.stack))]
        yield from of_thread[own[0] : own[-1] + 1] if own else ()


class Found:
    """What several runs of the program brought together."""

    def __init__(self, program):
        self.program, self.grammar = str(program), Grammar(program)
        self.runs = self.taken = self.samples = self.errors = self.deepest = 0
        self.bad, self.met = collections.Counter(), set()

    def add(self, found):
        stacks = collections.Counter(row.stack for row in of_program_only(found.rows, self.grammar))
        self.bad.update({stack: stacks[stack] for stack in stacks if not self.grammar.is_legal(stack)})
        self.met.update(frame.name for stack in stacks for frame in stack if frame.file == self.program)
        self.deepest = max(self.deepest, *map(len, stacks))
        self.taken += sum(stacks.values())
        self.samples += found.samples
        self.errors += found.errors
        self.runs += 1

    def missing(self):
        """The functions that no stack has shown."""
        expected = {name for name in self.grammar.places if not name.startswith("__") and name[0].islower()}
        assert len(expected) > 40
        return expected - self.met


def test_no_stack_that_never_was(version_launch):
    """100,000 stacks of all kinds. A row is a stack taken for itself: a sleep is one row, however long."""
    launch = version_launch
    program = launch.program("grammar.py")
    found = Found(program)
    outputs = [f"out{number}.sonde" for number in range(AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        while found.runs < RUNS_MAX and found.taken < STACKS_WANTED and not found.bad:
            jobs = [
                pool.submit(record, launch, program, str(RUN_S), rate=10000, output=each) for each in outputs
            ]
            assert [(job.result().returncode, job.result().stderr) for job in jobs] == [(0, b"")] * AT_ONCE
            for output in outputs:
                found.add(Samples(launch.folder / output))
    print(f"{found.runs} runs, {found.taken} stacks, {found.samples} samples, {found.errors} errors")
    assert found.bad == {}
    assert found.taken >= STACKS_WANTED
    assert found.errors <= found.samples * ERRORS_ALLOWED
    assert found.missing() == set()
    assert found.deepest > 100


def late_share(found):
    """The share of the instants that may have been looked at too late to show the right function: none when
    99 of 100 were less than 2 ms late. On a busy machine the sampler waits for a CPU, too, and says so."""
    for name, share in (("late_us_99", 0), ("late_us_90", 0.1), ("late_us_50", 0.5)):
        if int(found.data["meta"][name]) <= 2048:
            return share
    return 1


def quietest_run(launch):
    """(samples, what the program says that it spent, share of late instants) of the first run that has a
    machine to itself, else of the best of several."""
    runs = []
    for turn in range(SHARES_RUNS_MAX):
        time.sleep(turn / 2)
        done = record(launch, launch.program("shares.py"), "3", "10", rate=4000)
        assert (done.returncode, done.stderr) == (0, b"")
        found = Samples(launch.folder / "out.sonde")
        runs.append((late_share(found), turn, found, done.stdout))
        if runs[-1][0] == 0:
            break
    late, _, found, said = min(runs)
    return found, dict(zip(("most", "some", "few"), map(int, said.split()))), late


def test_shares(chosen_launch):
    """The instants are those of a Poisson process, so the count of a share p of n samples is binomial,
    whatever the program does in between. It tells the true shares itself."""
    launch = chosen_launch
    found, spent, late = quietest_run(launch)
    counts = found.counts(*spent)
    total = sum(counts.values())
    if late > LATE_ALLOWED:
        pytest.skip(f"in {SHARES_RUNS_MAX} runs this machine was too busy to judge shares by")
    assert total > 8000
    for name, nanoseconds in spent.items():
        share = nanoseconds / sum(spent.values())
        bound = DEVIATIONS * math.sqrt(total * share * (1 - share)) + late * total
        assert abs(counts[name] - total * share) < bound, (name, share, counts, late)


def test_a_torn_stack_would_be_noticed(modern_launch):
    """The grammar is strict: it refuses most stacks that lack a frame, or whose top is another's."""
    launch = modern_launch
    program = launch.program("grammar.py")
    grammar = Grammar(program)
    assert record(launch, program, "2", rate=10000).returncode == 0
    rows = of_program_only(Samples(launch.folder / "out.sonde").rows, grammar)
    stacks = [stack for stack in {row.stack for row in rows} if len(stack) > 5]
    stacks = [stack for stack in stacks if all(map(grammar.is_own, stack[:5]))]
    stacks = [stack for stack in stacks if not {"descend", "fail"} & {frame.name for frame in stack}]
    lacking = [stack[:at] + stack[at + 1 :] for stack in stacks for at in range(1, 4)]
    mixed = [stack[:2] + other[2:] for stack, other in zip(stacks, stacks[1:]) if stack[2] != other[2]]
    assert len(lacking) > 60 and len(mixed) > 10
    assert sum(map(grammar.is_legal, lacking)) < 0.2 * len(lacking)
    assert sum(map(grammar.is_legal, mixed)) < 0.3 * len(mixed)
