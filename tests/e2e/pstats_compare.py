"""Run by the Python under test: pstats_compare.py OURS THEIRS...: is OURS what pstats makes of THEIRS?

Prints what differs. Times may differ by the rounding to nanoseconds, once for each file that was added.
"""

import pstats
import sys


def plain(function):
    """`profile` names the main function by its code object; sonde by that object's name."""
    return tuple(getattr(part, "co_name", part) for part in function)


def table(paths):
    stats = pstats.Stats(paths[0])
    for path in paths[1:]:
        stats.add(path)
    return {
        plain(function): (*numbers[:4], {plain(caller): value for caller, value in numbers[4].items()})
        for function, numbers in stats.stats.items()
    }


def differs(ours, theirs, tolerance):
    if isinstance(theirs, int) or isinstance(ours, int):
        return ours != theirs
    return ours[:2] != theirs[:2] or any(
        abs(one - other) > tolerance + 1e-12 * other for one, other in zip(ours[2:4], theirs[2:4])
    )


def main(ours_path, *their_paths):
    ours, theirs = table([ours_path]), table(their_paths)
    tolerance = 1e-9 * len(their_paths)
    called = {function for function, numbers in theirs.items() if any(numbers)}
    problems = [("only in theirs", function) for function in called - set(ours)]
    problems += [("only in ours", function) for function in set(ours) - called if any(ours[function])]
    for function in called & set(ours):
        if differs(ours[function], theirs[function], tolerance):
            problems.append((function, ours[function][:4], theirs[function][:4]))
        our_callers, their_callers = ours[function][4], theirs[function][4]
        problems += [("caller of", function, caller) for caller in set(our_callers) ^ set(their_callers)]
        for caller in set(our_callers) & set(their_callers):
            if differs(our_callers[caller], their_callers[caller], tolerance):
                problems.append((caller, function, our_callers[caller], their_callers[caller]))
    for problem in problems[:20]:
        print(problem)
    print(len(ours), "functions,", sum(len(numbers[4]) for numbers in ours.values()), "edges")
    return 1 if problems or not ours else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
