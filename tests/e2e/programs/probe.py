"""Everything about its process that a profiler could disturb, printed."""

import os
import signal
import sys
import threading

print("name", __name__)
print("package", __package__)
print("spec", __spec__ and __spec__.name)
print("file", globals().get("__file__"))
print("argv", sys.argv)
print("orig_argv", getattr(sys, "orig_argv", None))
print("path", sys.path)
print("executable", sys.executable, sys.prefix, sys.base_prefix)
print("flags", sys.flags)
print("xoptions", sys._xoptions, sys.warnoptions)
print("main", sorted(vars(sys.modules["__main__"])))
print("modules", sorted(sys.modules))
finders = [getattr(finder, "__qualname__", type(finder).__qualname__) for finder in sys.meta_path]
print("hooks", finders, len(sys.path_hooks), sys.excepthook, sys.displayhook)
print("finders", sorted(sys.path_importer_cache))
print("threads", threading.active_count(), len(os.listdir("/proc/self/task")))
print("trace", sys.gettrace(), threading._trace_hook if hasattr(threading, "_trace_hook") else None)
print("recursion", sys.getrecursionlimit(), sys.getswitchinterval())
for number in sorted(signal.valid_signals()):
    print("signal", int(number), signal.getsignal(number))
print("blocked", sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))
with open("/proc/self/status") as status:
    print("masks", [line.split() for line in status if line.startswith(("SigB", "SigI", "SigC"))])
descriptors = {}
for number in os.listdir("/proc/self/fd"):
    try:
        descriptors[int(number)] = os.readlink("/proc/self/fd/" + number).partition(":")[0]
    except OSError:
        pass  # the one that lists the folder
print("descriptors", sorted(descriptors.items()))
print("cwd", os.getcwd(), "umask", oct(os.umask(0o022)))
for name in sorted(os.environ):
    print("environment", name, os.environ[name])
with open("/proc/self/cmdline", "rb") as arguments:
    print("cmdline", arguments.read())
print("group", os.getpgid(0) == os.getpgid(os.getppid()))
