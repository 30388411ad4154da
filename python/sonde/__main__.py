"""``python -m sonde ARGS``: becomes the program sonde, with this interpreter as the default target."""

import os
import sys


def find_program(package):
    """The program's path: in the package (wheel, build folder), below the same prefix, or on PATH."""
    prefix = os.path.join(package, *[os.pardir] * 4)  # from PREFIX/lib/sonde/python/sonde
    places = [os.path.join(package, "_bin"), os.path.join(prefix, "bin"), *os.get_exec_path()]
    for place in places:
        path = os.path.join(place, "sonde")
        if is_program(path):
            return os.path.realpath(path)
    return None


def is_program(path):
    """Whether it can be executed and is no script: a script named sonde would lead back to here."""
    try:
        with open(path, "rb") as stream:
            return os.access(path, os.X_OK) and stream.read(4) == b"\x7fELF"
    except OSError:
        return False


def interpreter_flags():
    """The flags that this interpreter was given before ``-m sonde``."""
    given = getattr(sys, "orig_argv", [])  # 3.10
    head = given[1 : len(given) - len(sys.argv) + 1]
    if head[-1:] == ["sonde"] and len(head) > 1 and head[-2].startswith("-") and head[-2].endswith("m"):
        bundled = head[-2][:-1]  # "-m", or other letters and m as in "-Om"
        return head[:-2] + ([bundled] if bundled != "-" else [])
    import subprocess

    return subprocess._args_from_interpreter_flags()


def target_environment(flags):
    """The environment with what the program needs to know of the interpreter; it takes these out again."""
    environment = dict(os.environ, SONDE_PYTHON=sys.executable)
    if flags:
        import shlex

        environment["SONDE_PYTHON_FLAGS"] = shlex.join(flags)
    return environment


def execute(environment):
    program = find_program(os.path.dirname(os.path.abspath(__file__)))
    if not program:
        sys.stderr.write(
            "sonde: its program was found neither in the package nor on PATH: install it again\n"
        )
        return 2
    try:
        os.execve(program, ["sonde", *sys.argv[1:]], environment)
    except OSError as error:
        sys.stderr.write(f"sonde: cannot start {program}: {error.strerror}\n")
        return 2


def main():
    """The console script. Called from elsewhere than its own environment (pipx, pip --user), it leaves the
    choice of the interpreter to the program, which takes the one on PATH."""
    beside = os.path.dirname(os.path.abspath(sys.argv[0])) == os.path.dirname(sys.executable)
    return execute(target_environment([]) if beside else dict(os.environ))


if __name__ == "__main__":
    sys.exit(execute(target_environment(interpreter_flags())))
