"""`--live`: a run is looked at while it is recorded. What nobody can be made to wait for: the program."""

import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from view_server import PATIENCE, Client, Server

TICKING = """
    import os, sys, time

    def tick():
        return sum(range(5000)) + len(bytes(100000))

    while not os.path.exists("stop"):
        tick()
    sys.exit(3)
"""
# Does so much work each time that it is asked to, and says so.
WORKING = """
    import os, time

    def work():
        return sum(range(100))

    for number in range(6):
        while not os.path.exists(f"go{number}"):
            time.sleep(0.005)
        for _ in range(500):
            work()
        os.rename(f"go{number}", f"done{number}")
"""
ROUNDS, CALLS = 6, 500
MODES = {
    "record": ["record"],
    "native": ["record", "--native"],
    "trace": ["trace"],
    "line": ["line", "-f", "tick"],
    "mem": ["mem", "--exact"],
    "mem lines": ["mem", "--lines", "--no-view", "-f", "tick"],
    "mem rss": ["mem", "--rss"],
}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until(check, process=None):
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < deadline, "it never came true"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.01)
    return found


def is_served(port):
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


class Run:
    """A program under --live, which ends with the test."""

    def __init__(self, launch, *command, script=TICKING, at=None, output="live.sonde", **options):
        launch.write("program.py", script)
        self.launch, self.port = launch, at or free_port()
        where = "--live" if at == 8086 else f"--live={self.port}"
        words = [launch.sonde, *(command or ("trace",)), where, "-o", output]
        self.process = launch.start([*words, "--", launch.python.executable, "program.py"], **options)
        self.path = launch.folder / output

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()
        self.process.communicate(timeout=PATIENCE)

    def client(self):
        until(lambda: is_served(self.port), self.process)
        return Client(self.port)

    def stop(self):
        (self.launch.folder / "stop").touch()

    def ended(self):
        """(exit code, standard error)"""
        _, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, err.decode()

    def child(self):
        """The process that serves."""
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat") as file:
                    _, words = file.read().split("(", 1)
                own, rest = words.rsplit(")", 1)
                if own == "sonde-live" and int(rest.split()[1]) == self.process.pid:
                    return int(name)
            except (OSError, ValueError):
                continue
        raise AssertionError("nobody serves")


def take_whole(client):
    """The recording's bytes, as a viewer takes them; (bytes, run, whether more will come)."""
    data = b""
    while True:
        status, headers, piece = client.request("GET", f"{client.path}recording?from={len(data)}")
        assert status == 200
        data += piece
        if len(data) >= int(headers["X-Sonde-Size"]):
            return data, headers["X-Sonde-Run"], headers["X-Sonde-Live"] == "1"


@pytest.mark.parametrize("mode", MODES)
def test_a_run_is_served_from_its_beginning_to_its_end(modern_launch, mode):
    with Run(modern_launch, *MODES[mode]) as run:
        client = run.client()
        events = client.events()
        assert next(events) == ("grown", {"recording": 0, "live": True})
        until(lambda: client.ask("summary").values["counter_totals"])
        if mode != "mem rss":
            until(lambda: "tick" in client.ask("codes").texts("name"))
        assert client.ask("summary").values["live"] is True
        assert take_whole(client)[2] is True
        run.stop()
        while next(events)[0] != "leaving":
            pass
        summary = client.ask("summary").values
        assert summary["live"] is False and summary["damage"]["complete"] is True
        whole, _, more = take_whole(client)
        events.close()
        code, err = run.ended()
        assert code == 3 and whole == run.path.read_bytes() and not more
        assert f"live at http://127.0.0.1:{run.port}/" in err
        assert not is_served(run.port)


def test_who_comes_late_sees_all_and_others_stay(modern_launch):
    with Run(modern_launch) as run:
        client = run.client()
        early, second = client.events(), client.events()
        assert next(early)[0] == next(second)[0] == "grown"
        early.close()
        late = client.events()
        assert next(late)[0] == next(second)[0] == "grown"
        assert "tick" in client.ask("codes").texts("name")
        late.close()
        second.close()


def test_nobody_looks_and_nobody_waits(modern_launch):
    with Run(modern_launch) as run:
        run.client()
        run.stop()
        code, err = run.ended()
        assert code == 3 and "look" not in err


def test_another_format_is_made_when_viewers_have_the_recording(modern_launch):
    with Run(modern_launch, output="out.prof") as run:
        client = run.client()
        events = client.events()
        next(events)
        run.stop()
        while next(events)[0] != "leaving":
            pass
        assert "tick" in client.ask("codes").texts("name")
        assert len(take_whole(client)[0]) > 1000
        events.close()
        assert run.ended()[0] == 3
        assert sorted(path.name for path in modern_launch.folder.glob("out*")) == ["out.prof"]


# ---- who holds up whom ----


def read_nothing(client, request):
    """A connection that asks and takes nothing of the answer."""
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    stuck.connect(("127.0.0.1", client.port))
    stuck.sendall(request.encode())
    return stuck


def work_through(launch, after_first=lambda: None):
    """Asks for all rounds; each is done before the next is asked for."""
    for number in range(ROUNDS):
        (launch.folder / f"go{number}").touch()
        until((launch.folder / f"done{number}").exists)
        if number == 0:
            after_first()


def calls_of_work(launch):
    (found,) = [
        figures for name, figures in launch.counts("program.py", "live.sonde").items() if "work" in name
    ]
    return found[0]


def test_stuck_viewers_hold_up_nothing(modern_launch):
    """The same work is done and the same calls are counted as without them; the file grows meanwhile."""
    sizes = []
    stuck = []
    with Run(modern_launch, script=WORKING) as run:
        client = run.client()

        def get_stuck():
            stuck.append(read_nothing(client, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            for _ in range(20):  # a page is a megabyte
                stuck.append(read_nothing(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            assert client.ask("summary").error is None  # who came before is served by now, too
            before = run.path.stat().st_size
            until(lambda: run.path.stat().st_size > before, run.process)  # somebody looks on: it is written
            sizes.append(run.path.stat().st_size)

        work_through(modern_launch, get_stuck)
        assert client.ask("summary").error is None, "others are still answered"
        for connection in stuck:
            connection.close()
        assert run.ended()[0] == 0
        assert calls_of_work(modern_launch) == ROUNDS * CALLS
        assert run.path.stat().st_size > sizes[0]


def test_a_server_that_stands_still_holds_up_nothing(modern_launch):
    with Run(modern_launch, script=WORKING) as run:
        events = run.client().events()
        child = run.child()
        work_through(modern_launch, lambda: os.kill(child, signal.SIGSTOP))
        events.close()
        until(
            lambda: (
                b'"complete":true'
                in subprocess.run(
                    [modern_launch.sonde, "info", "--json", run.path], capture_output=True
                ).stdout.replace(b" ", b"")
            )
        )
        run.process.send_signal(signal.SIGINT)
        assert run.ended()[0] == 0, "Ctrl-C ends the waiting, and the exit code is the program's"
        assert calls_of_work(modern_launch) == ROUNDS * CALLS


def test_ctrl_c_ends_the_waiting_for_viewers(modern_launch):
    with Run(modern_launch) as run:
        events = run.client().events()
        next(events)
        run.stop()
        while next(events)[0] != "leaving":
            pass
        run.process.send_signal(signal.SIGINT)
        code, err = run.ended()
        assert code == 3 and "given to those who look on" in err


def test_a_recorder_that_is_killed_leaves_no_server(modern_launch):
    with Run(modern_launch) as run:
        run.client()
        run.process.kill()
        until(lambda: not is_served(run.port))


def test_ctrl_c_is_the_programs(modern_launch):
    """A program that takes Ctrl-C for itself goes on being served."""
    script = TICKING.replace(
        "import os, sys, time", "import os, signal, sys, time\n    signal.signal(2, lambda *_: tick())"
    )
    with Run(modern_launch, script=script, start_new_session=True) as run:
        client = run.client()
        until(lambda: "tick" in client.ask("codes").texts("name"))
        os.killpg(run.process.pid, signal.SIGINT)
        events = client.events()
        assert next(events)[0] == "grown"
        events.close()
        run.stop()
        assert run.ended()[0] == 3


# ---- waiting ----


def test_the_program_waits_for_the_first_viewer(modern_launch):
    script = "open('began', 'w').close()\n" + TICKING.replace("\n    ", "\n")
    with Run(modern_launch, "record", "--live-wait", script=script) as run:
        client = run.client()
        assert client.ask("summary").values["live"] is True
        assert not (modern_launch.folder / "began").exists(), "who only asks is no viewer"
        events = client.events()
        until((modern_launch.folder / "began").exists, run.process)
        events.close()
        run.stop()
        assert "the program starts when somebody looks" in run.ended()[1]


def test_ctrl_c_ends_the_waiting_for_a_viewer(modern_launch):
    with Run(modern_launch, "record", "--live-wait") as run:
        run.client()
        until(lambda: b"Ctrl-C ends it" in run.process.stderr.readline(), run.process)
        run.process.send_signal(signal.SIGINT)
        assert run.ended()[0] == -signal.SIGINT
        assert not run.path.exists() and not is_served(run.port)


def state_of(viewer):
    return viewer.ask("summary").values["state"]


def test_a_viewer_waits_for_a_run_and_for_the_next(modern_launch):
    port = free_port()
    with Server(modern_launch.sonde, f":{port}") as viewer:
        assert until(lambda: state_of(viewer)) == f"waiting for a program at 127.0.0.1:{port}"
        for script in (TICKING, TICKING.replace("tick", "tock")):
            with Run(modern_launch, script=script, at=port) as run:
                name = "tick" if script == TICKING else "tock"
                until(lambda name=name: name in viewer.ask("codes").texts("name"), run.process)
                assert state_of(viewer) == "" and viewer.ask("summary").values["live"] is True
                run.stop()
                assert run.ended()[0] == 3
                until(lambda: "has ended; waiting for the next" in state_of(viewer))
                assert viewer.ask("summary").values["damage"]["complete"] is True
                with Server(modern_launch.sonde, run.path) as later:
                    assert later.ask("codes").texts("name") == viewer.ask("codes").texts("name")
            (modern_launch.folder / "stop").unlink()
            run.path.unlink()
        assert "tick" not in viewer.ask("codes").texts("name")


# ---- who may look ----


def test_beyond_this_machine_a_token_is_needed(modern_launch):
    secret = "a-token-of-24-characters"
    with Run(modern_launch, at=f"0.0.0.0:{free_port()}", environment={"SONDE_TOKEN": secret}) as run:
        run.port = int(run.port.rpartition(":")[2])
        client = run.client()
        wrong = f"/{secret[:-1]}x/"
        for path in ("/", "/ask", "/events", "/recording?from=0", wrong, f"{wrong}recording"):
            assert client.request("GET", path)[0] == 403, path
        assert Client(run.port, f"/{secret}/").ask("summary").error is None
        with Server(modern_launch.sonde, f"localhost:{run.port}") as viewer:
            until(lambda: "asks for a token" in state_of(viewer))
        for words in (
            ["--token", secret, f"localhost:{run.port}"],
            [f"http://127.0.0.1:{run.port}/{secret}/"],
        ):
            with Server(modern_launch.sonde, *words) as viewer:
                until(lambda: "tick" in viewer.ask("codes").texts("name"))
        run.stop()
        code, err = run.ended()
        assert (
            code == 3
            and f"live at http://0.0.0.0:{run.port}/{secret}/" in err
            and "everybody who can reach" in err
        )


def test_pages_and_names_from_elsewhere_are_refused(modern_launch):
    with Run(modern_launch) as run:
        client = run.client()
        body = '{"ask":"summary"}'
        assert client.request("GET", "/", headers={"Host": "evil.example"})[0] == 421
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            assert client.request("POST", "/ask", body, headers)[0] == 403
            assert client.request("GET", "/recording?from=0", headers=headers)[0] == 403
        assert client.request("GET", "/../etc/passwd")[0] == 404


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_of_this_machine_needs_the_token(modern_launch):
    secret = "a-token-of-24-characters"
    ask = (
        "import encodings.idna, http.client, os, sys; os.setuid(65534)\n"
        "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1])); c.request('GET', sys.argv[2])\n"
        "print(c.getresponse().status)"
    )
    with Run(modern_launch, environment={"SONDE_TOKEN": secret}) as run:
        run.client()
        for path, status in (("/", 403), ("/recording", 403), (f"/{secret}/", 200)):
            got = subprocess.check_output([sys.executable, "-c", ask, str(run.port), path], timeout=PATIENCE)
            assert int(got) == status, path


# ---- ports ----


def test_a_port_that_is_taken(modern_launch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with Run(modern_launch, at=port) as run:
            code, err = run.ended()
            assert code == 2 and f"port {port} is taken by another program" in err and not run.path.exists()


def test_without_a_port_a_free_one_is_found(modern_launch):
    with Run(modern_launch, at=8086) as run, Run(modern_launch, at=8086, output="other.sonde") as other:
        ports = []
        for one in (run, other):
            line = until(one.process.stderr.readline).decode()
            line = one.process.stderr.readline().decode() if "taken" in line else line
            ports.append(int(re.search(r"live at http://127.0.0.1:(\d+)/", line).group(1)))
        assert ports[0] >= 8086 and ports[1] >= 8086 and ports[0] != ports[1]


def test_each_rank_has_a_port_of_its_own(modern_launch):
    base = free_port()
    ranked = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
    with Run(modern_launch, at=base, environment=ranked) as run:
        run.port = base + 2
        assert run.client().ask("summary").values["live"] is True


@pytest.mark.parametrize(
    "options, words",
    [
        (["--live=nonsense"], "--live takes a port, or HOST:PORT"),
        (["--live=70000"], "--live takes a port, or HOST:PORT"),
        (["--live=192.0.2.1:8086"], "cannot listen at 192.0.2.1"),
        (["--live-wait"], "--live-wait needs --live"),
        (["--live", "-o", "/dev/null"], "must be a file"),
    ],
)
def test_mistakes_are_told(modern_launch, options, words):
    done = modern_launch.run([modern_launch.sonde, "trace", *options, "-c", "print('ran')"])
    assert done.returncode == 2 and words in done.stderr.decode() and not done.stdout
    assert not list(modern_launch.folder.glob("*.sonde"))


def test_a_server_of_another_kind_is_told(modern_launch):
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *unused):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with Server(modern_launch.sonde, f":{other.server_port}") as viewer:
            until(lambda: "is no sonde that serves a run" in state_of(viewer))
        other.shutdown()
