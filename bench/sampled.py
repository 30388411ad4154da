"""The work that samplers are compared on: sampled.py DEPTH SECONDS prints what it took, as one line of JSON.

Many equal slices, each timed by itself: of these the fastest tenth counts, and the middle. What else runs on
the machine makes some slices slow; a sampler makes all of them a little slower. With a third word it says
that it is there and waits for a line, so that a sampler can be attached.
"""

import json
import sys
import time


def descend(depth):
    if depth:
        return descend(depth - 1)
    total = 0
    for number in range(200):
        total += number * number
    return total


def main(depth, seconds):
    times = []
    descend(depth)
    end = time.perf_counter() + seconds
    while len(times) < 20 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(400):
            descend(depth)
        times.append(time.perf_counter() - start)
    times.sort()
    best, middle = times[len(times) // 10], times[len(times) // 2]
    print(json.dumps({"best": best, "middle": middle, "cpu": time.process_time()}), flush=True)


if sys.argv[3:]:
    print("ready", flush=True)
    sys.stdin.readline()
main(int(sys.argv[1]), float(sys.argv[2]))
