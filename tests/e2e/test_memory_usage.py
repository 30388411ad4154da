"""sonde.memory_usage against memory_profiler's, and %memit and %mprun."""

import json
import re

import interpreters
import pytest


def results(launch, executable, tool, kind):
    script = launch.support("memory_usage_cases.py")
    command = [executable, "-W", "ignore", script, tool, kind, interpreters.package_folder()]
    done = launch.run(command, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_memory_usage_is_memory_profilers(modern_launch):
    executable, reason = modern_launch.python.peer_environment(["memory_profiler"])
    if not executable:
        pytest.skip(reason)
    ours = results(modern_launch, executable, "sonde", "case_")
    assert ours == results(modern_launch, executable, "memory_profiler", "case_")
    assert len(ours) == 9


def test_memory_usage(launch):
    assert len(results(launch, launch.python.executable, "sonde", "check_")) == 4


IN_PROCESS = """
    import io
    import sys
    import threading

    sys.path.insert(0, sys.argv[1])
    import sonde


    def grow(count):
        kept = []
        for i in range(count):
            kept.append(None)
            kept[i] = bytes(12345)
        return kept


    def busy(go_on):
        while go_on:
            block = bytearray(1 << 20)


    go_on = [1]
    thread = threading.Thread(target=busy, args=(go_on,))
    thread.start()
    profiler = sonde.LineMemoryProfiler(grow)
    assert profiler(len) is len and profiler(precision=2) is profiler
    for count in (10, 20):
        assert len(profiler.runcall(grow, count)) == count
        ((key, rows),) = profiler.get_stats()
        assert key == (__file__, 9, "grow"), key
        hits, grown = {row[0]: row[1] for row in rows}, {row[0]: row[4] for row in rows}
        assert hits == {9: 1, 10: 1, 11: count + 1, 12: count, 13: count, 14: 1}, hits
        assert grown[13] == count * (12345 + sys.getsizeof(b"")), grown
    with_text = io.StringIO()
    profiler.print_stats(with_text, precision=5)
    assert "kept[i] = bytes(12345)" in with_text.getvalue()
    other = sonde.LineMemoryProfiler(grow)
    profiler.enable()
    try:
        other.enable()
    except RuntimeError as error:
        print(error)
    profiler.disable()
    profiler.disable()
    assert not profiler.get_stats()[0][1]
    go_on.clear()
    thread.join()
"""


def test_line_memory_profiler(launch):
    """Without a recorder; other threads allocate all the while."""
    script = launch.write("program.py", IN_PROCESS)
    done = launch.plain(script, interpreters.package_folder())
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"the memory of lines is being measured already\n"


WORK = """
    def grow(count):
        kept = []
        for i in range(count):
            kept.append(bytearray(40 << 20))
        return len(kept)
"""
SESSION = """
    import sys
    import work
    sys.path.insert(0, {packages!r})
    %load_ext sonde
    calls = []
    %memit calls.append(len(bytearray(200 << 20)))
    result = %memit -q -o -r 2 -i 10 calls.append(len(bytearray(100 << 20)))
    print("runs", len(calls), round(max(result.mem_usage) - result.baseline) // 10)
    get_ipython().run_cell_magic("memit", "size = 100 << 20", "block = bytearray(size)\\nblock = None")
    %mprun -f work.grow work.grow(4)
    def of_session():
        return len(bytearray(40 << 20))
    profiler = %mprun -r -T out.txt -f of_session -f work.grow of_session(); work.grow(1)
    print("rows", [len(rows) for _, rows in profiler.get_stats()])
    get_ipython().run_cell_magic("mprun", "-f work.grow", "work.grow(1)\\nwork.grow(2)")
    failed = get_ipython().run_cell("%mprun -f work.missing 1")
    failed = get_ipython().run_cell("%memit -r many 1")
"""


def test_magics(modern_launch):
    launch = modern_launch
    executable, reason = launch.python.peer_environment(["IPython"])
    if not executable:
        pytest.skip(reason)
    launch.write("work.py", WORK)
    script = launch.write("session.ipy", SESSION.format(packages=str(interpreters.package_folder())))
    command = [executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", script]
    done = launch.run(command, timeout=120)
    text = done.stdout.decode()
    increments = re.findall(r"^peak memory: [\d.]+ MiB, increment: ([\d.]+) MiB$", text, re.M)
    assert [round(float(increment)) // 10 for increment in increments] == [20, 10], text
    assert "runs 3 10" in text and "rows [2, 5]" in text
    grown = re.findall(r"MiB +(\d+) +[\d.]+ MiB +(-?[\d.]+) MiB +kept.append", text)
    assert [(int(hits), round(float(growth))) for hits, growth in grown] == [(4, 160), (1, 40), (3, 120)]
    assert "return len(bytearray(40 << 20))" in (launch.folder / "out.txt").read_text()
    assert "Could not find function 'work.missing'" in text + done.stderr.decode()
    assert "-r needs a number" in text + done.stderr.decode()
