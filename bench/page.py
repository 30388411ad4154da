#!/usr/bin/env python3
"""How quickly sonde's page, SnakeViz, speedscope and VizTracer's page show the same data in Chromium.

    bench/page.py [--cases samples,events,prof,table] [--sections opening,peers,frames] [--rounds 3]

Cases: samples (10^6 of them, 30 deep, hardly alike), events (10^6 calls on four threads), prof (a cProfile of
a pytest run), table (10^5 functions as rows). Sections: opening (sonde's page), peers (the others'), frames
(sonde's views at two sizes); each row is printed when it is known. Of all rounds the best counts; what took
more than five seconds is not done again. First: from the start of the navigation until a picture is drawn.
Blocked: the longest task of the page until then; the browser tells of those over 50 ms. Frame: what one takes
while zooming and moving (p95). Memory: the browser's largest process (PSS). Asks: requests to other places
than the page's own. Of the table also how long it takes to sort; and of each case the longest task while all
views are gone through. --realtime keeps other work on the machine out of the figures.
"""

import argparse
import contextlib
import functools
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))

import interpreters  # noqa: E402

SPEEDSCOPE = "speedscope@1.25.0"
# Milliseconds, and bytes of the page without data.
TARGETS = {
    "samples": 2000,
    "events": 2000,
    "prof": 500,
    "table": 2000,
    "frame": 16,
    "sort": 200,
    "blocked": 50,
    "page": 1_500_000,
}
SIZES = ("1400x900", "2560x1440")
# What of sonde's page moves in which case.
VIEWS = {
    "samples": ["view=flame", "view=flame&as=time", "view=sunburst"],
    "events": ["view=timeline", "view=flame&as=time"],
    "table": ["view=table"],
}
# What takes longer is not repeated.
SLOW_MS = 5000
FILES = {"samples": "bushy", "events": "events", "table": "functions"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@contextlib.contextmanager
def serving(folder):
    """The address of a server of the folder's files."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@contextlib.contextmanager
def running(command, url):
    """A server of somebody else's, from when it answers."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([str(word) for word in command], **streams) as server:
        for _ in range(200):
            with contextlib.suppress(OSError), urllib.request.urlopen(url):
                break
            time.sleep(0.1)
        yield url
        server.terminate()


def speedscope():
    """The folder of speedscope's page, fetched once; None when it cannot be."""
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = home / "sonde" / "speedscope"
    release = folder / "node_modules/speedscope/dist/release"
    if not release.exists():
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(["npm", "install", "--prefix", folder, *quiet, SPEEDSCOPE], check=False)
    return release if release.exists() else None


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.sections = options.sections.split(",")
        self.sonde = interpreters.sonde_program()
        self.maker = pathlib.Path(self.sonde).parents[3] / "tests/web/make_hard_recording"
        usable, _ = interpreters.find()
        hosts = [one for one in usable if not one.root and not one.free_threaded and one.numbers >= (3, 9)]
        wanted = hosts if "peers" in self.sections else []
        self.peers = wanted[-1].peer_environment(["viztracer", "snakeviz"])[0] if wanted else None
        self.speedscope = speedscope() if wanted else None

    def run_sonde(self, *words):
        subprocess.run([self.sonde, *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def recording(self, kind):
        path = self.folder / f"{kind}.sonde"
        count = [] if kind == FILES["table"] else [str(self.options.samples)]
        if not path.exists():
            with path.open("wb") as out:
                subprocess.run([self.maker, kind, *count], stdout=out, check=True)
        return path

    def open(self, viewer, url, size, *more):
        """What bench/page.mjs says of it."""
        command = ["node", HERE / "page.mjs", url, viewer, size, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-300:]}

    def measure(self, viewer, url):
        """Each figure the best of all rounds."""
        found = []
        for _ in range(self.options.rounds):
            found.append(self.open(viewer, url, SIZES[0]))
            if (found[-1].get("first_ms") or SLOW_MS) >= SLOW_MS:
                break
        best = min(found, key=lambda one: one.get("first_ms") or float("inf"))
        for name in ("longest_ms", "frame_ms"):
            best[name] = min((one[name] for one in found if one.get(name) is not None), default=None)
        return best

    def page(self, path):
        page = path.with_suffix(".html")
        if not page.exists():
            self.run_sonde("view", "--quiet", "-o", page, path)
        return page

    def ours(self, path, view):
        page = self.page(path)
        if "opening" in self.sections:
            yield "sonde", page.stat().st_size, self.measure("sonde", f"{page.as_uri()}#view={view}")

    def moving(self, case, size):
        page = self.page(self.recording(FILES[case]))
        address = f"{page.as_uri()}#{VIEWS[case][0]}"
        return self.open("sonde", address, size, str(self.options.rounds), *VIEWS[case])

    def in_speedscope(self, path):
        if not self.speedscope or "peers" not in self.sections:
            return
        site = self.folder / "speedscope"
        if not site.exists():
            shutil.copytree(self.speedscope, site)
        data = site / f"{path.stem}.json"
        self.run_sonde("export", "--quiet", "-f", "speedscope", "-o", data, path)
        with serving(site) as base:
            address = urllib.parse.quote(f"{base}/{data.name}", safe="")
            yield "speedscope", data.stat().st_size, self.measure(
                "speedscope", f"{base}/index.html#profileURL={address}"
            )

    def in_viztracer(self, path):
        if not self.peers or "peers" not in self.sections:
            return
        data = path.with_suffix(".json")
        self.run_sonde("export", "--quiet", "-f", "chrome", "-o", data, path)
        port = free_port()
        command = [pathlib.Path(self.peers).parent / "vizviewer", "--server_only", "-p", port, data]
        with running(command, f"http://127.0.0.1:{port}/vizviewer_info"):
            yield "VizTracer", data.stat().st_size, self.measure("viztracer", f"http://127.0.0.1:{port}/")

    def in_snakeviz(self, path):
        if not self.peers or "peers" not in self.sections:
            return
        port = free_port()
        command = [self.peers, "-m", "snakeviz", "-s", "-H", "127.0.0.1", "-p", port, path]
        address = f"http://127.0.0.1:{port}/snakeviz/{urllib.parse.quote(str(path), safe='')}"
        with running(command, f"http://127.0.0.1:{port}/static/d3.v3.min.js"):
            yield "SnakeViz", path.stat().st_size, self.measure("snakeviz", address)

    def samples(self):
        path = self.recording(FILES["samples"])
        yield from self.ours(path, "flame")
        yield from self.in_speedscope(path)

    def events(self):
        path = self.recording(FILES["events"])
        yield from self.ours(path, "timeline")
        yield from self.in_speedscope(path)
        yield from self.in_viztracer(path)

    def prof(self):
        path = self.folder / "pytest.prof"
        work = ["-m", "pytest", "-q", "-p", "no:cacheprovider", HERE.parent / "tests/tools"]
        command = [sys.executable, "-m", "cProfile", "-o", path, *work]
        subprocess.run(command, cwd=self.folder, check=False, capture_output=True)
        yield from self.ours(path, "flame")
        yield from self.in_snakeviz(path)

    def table(self):
        yield from self.ours(self.recording(FILES["table"]), "table")


def figure(value, unit, limit=None):
    if value is None:
        return f"{'-':>11}"
    return f"{value:>8,.0f} {unit}" + ("!" if limit and value > limit else " ")


def blocked(value, ours):
    return f"{'< 50':>8} ms " if value == 0 else figure(value, "ms", ours and TARGETS["blocked"])


def print_row(case, viewer, size, found):
    ours = viewer == "sonde"
    cells = [
        f"{case:9}{viewer:11}{size / 1e6:>8.1f} MB",
        figure(found.get("first_ms"), "ms", ours and TARGETS[case]),
        blocked(found.get("longest_ms"), ours),
        figure(found.get("frame_ms"), "ms", ours and TARGETS["frame"]),
        figure(found.get("pss_mb"), "MB"),
        f"{found.get('requests', 0):>5}",
        found.get("error", ""),
    ]
    print(" ".join(cells), flush=True)


def print_moving(bench, case, size):
    found = bench.moving(case, size)
    begin = f"{case:9}{size:11}"
    for view, frame_ms in found["frames"].items() if "frames" in found else ():
        print(f"{begin}{view:24}", figure(frame_ms, "ms", TARGETS["frame"]), flush=True)
    if case == "table":
        print(f"{begin}{'every row another':24}", figure(found.get("jump_ms"), "ms", TARGETS["frame"]))
        print(f"{begin}{'sorting':24}", figure(found.get("sort_ms"), "ms", TARGETS["sort"]))
    print(f"{begin}{'blocked, all views':24}", blocked(found.get("switch_ms"), True), flush=True)
    if "error" in found:
        print(f"{begin}{found['error']}")


def parse():
    parser = argparse.ArgumentParser(description="How quickly pages show the same data.")
    parser.add_argument("--cases", default="samples,events,prof,table", help="default: %(default)s")
    parser.add_argument("--sections", default="opening,peers,frames", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=1000000, help="and events; default: %(default)s")
    parser.add_argument("--realtime", action="store_true", help="before all other work of the machine")
    return parser.parse_args()


def main():
    options = parse()
    if not interpreters.sonde_program():
        sys.exit("sonde is not built: run make")
    if options.realtime:  # what is started from here on inherits it: servers and browsers alike
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(pathlib.Path(name), options)
        page = pathlib.Path(name, "page.html")
        bench.run_sonde("page", "--quiet", "-o", page)
        size = page.stat().st_size
        print(f"The page without data: {size:,} bytes{'!' if size > TARGETS['page'] else ''}")
        print(f"Best of {options.rounds}; ! = over the target.")
        heads = "".join(f"{head:>12}" for head in ("first", "blocked", "frame p95", "memory"))
        print(f"{'case':9}{'viewer':11}{'data':>11}{heads}  asks", flush=True)
        for case in options.cases.split(","):
            for viewer, data_bytes, found in getattr(bench, case)():
                print_row(case, viewer, data_bytes, found)
        if "frames" not in bench.sections:
            return
        print(f"{'case':9}{'size':11}{'frames of sonde':24} {'p95':>11}", flush=True)
        for case in options.cases.split(","):
            for size in SIZES if case in VIEWS else ():
                print_moving(bench, case, size)


if __name__ == "__main__":
    main()
