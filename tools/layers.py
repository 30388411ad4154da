#!/usr/bin/env python3
"""Keeps the picture in ARCHITECTURE.md true: who may include whom, who may print, names, sizes.

    tools/layers.py [ROOT]      check the tree at ROOT (default: this checkout); exit status 1 on a violation

Each check is a generator of (path, line number, message) over the sources; CHECKS lists them.
"""

import ast
import collections
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

# What each folder of src/ may include, besides itself. `None`: everything but the folders with None.
LAYERS = {
    "base": set(),
    "python": {"base"},
    "unwind": {"base"},
    "store": {"base"},
    "collect": {"base", "python", "unwind", "store", "symbols"},
    "symbols": {"base", "unwind"},
    "import": {"base", "store"},
    "analyse": {"base", "store", "symbols"},
    "export": {"base", "store", "analyse"},
    "query": {"base", "store", "import", "analyse", "export"},
    "show": {"base", "store", "analyse", "query"},
    "mpi": {"base"},
    "cli": None,
    "binding": None,
}
PYTHON_H = ("src/collect/inside/", "src/binding/")
PRINTERS = ("src/cli/", "src/show/")
# Bytes in, arrays out: these are compiled to WebAssembly too.
PURE = ("src/store/reader", "src/store/follow", "src/import/", "src/analyse/", "src/query/")
FORBIDDEN_NAMES = {"util", "utils", "common", "helper", "helpers", "misc", "core"}
# Names of the C library that the agent puts its own functions in front of.
INTERPOSED = {
    "src/collect/agent/exec.c": {
        *("execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve"),
        *("posix_spawn", "posix_spawnp", "system"),
    },
    "src/collect/agent/heap_wrappers.c": {
        *("malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc"),
        *("posix_memalign", "valloc", "pvalloc", "map_memory", "map_memory_64", "munmap", "mremap"),
    },
    "src/collect/agent/nvtx_in.c": {"getenv", "InitializeInjectionNvtx2"},
    "src/collect/agent/own_signal.c": {
        *("sigaction", "signal", "sigprocmask", "pthread_sigmask", "signalfd"),
        *("sigwait", "sigtimedwait", "sigwaitinfo"),
    },
    "src/collect/agent/restarts.c": {
        *("nanosleep", "clock_nanosleep", "usleep", "sleep", "poll", "ppoll", "select", "pselect"),
        *("epoll_wait", "epoll_pwait", "sem_timedwait", "semtimedop"),
    },
    "src/collect/agent/seccomp_watch.c": {"prctl", "syscall"},
}
FUNCTION_LINES, FILE_LINES = 70, 800

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
PRINTING = re.compile(r"\b(?:(?:v?printf|puts|putchar|perror)(?=\s*\()|stdout|stderr)\b")
IMPURE = re.compile(
    r"(?<![\w.>])(fopen|fdopen|open|openat|mmap|read|write|pthread_\w+|clock_\w+|gettimeofday|time|getenv|fork)\s*\("
)
# Comments and literals hide nothing and mean nothing: blank them, but keep the line numbers.
QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

Source = collections.namedtuple("Source", "path text code")
Symbol = collections.namedtuple("Symbol", "path name line end kind static const")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def sources(root):
    for folder in ("src", "include", "tests", "python", "tools", "bench", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".c", ".h", ".py"} and "__pycache__" not in path.parts:
                text = path.read_text(encoding="utf-8")
                code = text if path.suffix == ".py" else QUIET.sub(blank, text)
                yield Source(path.relative_to(root).as_posix(), text, code)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def in_c(files):
    for source in files:
        if source.path.startswith("src/") and source.path.endswith((".c", ".h")):
            yield source


def layer_of(path):
    return path.split("/")[1]


def may_include(layer, other):
    allowed = LAYERS.get(layer, set())
    return other == layer or (LAYERS.get(other) is not None if allowed is None else other in allowed)


def check_includes(files, symbols):
    for source in in_c(files):
        layer = layer_of(source.path)
        if layer not in LAYERS:
            yield source.path, 1, f"folder src/{layer} has no row in LAYERS"
        for match in INCLUDE.finditer(source.text):
            mark, name = match.groups()
            line = line_of(source.text, match.start())
            if name == "Python.h" and not source.path.startswith(PYTHON_H):
                yield source.path, line, f"Python.h belongs in {' and '.join(PYTHON_H)} only"
            if mark == '"' and "/" not in name:
                yield source.path, line, f'"{name}": write includes from src/, as "{layer}/{name}"'
            elif mark == '"' and not may_include(layer, name.split("/")[0]):
                yield source.path, line, f'{layer} must not include "{name}"'


def check_printing(files, symbols):
    for source in in_c(files):
        if not source.path.startswith(PRINTERS):
            for match in PRINTING.finditer(source.code):
                line = line_of(source.code, match.start())
                yield source.path, line, f"{match.group()}: only cli and show print"


def check_pure(files, symbols):
    for source in in_c(files):
        if source.path.startswith(PURE):
            for match in IMPURE.finditer(source.code):
                what = match.group().rstrip("( ")
                line = line_of(source.code, match.start())
                yield source.path, line, f"{what}: this code takes bytes and gives arrays, nothing else"
    for symbol in symbols:
        if symbol.kind == "variable" and symbol.path.startswith(PURE) and not symbol.const:
            yield symbol.path, symbol.line, f"global variable {symbol.name}: state belongs to the caller"


def check_names(files, symbols):
    seen = {}
    for source in files:
        path = Path(source.path)
        for part in (*path.parts[:-1], path.stem):
            if part.lower() in FORBIDDEN_NAMES:
                yield source.path, 1, f'"{part}" says nothing about what is inside'
        if source.path.startswith("src/"):
            other = seen.setdefault(path.stem, path.parent)
            if other != path.parent:
                yield source.path, 1, f"{path.stem} is also in {other}; a file name occurs once in src/"


def check_prefixes(files, symbols):
    for symbol in symbols:
        stem = Path(symbol.path).stem
        if symbol.kind != "function" or symbol.static or not symbol.path.startswith("src/"):
            continue
        allowed = symbol.name in {stem, "main"} or symbol.name.startswith((stem + "_", "sonde_", "PyInit_"))
        allowed = allowed or symbol.name in INTERPOSED.get(symbol.path, ())
        if symbol.path.endswith(".c") and not allowed:
            yield symbol.path, symbol.line, f"{symbol.name}: a symbol begins with its file's name, {stem}_"


def check_lengths(files, symbols):
    for source in files:
        lines = source.text.count("\n")
        if lines > FILE_LINES:
            yield source.path, lines, f"{lines} lines; a file has at most {FILE_LINES}"
    for symbol in symbols:
        lines = symbol.end - symbol.line + 1
        if symbol.kind == "function" and lines > FUNCTION_LINES:
            message = f"{symbol.name}: {lines} lines; a function has at most {FUNCTION_LINES}"
            yield symbol.path, symbol.line, message


CHECKS = (check_includes, check_printing, check_pure, check_names, check_prefixes, check_lengths)


def c_symbols(root, files):
    """Functions and variables, as universal-ctags sees them."""
    paths = [source.path for source in files if source.path.endswith((".c", ".h"))]
    if not paths:
        return
    if not shutil.which("ctags"):
        sys.exit("tools/layers.py: no ctags; run tools/setup test (Debian package universal-ctags)")
    command = ["ctags", "--output-format=json", "--languages=C", "--map-C=+.h", "--kinds-C=fv"]
    command += ["--fields=+neKf", "-f", "-", *paths]
    answer = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for tag in map(json.loads, answer.splitlines()):
        declared = tag.get("pattern", "") + tag.get("typeref", "")
        static = tag.get("file", False) or "static " in declared
        end = tag.get("end", tag["line"])
        yield Symbol(tag["path"], tag["name"], tag["line"], end, tag["kind"], static, "const" in declared)


def python_symbols(files):
    for source in files:
        if source.path.endswith(".py"):
            for node in ast.walk(ast.parse(source.text, source.path)):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield Symbol(source.path, node.name, node.lineno, node.end_lineno, "function", True, True)


def violations(root):
    files = list(sources(root))
    symbols = [*c_symbols(root, files), *python_symbols(files)]
    return len(files), [violation for check in CHECKS for violation in check(files, symbols)]


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    count, found = violations(root)
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    print(f"layers: {count} files checked, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
