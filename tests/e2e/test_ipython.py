"""%lprun and %%lprun_all, in IPython and in a Jupyter kernel, against line_profiler's own."""

import json
import re

import interpreters
import pytest

WORK = """
    def inner(n):
        return n + 1

    def outer(n):
        total = 0
        for i in range(n):
            total += inner(i)
        return total

    def never():
        return 0
"""
SESSION = """
    import sys
    import work
    sys.path.insert(0, {packages!r})
    %load_ext {extension}
    %lprun -f work.outer -f work.inner -u 1e-6 work.outer(3)
    %lprun -z -m work work.inner(2)
    %lprun -s -f work.never -f work.inner work.inner(2)
    %lprun -f work.outer work.outer(2); x = "quoted"
    print(x)
    %lprun -D out.lprof -T out.txt -f work.outer work.outer(1)
    profiler = %lprun -r -f work.outer work.outer(4)
    (rows,) = profiler.get_stats().timings.values()
    print(type(profiler).__name__, [row[:2] for row in rows])
    %lprun -f work.inner work.inner(2); raise SystemExit
    failed = get_ipython().run_cell("%lprun -f work.missing 1")
    failed = get_ipython().run_cell("%lprun -m missing_module 1")
    %lprun -f work.inner profile(work.outer)(2)
    print(hasattr(__builtins__, "profile"))
"""
ALL = """
    import sys
    sys.path.insert(0, {packages!r})
    %load_ext {extension}
    source = '''
    def function(n):
        total = 0
        for i in range(n):
            total += i
        return total

    class Kind:
        def method(self):
            return [function(i) for i in range(3)]

    for i in range(2):
        Kind().method()
    '''
    get_ipython().run_cell_magic("lprun_all", "", source)
    print(i, Kind().method(), "_total_time_taken" in globals())
    get_ipython().run_cell_magic("lprun_all", "-t -p", source)
    print("_total_time_taken" in globals())
"""


@pytest.fixture(scope="module")
def peer(modern):
    """A Python with IPython and line_profiler, and perhaps a Jupyter kernel."""
    executable, reason = modern.peer_environment(["line_profiler", "IPython"])
    if not executable:
        pytest.skip(reason)
    return executable


def ipython(launch, executable, session, **values):
    launch.write("work.py", WORK)
    values["packages"] = str(interpreters.package_folder())
    script = launch.write("session.ipy", session.format(**values))
    command = [executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", script]
    done = launch.run(command, timeout=120)
    return done.stdout.decode().splitlines(), done.stderr.decode()


def shape(lines):
    """Of tables each line's number, hits and contents; of all else the words."""
    column = 0
    for line in lines:
        if line.endswith("Line Contents"):
            column = line.index("Line Contents")
        if line[:6].strip().isdigit():
            yield line[:6], line[7:16], line[column:].rstrip()
        elif line and not line.startswith("==="):
            yield re.sub(r"[-\d.e]+ s\b|Per Hit.*|ipython-input-\S+", "", line)


def test_lprun(modern_launch, peer):
    launch = modern_launch
    lines, errors = ipython(launch, peer, SESSION, extension="sonde")
    text = (launch.folder / "out.txt").read_text().splitlines()
    dumped = launch.run([launch.sonde, "report", launch.folder / "out.lprof"]).stdout.decode().splitlines()
    their_lines, their_errors = ipython(launch, peer, SESSION, extension="line_profiler")
    assert list(shape(lines)) == list(shape(their_lines))
    assert errors == their_errors
    assert ("     5", "        1", "    total = 0") in shape(text)
    assert ("     5", "        1", "    total = 0") in shape(dumped)


def test_lprun_alone(modern_launch, peer):
    """Beyond line_profiler: sources of the session beside those of files, blanks in texts, why there is
    nothing, results of what failed."""
    session = """
        import sys
        import work
        sys.path.insert(0, {packages!r})
        %load_ext sonde
        def here(n):
            for i in range(n):
                work.inner(i)

        %lprun -f work.inner -f here here(2)
        %lprun work.inner(2)
        %lprun -f work.never work.inner(2)
        %lprun -f work.inner x = "two  spaces", -work.inner(2)
        print(x)
        failed = get_ipython().run_cell("%lprun -q work.inner(2)")
        %lprun -f work.inner work.inner(None)
    """
    lines, errors = ipython(modern_launch, peer, session)
    assert "*** No function was chosen: name some with -f FUNCTION or -m MODULE." in lines
    assert "*** No function that was chosen has run." in lines
    assert "('two  spaces', -3)" in lines
    assert any(row[1:] == ("        2", "        work.inner(i)") for row in shape(lines))
    assert "UsageError: -q is not an option here" in errors
    assert ("     2", "        1", "    return n + 1") in shape(lines)
    assert any("TypeError" in line for line in lines + errors.splitlines())


def test_lprun_all(modern_launch, peer):
    def timed(lines):
        return [row for row in shape(lines) if isinstance(row, tuple) and row[1].strip()]

    lines, _ = ipython(modern_launch, peer, ALL, extension="sonde")
    their_lines, _ = ipython(modern_launch, peer, ALL, extension="line_profiler")
    assert timed(lines) == timed(their_lines)
    assert timed(lines)
    assert "1 [0, 0, 1] False" in lines
    assert lines[-1] == "True"


def test_jupyter_kernel(modern_launch, modern):
    executable, reason = modern.peer_environment(["line_profiler", "IPython", "ipykernel"])
    if not executable:
        pytest.skip(reason)
    script = modern_launch.write(
        "notebook.py",
        """
        import json
        import sys
        from jupyter_client.manager import start_new_kernel

        CELLS = [
            f"import sys; sys.path.insert(0, {sys.argv[1]!r})",
            "%load_ext sonde",
            "def f(n):\\n    for i in range(n):\\n        n += i\\n    return n",
            "%lprun -f f f(3)",
            "def f(n):\\n    return n",
            "%lprun -f f f(3)",
            "%%lprun_all\\nfor i in range(4):\\n    f(i)",
        ]
        manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60)
        texts = []
        try:
            for cell in CELLS:
                reply = client.execute_interactive(cell, timeout=60, output_hook=lambda message: None)
                content = reply["content"]
                assert content["status"] == "ok", content
                texts.append([part["data"]["text/plain"] for part in content["payload"]])
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        print(json.dumps(texts))
        """,
    )
    done = modern_launch.run([executable, script, interpreters.package_folder()], timeout=180)
    assert done.returncode == 0, done.stderr
    texts = json.loads(done.stdout.splitlines()[-1])
    assert [len(parts) for parts in texts] == [0, 0, 0, 1, 0, 1, 1]
    first, second, cell = (list(shape(texts[place][0].splitlines())) for place in (3, 5, 6))
    assert ("     2", "        4", "    for i in range(n):") in first
    assert ("     2", "        1", "    return n") in second
    assert cell[-2:] == [
        ("     1", "        5", "for i in range(4):"),
        ("     2", "        4", "    f(i)"),
    ]
