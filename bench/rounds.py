"""What the benches share: which Pythons, a folder for each, and the best of alternating rounds."""

import argparse
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))

import interpreters  # noqa: E402


def parser(page, rounds=5):
    """The options that every bench has; `page` is its __doc__."""
    found = argparse.ArgumentParser(description=page.splitlines()[0])
    found.add_argument("--pythons", help="versions such as 3.12,3.13; default: all found")
    found.add_argument("--rounds", type=int, default=rounds)
    return found


@contextlib.contextmanager
def working_folder(python, *files):
    """A folder with copies of these files of bench/, which a chroot can see."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sonde-bench-", dir="/tmp"))
    try:
        for name in files:
            shutil.copy(HERE / name, folder)
        yield folder
    finally:
        shutil.rmtree(folder)
        python.leave()


def pythons(options, *files):
    """(Python, folder) of those that can be recorded and were asked for; then says which were not."""
    if options.pythons:
        os.environ["SONDE_TEST_PYTHONS"] = options.pythons
    if not interpreters.sonde_program():
        sys.exit("sonde is not built: run make")
    usable, left_out = interpreters.find()
    for python in usable:
        if not python.free_threaded:
            with working_folder(python, *files) as folder:
                yield python, folder
    for version, reason in left_out:
        print(f"{version}: not measured: {reason}")


def best(measure, tools, rounds):
    """{tool: the smallest of its measures}; in each round every tool is run once, one after the other."""
    found = dict.fromkeys(tools, float("inf"))
    for _ in range(rounds):
        for tool in tools:
            found[tool] = min(found[tool], measure(tool))
    return found
