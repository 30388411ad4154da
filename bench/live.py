#!/usr/bin/env python3
"""What a run costs that is looked at while it goes on (--live), and how soon it is seen.

    bench/live.py [--pythons 3.13] [--rounds 7] [--pin] [--mode trace|record]

Speed of the program (its own clock, the best of alternating rounds) beside the same recording without
--live: with nobody looking, with a viewer that takes all there is, with 20 that ask and take nothing, and
with the serving process stopped. Then: from the moment a zone was first entered until a viewer has it, over
HTTP as a page asks (what the page takes to draw comes on top: tests/web prints that).
"""

import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

import rounds
from rounds import interpreters
from view_server import Client

TOOLS = ["no --live", "nobody", "viewer", "stuck", "stopped"]
WORK = """
import json, time
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
time.sleep(1.0)
began, used = time.perf_counter(), time.process_time()
for _ in range({times}):
    fib(25)
print(json.dumps([time.perf_counter() - began, time.process_time() - used]))
"""
ZONES = """
import time
from sonde import timed_region
for number in range(12):
    with timed_region(f"zone {number} {time.monotonic()}"):
        time.sleep(0.05)
    end = time.monotonic() + 0.5 + 0.037 * number
    while time.monotonic() < end:
        sum(range(1000))
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.01)


def look_on(port):
    """As a page does: asks for everything again whenever more is there."""
    client = Client(port)
    try:
        for event, _ in client.events():
            for question in ("summary", "codes", "functions"):
                client.ask(question)
            if event == "leaving":
                return
    except (OSError, http.client.HTTPException, AssertionError):
        return


def get_stuck(port):
    found = []
    for path in ["/events", *["/"] * 20]:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        one.connect(("127.0.0.1", port))
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        found.append(one)
    return found


def child_of(pid):
    return int(subprocess.check_output(["pgrep", "-P", str(pid), "-x", "sonde-live"]).split()[0])


class Bench:
    def __init__(self, python, folder, options):
        self.python, self.folder, self.options, self.used = python, folder, options, {}
        (folder / "work.py").write_text(WORK.format(times=60 if options.mode == "record" else 20))
        (folder / "zones.py").write_text(ZONES)

    def start(self, script, *more):
        command = [interpreters.sonde_program(), self.options.mode, "--quiet", *more, "-o"]
        command += [self.folder / "bench.sonde", "--", self.python.executable, self.folder / script]
        pin = (lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})) if self.options.pin else None
        entered = self.python.enter(command, self.folder)
        environment = {**os.environ, "PYTHONPATH": str(interpreters.package_folder())}
        return subprocess.Popen(
            entered, cwd=self.folder, env=environment, stdout=subprocess.PIPE, preexec_fn=pin
        )

    def measure(self, tool):
        port = free_port()
        run = self.start("work.py", *([] if tool == "no --live" else [f"--live={port}"]))
        stuck = []
        if tool != "no --live":
            wait_for(port)
        if tool in ("viewer", "stopped"):
            threading.Thread(target=look_on, args=(port,), daemon=True).start()
        if tool == "stuck":
            stuck = get_stuck(port)
        if tool == "stopped":
            time.sleep(0.5)
            os.kill(child_of(run.pid), signal.SIGSTOP)
        took, used = json.loads(run.stdout.readline())
        self.used[tool] = min(used, self.used.get(tool, used))
        for one in stuck:
            one.close()
        if tool == "stopped":
            run.stdout.read()
            time.sleep(0.3)
            run.send_signal(signal.SIGINT)
        if run.wait() != 0:
            sys.exit(f"{tool}: the run failed")
        return took

    def delays_ms(self):
        """Of each zone that a viewer saw while the program ran."""
        port = free_port()
        run = self.start("zones.py", f"--live={port}", "--live-wait")
        wait_for(port)
        client, found = Client(port), {}
        for event, _ in client.events():
            for name in client.ask("summary").values["regions"]:
                if name.startswith("zone") and name not in found:
                    found[name] = 1000 * (time.monotonic() - float(name.split()[2]))
            if event == "leaving":
                break
        run.wait()
        return list(found.values())


def main():
    parser = rounds.parser(__doc__, rounds=7)
    parser.add_argument("--pin", action="store_true", help="the program and all of sonde on one CPU")
    parser.add_argument("--mode", choices=["trace", "record"], default="trace")
    options = parser.parse_args()
    options.pythons = options.pythons or "3.13"
    for python, folder in rounds.pythons(options):
        bench = Bench(python, folder, options)
        found = rounds.best(bench.measure, TOOLS, options.rounds)
        plain = found["no --live"]
        speeds = ", ".join(
            f"{tool} {plain / found[tool]:.3f} ({bench.used[TOOLS[0]] / bench.used[tool]:.3f})"
            for tool in TOOLS[1:]
        )
        print(f"{python!r} {options.mode}: speed (by CPU time) beside no --live, {plain:.3f} s: {speeds}")
        delays = bench.delays_ms()
        median, worst = statistics.median(delays), max(delays)
        print(f"    a zone is seen after {median:.0f} ms, at most {worst:.0f} ms ({len(delays)} zones)")


if __name__ == "__main__":
    main()
