"""Samples against the truth: no stack that never was, and shares that are those of the clock."""

import collections
import math

from samples import Grammar, Samples, record

STACKS_WANTED = 100_000
RUNS_MAX = 12
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


def test_no_stack_that_never_was(launch):
    """Every row is a stack taken for itself: a sleep is one row, however long."""
    program = launch.program("grammar.py")
    grammar = Grammar(program)
    taken, samples, errors, bad = 0, 0, 0, collections.Counter()
    for _ in range(RUNS_MAX):
        done = record(launch, program, "6", rate=10000)
        assert (done.returncode, done.stderr) == (0, b"")
        found = Samples(launch.folder / "out.sonde")
        stacks = collections.Counter(row.stack for row in of_program_only(found.rows, grammar))
        bad.update({stack: stacks[stack] for stack in stacks if not stack or not grammar.is_legal(stack)})
        taken, samples, errors = taken + sum(stacks.values()), samples + found.samples, errors + found.errors
        if taken >= STACKS_WANTED:
            break
    assert bad == {}
    assert taken >= STACKS_WANTED
    assert errors <= samples * ERRORS_ALLOWED


def test_every_kind_of_stack_is_met(launch):
    """What proves that no stack was wrong must have looked at all kinds of them."""
    program = launch.program("grammar.py")
    assert record(launch, program, "2", rate=10000).returncode == 0
    found = Samples(launch.folder / "out.sonde")
    met = {frame.name for row in found.rows for frame in row.stack if frame.file == str(program)}
    expected = {name for name in Grammar(program).places if not name.startswith("__") and name[0].islower()}
    assert len(expected) > 40
    assert expected - met == set()
    assert max(len(row.stack) for row in found.rows) > 100


def test_shares(launch):
    """The instants are those of a Poisson process, so the count of a share p of n samples is binomial,
    whatever the program does in between. It tells the true shares itself. Only where the sampler itself had
    to wait for a CPU, which the recording says, may a sample show a later place."""
    done = record(launch, launch.program("shares.py"), "3", "10", rate=4000)
    assert (done.returncode, done.stderr) == (0, b"")
    spent = dict(zip(("most", "some", "few"), map(int, done.stdout.split())))
    found = Samples(launch.folder / "out.sonde")
    counts, late = found.counts(*spent), found.noted("late")
    total = sum(counts.values())
    assert total > 8000
    for name, nanoseconds in spent.items():
        share = nanoseconds / sum(spent.values())
        deviation = math.sqrt(total * share * (1 - share))
        assert abs(counts[name] - total * share) < DEVIATIONS * deviation + late, (name, share, counts, late)
