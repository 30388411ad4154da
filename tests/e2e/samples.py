"""Sampled recordings for the tests: how one is made, its stacks, whether they follow a program's grammar."""

import ast
import collections
import re

from conftest import read

RUNNING, GUESSED = 1, 32  # enum sample_state
Frame = collections.namedtuple("Frame", "name file line")
Row = collections.namedtuple("Row", "stack count running thread time_ns guessed")


def record(launch, *words, rate=1000, output="out.sonde", more=(), before=(), **options):
    """The interpreter with these words under `sonde record`; `before` is what starts sonde itself."""
    command = [*before, launch.sonde, "record", "--quiet", "-r", str(rate), "-o", launch.folder / output]
    return launch.run([*command, *more, "--", launch.python.executable, *words], **options)


class Samples:
    """A sampled recording. A stack is a tuple of frames from the innermost out."""

    def __init__(self, path):
        self.data = read(path)
        text, nodes, codes = self.data["strings"], self.data["nodes"], self.data["codes"]
        frames = [(text[name], text[file]) for name, file in zip(codes["name"], codes["file"])]
        stacks = [()]
        for parent, code, line in zip(nodes["parent"][1:], nodes["code"][1:], nodes["line"][1:]):
            stacks.append((Frame(*frames[code], int(line)), *stacks[parent]))
        rows = self.data["samples"]
        columns = (rows[name].tolist() for name in ("node", "count", "state", "thread", "time_ns"))
        self.rows = [
            Row(stacks[node], count, bool(state & RUNNING), thread, time_ns, bool(state & GUESSED))
            for node, count, state, thread, time_ns in zip(*columns)
        ]
        self.samples = int(self.data["meta"]["samples"])
        self.errors = int(self.data["meta"]["errors"])

    def noted(self, words):
        """The count of the notes that say so."""
        text, notes = self.data["strings"], self.data["notes"]
        return sum(int(count) for what, count in zip(notes["text"], notes["count"]) if words in text[what])

    def counts(self, *names):
        """{name: samples with that function on the stack}."""
        found = dict.fromkeys(names, 0)
        for row in self.rows:
            for name in {frame.name for frame in row.stack} & set(names):
                found[name] += row.count
        return found


class Grammar:
    """The legal stacks of programs/grammar.py, from its own comments."""

    LIBRARY = "library"

    def __init__(self, path):
        self.file = str(path)
        text = path.read_text()
        self.calls = collections.defaultdict(set)
        self.entered = set()
        for number, line in enumerate(text.splitlines(), 1):
            said = re.search(r"# (calls|entered): (.*)", line)
            if said and said[1] == "calls":
                self.calls[number] = set(re.split(", *", said[2]))
            elif said:
                self.entered.add(said[2])
        self.places = collections.defaultdict(list)
        self.classes = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                self.places[node.name].append(range(first, node.end_lineno + 1))
            if isinstance(node, ast.ClassDef):
                self.classes.add(node.name)

    def is_own(self, frame):
        return frame.file == self.file

    def stands_within(self, frame):
        """Whether the line belongs to the function; some instructions of the compiler's own have none."""
        if frame.name.startswith("<") or not frame.line:
            return True
        return any(frame.line in place for place in self.places[frame.name])

    def is_legal_call(self, caller, callee):
        """`callee` stands directly above `caller`."""
        if not self.is_own(callee):
            known = {self.LIBRARY, callee.name} & self.calls[caller.line]
            return bool(known) or caller.name == "<module>" or not self.is_own(caller)
        if self.is_own(caller):
            return callee.name in self.calls[caller.line] | self.classes
        return callee.name in self.entered or caller.file == "<made>"

    def is_legal(self, stack):
        if stack and stack[0].name == "<garbage collection>":  # may come at any line
            stack = stack[1:]
        own = [frame for frame in stack if self.is_own(frame)]
        if not all(self.stands_within(frame) for frame in own):
            return False
        if not all(self.is_legal_call(caller, callee) for callee, caller in zip(stack, stack[1:])):
            return False
        return bool(stack) and (stack[-1].name == "<module>" or not self.is_own(stack[-1]))
