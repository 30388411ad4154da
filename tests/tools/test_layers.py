"""The layer check must fail on each planted violation, and only on it."""

import subprocess
import sys
from pathlib import Path

import pytest

LAYERS = Path(__file__).resolve().parents[2] / "tools" / "layers.py"
LONG_FUNCTION = "int reader_long(void)\n{\n" + "    ;\n" * 70 + "    return 0;\n}\n"


def function(name, statement):
    return f"void {name}(void)\n{{\n    {statement};\n}}\n"


PLANTED = {
    "upward include": ("src/base/err.c", '#include "store/reader.h"\n', "base must not include"),
    "collect and analyse": ("src/collect/agent/arena.c", '#include "analyse/tree.h"\n', "collect must not"),
    "analyse and collect": ("src/analyse/tree.c", '#include "collect/agent/arena.h"\n', "analyse must not"),
    "cli from show": ("src/show/table.c", '#include "cli/options.h"\n', "show must not include"),
    "include not from src": ("src/store/reader.c", '#include "writer.h"\n', "write includes from src/"),
    "Python.h": ("src/collect/agent/hook.c", "#include <Python.h>\n", "Python.h belongs"),
    "printing": ("src/store/reader.c", function("reader_say", 'printf("x")'), "only cli and show"),
    "stderr": ("src/export/dot.c", function("dot_say", "fputs(text, stderr)"), "only cli and show"),
    "a file in a reader": ("src/import/pstats.c", function("pstats_go", "fopen(name, mode)"), "fopen"),
    "a global in an analysis": ("src/analyse/tree.c", "static int counter;\n", "global variable counter"),
    "a name twice": ("src/show/err.c", function("err_show", ""), "occurs once in src/"),
    "an empty name": ("src/base/utils.c", function("utils_go", ""), "says nothing"),
    "a foreign prefix": ("src/store/reader.c", function("writer_close", ""), "reader_"),
    "a long function": ("src/store/reader.c", LONG_FUNCTION, "a function has at most 70"),
    "a long file": ("src/store/reader.c", "/* */\n" * 801, "a file has at most 800"),
    "a long Python function": ("tools/x.py", "def f():\n" + "    pass\n" * 70, "a function has at most 70"),
    "an unknown folder": ("src/novel/page.c", "static int page;\n", "has no row in LAYERS"),
}

CLEAN = {
    "src/base/err.c": "int err_set(void)\n{\n    return 0; /* printf( in a comment */\n}\n",
    "src/analyse/tree.c": '#include "store/reader.h"\nstatic const int limits[] = {1, 2};\n',
    "src/cli/main.c": '#include "show/table.h"\nint main(void)\n{\n    printf("x");\n    return 0;\n}\n',
    "src/collect/inside/module.c": "#include <Python.h>\nstatic int seen;\n",
}


def check(root):
    done = subprocess.run([sys.executable, LAYERS, root], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def plant(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def test_clean_tree_passes(tmp_path):
    plant(tmp_path, CLEAN)
    assert check(tmp_path) == (0, ["layers: 4 files checked, 0 violations"])


@pytest.mark.parametrize("name", PLANTED)
def test_planted_violation_is_found(tmp_path, name):
    path, text, expected = PLANTED[name]
    plant(tmp_path, {**CLEAN, path: text})
    status, lines = check(tmp_path)
    assert status == 1
    assert len(lines) == 2, lines
    assert lines[0].startswith(path + ":")
    assert expected in lines[0]
