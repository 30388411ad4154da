"""Call tables to compare: from a recording, from a .prof file, from the raw entries of cProfile.

A table is two dictionaries: functions {label: (calls, primitive calls)} and edges {(caller, callee): (calls,
primitive calls)}, where a label is (file, line, name) as in pstats.
"""

import json
import marshal
import re
from collections import Counter, defaultdict

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def clean(label):
    """`<built-in method __new__ of type object at 0x7f…>`: the address is another one in every run."""
    file, line, name = label
    return file, line, ADDRESS.sub("", name)


class Table:
    def __init__(self):
        self.functions, self.edges = {}, {}
        self.shared = (
            set()
        )  # labels of more than one code object, such as every data class's <string>:2(__init__)

    def add(self, table, key, calls, primitive):
        old = table.get(key, (0, 0))
        table[key] = old[0] + calls, old[1] + primitive

    def named(self, file):
        """{name: (calls, primitive calls)} of the file's functions, and of code that exec made."""
        found = defaultdict(lambda: (0, 0))
        for (path, _, name), (calls, primitive) in self.functions.items():
            if path.endswith(file) or path == "<string>":
                found[name] = found[name][0] + calls, found[name][1] + primitive
        return found


def of_lsprof(path):
    """What lsprof_runner wrote."""
    table = Table()
    with open(path) as file:
        for label, calls, recursive, callees in json.load(file):
            caller = clean(label)
            if caller in table.functions:
                table.shared.add(caller)
            table.add(table.functions, caller, calls, calls - recursive)
            for callee, sub_calls, sub_recursive in callees:
                table.add(table.edges, (caller, clean(callee)), sub_calls, sub_calls - sub_recursive)
    return table


def of_prof(path):
    """A .prof file: note that functions hold (primitive, calls) and callers (calls, primitive)."""
    table = Table()
    with open(path, "rb") as file:
        for label, (primitive, calls, _, _, callers) in marshal.load(file).items():
            table.add(table.functions, clean(label), calls, primitive)
            for caller, (edge_calls, edge_primitive, _, _) in callers.items():
                table.add(table.edges, (clean(caller), clean(label)), edge_calls, edge_primitive)
    return table


class Node:
    """One node of a call tree. The root of a thread has no label."""

    def __init__(self, parent, code, label):
        self.parent, self.code, self.label = parent, code, label
        self.calls = self.self_ns = 0
        self.children = []
        if parent:
            parent.children.append(self)

    def below(self):
        """Itself and all nodes under it, parents first; no recursion, for trees are thousands deep."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children)


class Recording:
    """A .sonde file as sonde.read gives it, with one call tree for each thread."""

    def __init__(self, data):
        self.data, self.text, self.meta = data, data["strings"], data["meta"]
        codes = data["codes"]
        self.labels = [
            clean((self.text[file], line, self.text[name]))
            for file, line, name in zip(codes["file"], codes["line"], codes["name"])
        ]
        self.python = [codes["kind"][code] == 1 for code in range(len(self.labels))]
        self.threads = {thread: self.tree(thread) for thread in sorted(set(data["calls"]["thread"]))}

    def tree(self, thread):
        """The root of the thread's tree: the nodes that have a row in this thread, and those above them."""
        nodes, calls = self.data["nodes"], self.data["calls"]
        made = {0: Node(None, 0, None)}

        def node(place):
            missing = []
            while place not in made:
                missing.append(place)
                place = nodes["parent"][place]
            for place in reversed(missing):
                code = nodes["code"][place]
                made[place] = Node(made[nodes["parent"][place]], code, self.labels[code])
            return made[place]

        for row, owner in enumerate(calls["thread"]):
            if owner == thread:
                one = node(calls["node"][row])
                one.calls += calls["calls"][row]
                one.self_ns += calls["self_ns"][row]
        return made[0]

    def process_of(self, thread):
        return self.data["threads"]["process"][thread]

    def first_process(self):
        parents = self.data["processes"]["parent"]
        return next(process for process in range(1, len(parents)) if parents[process] == 0)

    def module(self, script):
        """The node of the script's own body, in the process that sonde started."""
        for thread, root in self.threads.items():
            if self.process_of(thread) == self.first_process():
                for child in root.children:
                    if child.label[2] == "<module>" and child.label[0].endswith(script):
                        return child
        raise AssertionError(f"no module body of {script} at the top of a thread")

    def table(self):
        """All threads of all processes as one table."""
        whole = Table()
        for root in self.threads.values():
            part = of_tree(root)
            for label, counts in part.functions.items():
                whole.add(whole.functions, label, *counts)
            for pair, counts in part.edges.items():
                whole.add(whole.edges, pair, *counts)
        return whole

    def calls(self):
        return sum(self.data["calls"]["calls"])

    def notes(self):
        return [self.text[text] for text in self.data["notes"]["text"]]


def of_tree(top):
    """The table of a subtree. A call is primitive, as in cProfile, while the same is not on the stack."""
    table, on_stack = Table(), Counter()
    waiting = [(top, True)]
    while waiting:
        node, entering = waiting.pop()
        keys = [node.code]
        if node is not top and node.parent.label:
            keys.append((node.parent.code, node.code))
        if not entering:
            on_stack.subtract(keys)
            continue
        first = [0 if on_stack[key] else node.calls for key in keys]
        if node.label:
            table.add(table.functions, node.label, node.calls, first[0])
        if len(keys) == 2:
            table.add(table.edges, (node.parent.label, node.label), node.calls, first[1])
        on_stack.update(keys)
        waiting.append((node, False))
        waiting.extend((child, True) for child in node.children)
    return table
