"""Functions whose calls are regions because a file says so (--marks)."""

import json

import interpreters
import pytest
from mark_cases import COLLECTORS, EXPECTED, MARKS, MORE_COLLECTORS, NAMES, PROGRAM, recorded, run


@pytest.mark.parametrize("collector", COLLECTORS)
def test_calls_are_regions(launch, collector):
    """Names of every kind, several rows, recursion, exceptions, generators, tasks, threads."""
    run(launch, COLLECTORS[collector], PROGRAM)
    assert recorded(launch) == EXPECTED


@pytest.mark.parametrize("collector", MORE_COLLECTORS)
def test_with_every_collector(modern_launch, collector):
    run(modern_launch, MORE_COLLECTORS[collector], PROGRAM)
    assert recorded(modern_launch) == EXPECTED


def test_rows_of_toml(modern_launch):
    launch = modern_launch
    rows = ("\n".join(f"{key} = {json.dumps(value)}" for key, value in row.items() if value) for row in MARKS)
    path = launch.write("marks.toml", "\n".join("[[marks]]\n" + row + "\n" for row in rows))
    run(launch, ["trace"], PROGRAM, "--marks", path, marks=None)
    assert recorded(launch) == EXPECTED


def test_rows_of_python(launch):
    """The tables of the tool that had marks first, with its kinds of names."""
    path = launch.write(
        "table.py",
        """
        def get_class(frame, event, args):
            return frame.f_locals["self"].__class__.__name__ + "." + event

        def get_name(frame, event, args):
            return frame.f_code.co_name

        functions_desc = [
            {"fn": "step", "file": "grid.py", "name": get_class},
            {"fn": "keep", "file": None, "name": get_name},
            {"fn": "plain", "file": None, "name": "{plain}"},
        ]
        """,
    )
    run(launch, ["trace"], PROGRAM, "--marks", path, marks=None)
    step = [("Grid.call", [("Grid.call", [])])]
    assert recorded(launch) == [[("Grid.call", step), ("keep", []), ("{plain}", [])], step]


def test_the_example_is_the_old_table(modern_launch):
    launch = modern_launch
    program = """
    import importlib, sys, types
    sys.path.insert(0, {!r})
    from fv3core import decorators
    from fv3core.stencils import fv_dynamics
    from fv3gfs.util import halo_updater, halo_data_transformer
    decorators.FrozenStencil()()
    fv_dynamics.DynamicalCore().step_dynamics()
    updater = halo_updater.HaloUpdater()
    updater.start()
    updater.wait()
    data = halo_data_transformer.Transformer()
    data.async_pack(), data.async_unpack(), data.synchronize()
    """
    stencil = "stencil_object = types.SimpleNamespace(options={'name': 'c_sw'})"
    files = {
        "fv3core/decorators.py": ("FrozenStencil", ["__call__"], stencil),
        "fv3core/stencils/fv_dynamics.py": ("DynamicalCore", ["step_dynamics", "__call__"], ""),
        "fv3gfs/util/halo_updater.py": ("HaloUpdater", ["start", "wait"], ""),
        "fv3gfs/util/halo_data_transformer.py": (
            "Transformer",
            ["async_pack", "async_unpack", "synchronize"],
            "",
        ),
    }
    for file, (name, methods, first) in files.items():
        bodies = {"step_dynamics": "self()"}
        rows = [first, *(f"def {method}(self): {bodies.get(method, 'pass')}" for method in methods)]
        launch.write(file, f"import types\nclass {name}:\n" + "".join(f"    {row}\n" for row in rows if row))
    marks = interpreters.REPOSITORY / "examples" / "marks" / "fv3core.json"
    program = program.format(str(launch.folder)).replace("\n    ", "\n")
    run(launch, ["record", "-r", "100"], program, "--marks", marks, marks=None)
    halo = [f"HaloUpdater.{name}" for name in ("start", "wait")]
    data = [f"HaloDataTrf.{name}" for name in ("async_pack", "async_unpack", "synchronize")]
    core = ("step_dynamics", [("DynamicalCore", [])])
    assert recorded(launch) == [[("c_sw.__call__", []), core, *((name, []) for name in halo + data)]]


def test_children_have_marks(launch):
    """Forked ones and those that are started."""
    program = """
    import os, subprocess, sys
    def part(n):
        pass
    def late():
        pass
    if len(sys.argv) == 1:
        part(1)
        pid = os.fork()
        part(2 if pid else 3)
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        subprocess.check_call([sys.executable, __file__, "child"])
    else:
        part(4)
        late()
    """
    marks = [{"fn": "part", "name": "part {n}"}, {"fn": "late"}, {"fn": "part", "file": "elsewhere/"}]
    run(launch, ["trace"], program, marks=marks)
    found = sorted(name for tree in recorded(launch) for name, _ in tree)
    assert found == ["late", "part 1", "part 2", "part 3", "part 4"]
    # What a child alone has called is no row without a call; the others are told.
    words = "marks: row 3 (fn=part, file=elsewhere/) matched no call"
    recording = launch.recording()
    assert words in [recording.text[text] for text in recording.data["notes"]["text"]]


@pytest.mark.parametrize("maker, words", [("names:nothing", b"no attribute"), ("names:wrong", b"TypeError")])
def test_makers_that_fail(launch, maker, words):
    """That is told once, and the ranges have the function's name."""
    launch.write("names.py", NAMES)
    path = launch.write("grid.py", "def main():\n    pass\nfor i in range(9):\n    main()\n")
    launch.write("marks.json", json.dumps([{"fn": "main", "maker": maker}]))
    command = [launch.sonde, "trace", "--quiet", "-o", "out.sonde", "--marks", "marks.json"]
    done = launch.run([*command, "--", launch.python.executable, path])
    assert done.returncode == 0 and done.stderr.count(words) == 1, done.stderr.decode()
    assert recorded(launch) == [[("main", [])] * 9]


WRONG = {
    "not.json": ('{"marks": [{"fn": "a",', "not what a marks file holds"),
    "list.json": ('{"marks": {"fn": "a"}}', "not what a marks file holds"),
    "empty.json": ("[]", "there is no mark in it"),
    "nothing.json": ("", "not what a marks file holds"),
    "key.json": ('[{"fn": "a"}, {"func": "b"}]', '"maker", and no "func"'),
    "fn.json": ('[{"name": "a"}]', 'mark 1: "fn", the name of a function, is missing'),
    "number.json": ('[{"fn": 1}]', "mark 1: its values are texts"),
    "brace.json": ('[{"fn": "a", "name": "{x"}]', 'in "name", braces hold'),
    "path.json": ('[{"fn": "a", "name": "{x..y}"}]', 'in "name", braces hold'),
    "item.json": ('[{"fn": "a", "name": "{x[}"}]', 'in "name", braces hold'),
    "line.json": ('[{"fn": "a\\nmark=b"}]', "a line break or another control character"),
    "both.json": ('[{"fn": "a", "name": "b", "maker": "c:d"}]', 'both "name" and "maker"'),
    "maker.json": ('[{"fn": "a", "maker": "c"}]', '"module:function"'),
    "twice.toml": ("[[marks]]\nfn = 'a'\nfn = 'b'\n", '"fn" is given twice'),
    "kind.toml": ("[[marks]]\nfn = ['a']\n", "its values are texts"),
    "end.toml": ("[[marks]]\nfn = 'a\n", "a string does not end"),
    "many.json": (json.dumps([{"fn": "a"}] * 600), "more than 512 marks"),
    "long.json": (json.dumps([{"fn": "a" * 1000}] * 200), "longer than 96 KiB"),
    "other.txt": ("", "a marks file is .json, .toml, or .py"),
    "list.py": ("functions_desc = 1", "needs a list functions_desc"),
    "row.py": ("functions_desc = [{'fn': 1, 'name': 'a'}]", "needs a list functions_desc"),
    "fails.py": ("1 / 0", "fails.py failed"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(modern_launch, name):
    """What is wrong, and where; the program does not run."""
    launch = modern_launch
    text, words = WRONG[name]
    (launch.folder / name).write_text(text)
    command = [launch.sonde, "record", "-o", "out.sonde", "--marks", name, "--", launch.python.executable]
    done = launch.run([*command, "-c", "print('ran')"])
    assert done.returncode == 2 and not done.stdout
    assert name in done.stderr.decode() and words in done.stderr.decode()


def test_no_marks_of_what_runs_already(modern_launch):
    launch = modern_launch
    launch.write("marks.json", '[{"fn": "a"}]')
    done = launch.run([launch.sonde, "record", "--marks", "marks.json", "-p", "1"])
    assert done.returncode == 2 and b"--marks needs a program that sonde starts" in done.stderr
