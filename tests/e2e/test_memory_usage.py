"""sonde.memory_usage against memory_profiler's, and %memit and %mprun."""

import json
import re

import interpreters
import pytest


def results(launch, executable, which):
    script = launch.support("memory_usage_cases.py")
    environment = {"PYTHONPATH": str(interpreters.package_folder())} if which == "sonde" else {}
    done = launch.run([executable, "-W", "ignore", script, which], environment=environment, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_memory_usage(launch):
    executable, reason = launch.python.peer_environment(["memory_profiler"])
    ours = results(launch, launch.python.executable, "sonde")
    if not executable:
        pytest.skip(reason)
    assert ours == results(launch, executable, "memory_profiler")


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
    grown = re.findall(r"MiB +(-?[\d.]+) MiB +(\d+) +kept.append", text)
    assert [(round(float(growth)), int(hits)) for growth, hits in grown] == [(160, 4), (40, 1), (120, 3)]
    assert "return len(bytearray(40 << 20))" in (launch.folder / "out.txt").read_text()
    assert "Could not find function 'work.missing'" in text + done.stderr.decode()
    assert "-r needs a number" in text + done.stderr.decode()
