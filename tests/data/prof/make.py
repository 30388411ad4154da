"""make.py cProfile|profile OUT: writes a .prof file of small.py with the Python that runs it, 2.7 on."""

import sys

profiler, out = sys.argv[1:]
with open("small.py") as stream:
    code = compile(stream.read(), "small.py", "exec")
profile = __import__(profiler).Profile()
names = {"__name__": "__main__"}
profile.runctx(code, names, names)
profile.dump_stats(out)
