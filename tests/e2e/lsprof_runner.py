"""Run a script under this Python's own cProfile: python lsprof_runner.py OUTPUT SCRIPT ARGS...

The raw entries of cProfile's engine (_lsprof) go to OUTPUT as JSON: for each function its label, calls and
recursive calls, and the same for each callee. `python -m cProfile` itself would not do for an exact
comparison: it imports modules before the script does (and so hides their import), puts an exec() above the
script (which makes every exec of the script a recursive call), and forgets all but one of the functions that
share a label.
"""

import sys


def label(code):
    return ["~", 0, code] if isinstance(code, str) else [code.co_filename, code.co_firstlineno, code.co_name]


def make_main(script):
    loader = type(sys.modules["__main__"].__loader__)
    module = type(sys)("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__, __loader__=loader("__main__", script))
    sys.modules["__main__"] = module
    return module


def run(script, profiler):
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    body = type(label)(code, make_main(script).__dict__)
    try:
        profiler.enable()
        body()
    finally:
        profiler.disable()


def dump(profiler, path):
    import json

    rows = []
    for entry in profiler.getstats():
        callees = [[label(c.code), c.callcount, c.reccallcount] for c in entry.calls or ()]
        rows.append([label(entry.code), entry.callcount, entry.reccallcount, callees])
    with open(path, "w") as file:
        json.dump(rows, file)


def main():
    output, script = sys.argv[1:3]
    del sys.argv[:2]
    sys.path[0] = script.rpartition("/")[0]
    finders = dict(sys.path_importer_cache)
    from _lsprof import Profiler

    # The import above must not save the script's own imports the making of a path finder.
    sys.path_importer_cache.clear()
    sys.path_importer_cache.update(finders)
    profiler = Profiler()
    try:
        run(script, profiler)
    finally:
        dump(profiler, output)


main()
