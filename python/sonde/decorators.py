"""``profile``, ``lineprof`` and ``memprof``: they do nothing, at no cost, when no profiler runs the script.

While ``sonde line`` (or kernprof) runs it, ``profile`` and ``lineprof`` choose the function; while ``sonde
mem --lines`` (or memory_profiler) does, ``profile`` and ``memprof``. Without any of them, the environment
variable LINE_PROFILE=1 or the argument --line-profile make ``profile`` a profiler that prints and writes its
results when the script ends, as line_profiler's own decorator of this name does.
"""

import builtins
import contextlib
import os
import sys

_OFF = {"", "0", "false", "f", "off", "no", "n"}


class ExplicitProfiler:
    """The type of ``profile``; its settings may be changed before the first use.

    ``enabled``: None until the first use has found out. ``setup_config``: which environment variables and
    arguments enable it. ``output_prefix``, ``write_config``: what is written at the end, and where.
    ``show_config``: how it is printed.
    """

    def __init__(self):
        self.enabled = None
        self.setup_config = {
            "environ_flags": ["LINE_PROFILE"],
            "cli_flags": ["--line-profile", "--line_profile"],
        }
        self.output_prefix = "profile_output"
        self.write_config = {"lprof": True, "text": True, "timestamped_text": True, "stdout": True}
        self.show_config = {
            "sort": True,
            "stripzeros": True,
            "rich": True,
            "details": False,
            "summarize": True,
        }
        self._profile = None
        self._process = None

    def __call__(self, func=None, **settings):
        """The decorator. Without a function, with memory_profiler's settings, it gives the decorator back."""
        if func is None:
            return self
        if self.enabled is None:
            self._find_out()
        return self._profile(func) if self.enabled else func

    def _find_out(self):
        runner = getattr(builtins, "profile", None)
        if callable(runner):  # sonde line, sonde mem --lines, kernprof or memory_profiler
            self._profile = runner
            self.enabled = True
        elif self._is_asked_for():
            self.enable()
        else:
            self.enabled = False

    def _is_asked_for(self):
        flags = self.setup_config["environ_flags"]
        named = any(os.environ.get(flag, "").strip().lower() not in _OFF for flag in flags)
        return named or any(flag in sys.argv for flag in self.setup_config["cli_flags"])

    def enable(self, output_prefix=None):
        """Time what is decorated from now on, and show the results when the script ends.

        Not in processes that multiprocessing starts: their results would overwrite the script's own.
        """
        if _is_worker():
            self.enabled = False
            return
        if self._profile is None:
            import atexit

            from sonde.line_profile import LineProfiler

            self._profile = LineProfiler()
            self._process = os.getpid()
            atexit.register(self._show_at_exit)
        self.enabled = True
        if output_prefix is not None:
            self.output_prefix = output_prefix

    @contextlib.contextmanager
    def timestamp(self, name="<block>"):
        """For blocks that mprof is to mark, as memory_profiler's method of this name."""
        timestamp = getattr(getattr(builtins, "profile", None), "timestamp", None)
        with timestamp(name) if timestamp else contextlib.nullcontext():
            yield

    def disable(self):
        """Decorated functions are left alone from now on."""
        self.enabled = False

    def _show_at_exit(self):
        if os.getpid() == self._process:
            self.show()

    def show(self):
        """Print and write the results, as write_config and show_config say."""
        if self.write_config["stdout"]:
            self._profile.print_stats(**self.show_config)
        if self.write_config["text"]:
            self._write_text(self.output_prefix + ".txt")
        if self.write_config["timestamped_text"]:
            import time

            self._write_text(self.output_prefix + time.strftime("_%Y-%m-%dT%H%M%S.txt"))
        if self.write_config["lprof"]:
            name = self.output_prefix + ".lprof"
            self._profile.dump_stats(name)
            print("Wrote profile results to " + name)
            print("To view details run:")
            print("sonde report --skip-zero --summarize " + name)

    def _write_text(self, name):
        with open(name, "w", encoding="utf-8") as stream:
            self._profile.print_stats(stream, **{**self.show_config, "details": True, "rich": False})
        print("Wrote profile results to " + name)


def _is_worker():
    multiprocessing = sys.modules.get("multiprocessing.process")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


profile = ExplicitProfiler()


def _is_of_memory(runner):
    """Whether the profiler that runs the script measures memory."""
    return type(runner).__module__.partition(".")[0] == "memory_profiler"


def lineprof(func):
    """For functions whose times are of interest: ``profile``, unless memory is what is measured."""
    return func if _is_of_memory(getattr(builtins, "profile", None)) else profile(func)


def memprof(func):
    """For functions whose memory is of interest: ``profile`` while memory is measured, else nothing."""
    runner = getattr(builtins, "profile", None)
    return runner(func) if _is_of_memory(runner) else func
