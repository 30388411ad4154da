"""Much of the standard library at work: thousands of functions whose counts only cProfile knows."""
# compare: everything

import argparse
import ast
import collections
import csv
import decimal
import fractions
import heapq
import io
import itertools
import json
import logging
import operator
import pathlib
import pprint
import string
import textwrap
import traceback

parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--number", type=int, default=3)
parser.add_argument("names", nargs="*")
options = parser.parse_args(["--number", "4", "a", "b"])
assert options.number == 4

text = json.dumps({"a": [1, 2.5, None, {"b": "c" * 50}], "d": list(range(50))}, indent=2, sort_keys=True)
assert json.loads(text)["a"][1] == 2.5

stream = io.StringIO()
writer = csv.DictWriter(stream, ["x", "y"])
writer.writeheader()
writer.writerows({"x": i, "y": i * i} for i in range(20))
assert len(list(csv.reader(io.StringIO(stream.getvalue())))) == 21

assert decimal.Decimal("1.1") + decimal.Decimal("2.2") == decimal.Decimal("3.3")
assert sum(fractions.Fraction(1, n) for n in range(1, 10)) == fractions.Fraction(7129, 2520)

log = logging.getLogger("programs")
log.addHandler(logging.StreamHandler(stream))
log.setLevel(logging.INFO)
for i in range(10):
    log.info("line %d", i)

tree = ast.parse("def f(a, b=1):\n    return [a + x for x in b]\n")
assert sum(1 for _ in ast.walk(tree)) > 10
assert "FunctionDef" in ast.dump(tree)

assert textwrap.fill("word " * 60, 40).count("\n") > 5
assert pprint.pformat({"k": list(range(60))}).count("\n") > 5
assert string.Template("$a-$b").substitute(a=1, b=2) == "1-2"
counter = collections.Counter("mississippi")
assert counter.most_common(1)[0][1] == 4
assert list(heapq.merge([1, 4], [2, 3], key=operator.neg, reverse=False))
assert len(list(itertools.groupby(sorted("banana"), key=operator.itemgetter(0)))) == 3
assert pathlib.PurePosixPath("/a/b/../c.txt").with_suffix(".py").name == "c.py"
try:
    raise ValueError("seen")
except ValueError:
    assert "seen" in traceback.format_exc()
