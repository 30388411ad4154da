"""The work of bench/regions.py: an empty region again and again; prints what one took, without the loop.

    region_work.py TOOL PACKAGE     TOOL: sonde, pyop2, nvtx, viztracer; PACKAGE: the folder that sonde is in
"""

import json
import sys
import time

REPEATS, COUNT = 5, 100000
TIMERS = {}


class Pyop2Timer:
    """As PyOP2's was: a dictionary by name, the times of all calls in a list, the clock time.time."""

    def __new__(cls, name):
        timer = TIMERS.get(name)
        if timer is None:
            timer = TIMERS[name] = super().__new__(cls)
            timer.times, timer.begin = [], None
        return timer

    def start(self):
        if self.begin is None:
            self.begin = time.time()

    def stop(self):
        self.times.append(time.time() - self.begin)
        self.begin = None


class Pyop2Region:
    def __init__(self, name):
        self.timer = Pyop2Timer(name)

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.stop()


def region_of(tool):
    if tool == "sonde":
        sys.path.insert(0, sys.argv[2])
        from sonde import timed_region

        return timed_region
    if tool == "nvtx":
        import nvtx

        return nvtx.annotate
    if tool == "viztracer":
        import viztracer

        tracer = viztracer.VizTracer(verbose=0, tracer_entries=4 * REPEATS * COUNT, ignore_c_function=True)
        tracer.start()
        return tracer.log_event
    return Pyop2Region


def measure(region):
    names = range(COUNT)
    begin = time.perf_counter_ns()
    for _ in names:
        pass
    empty = time.perf_counter_ns() - begin
    begin = time.perf_counter_ns()
    for _ in names:
        with region("region"):
            pass
    return (time.perf_counter_ns() - begin - empty) / COUNT


if __name__ == "__main__":
    made, best = region_of(sys.argv[1]), float("inf")
    for _ in range(REPEATS):
        best = min(best, measure(made))
        time.sleep(0.1)  # whoever reads along may catch up
    print(json.dumps({"ns": best}))
