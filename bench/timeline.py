#!/usr/bin/env python3
"""What a call costs when each is kept with its times: extra ns and bytes per call, sonde beside VizTracer.

    bench/timeline.py [--pythons 3.12,3.13] [--cases fib,mixed] [--rounds 5]

Each round runs every tool once, one after the other, and of all rounds the best time counts. The clock is the
work program's own (bench/calls.py). Bytes are those of the file by the calls in it; VizTracer's is JSON, its
buffer large enough for all calls. Targets: 0.4 of VizTracer's extra time, 8 bytes a call. What sonde lost
on the way because the recorder could not keep up is told; on a machine with a free core it is nothing.
"""

import json
import subprocess
import sys

import rounds
from rounds import interpreters

CASES = ["fib", "mixed", "wide", "C calls"]
TOOLS = ["none", "sonde", "VizTracer"]
ENTRIES = 20000000
LARGEST_RATIO, LARGEST_BYTES = 0.4, 8


class Bench:
    def __init__(self, python, folder):
        self.python, self.folder = python, folder
        self.viztracer, self.no_viztracer = python.peer_environment(["viztracer"])
        self.tools = [tool for tool in TOOLS if tool != "VizTracer" or self.viztracer]
        self.recording, self.json = folder / "bench.sonde", folder / "bench.json"

    def command(self, tool, case):
        python, work = self.python.executable, [self.folder / "calls.py", case]
        trace = [interpreters.sonde_program(), "trace", "--quiet", "--timeline", "-o", self.recording]
        viztracer = ["-m", "viztracer", "--quiet", "--tracer_entries", str(ENTRIES), "-o", self.json]
        return {
            "none": [python, *work],
            "sonde": [*trace, "--", python, *work],
            "VizTracer": [self.viztracer, *viztracer, *work],
        }[tool]

    def measure(self, tool, case):
        entered = self.python.enter(self.command(tool, case), self.folder)
        done = subprocess.run(entered, cwd=self.folder, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} failed on {case}: {done.stderr.decode().strip()}")
        return json.loads(done.stdout.splitlines()[0])["ns"]

    def told(self):
        """Of the last recording: bytes a call, and what it lost."""
        info = subprocess.run(
            [interpreters.sonde_program(), "info", "--json", self.recording], capture_output=True, check=True
        )
        (found,) = json.loads(info.stdout)
        lost = sum(note["count"] for note in found["notes"] if "timeline" in note["text"])
        return self.recording.stat().st_size / max(1, found["counts"]["call_event_rows"]), lost

    def viztracer_bytes(self):
        text = self.json.read_bytes()
        return len(text) / max(1, text.count(b'"dur"'))


def run(bench, case, number):
    ns = rounds.best(lambda tool: bench.measure(tool, case), bench.tools, number)
    own_bytes, lost = bench.told()
    extra = {tool: ns[tool] - ns["none"] for tool in bench.tools[1:]}
    words = [f"{bench.python!r:8} {case:8} none {ns['none']:5.0f} ns, sonde +{extra['sonde']:4.0f} ns"]
    words.append(f"{own_bytes:.1f} bytes a call" + (f" ({lost} calls lost)" if lost else ""))
    good = own_bytes <= LARGEST_BYTES
    if "VizTracer" in extra:
        ratio = extra["sonde"] / extra["VizTracer"]
        words.append(f"VizTracer +{extra['VizTracer']:4.0f} ns and {bench.viztracer_bytes():.0f} bytes")
        words.append(f"{ratio:.2f} of its time")
        good = good and ratio <= LARGEST_RATIO
    print(", ".join(words), "" if good else "  OVER", flush=True)
    return good


def main():
    parser = rounds.parser(__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    good = True
    for python, folder in rounds.pythons(options, "calls.py"):
        bench = Bench(python, folder)
        if not bench.viztracer:
            print(f"{python!r}: VizTracer: {bench.no_viztracer}")
        for case in options.cases.split(","):
            good = run(bench, case, options.rounds) and good
    sys.exit(not good)


main()
