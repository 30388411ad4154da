"""`sonde view`: who gets what from the page's server, following a run, and pages as files."""

import base64
import json
import os
import re
import select
import shutil
import socket
import subprocess
import time

import interpreters
import pytest
from view_server import PATIENCE, Server

INPUTS = interpreters.REPOSITORY / "tests" / "golden" / "inputs"
LIMIT = 64 << 10
CONNECTIONS = 64
TICKING = """
    import os, time

    def tick():
        return sum(range(20000))

    while not os.path.exists("stop"):
        tick()
"""


@pytest.fixture(scope="module")
def server(sonde):
    with Server(sonde, INPUTS / "small.sonde", INPUTS / "small.prof") as started:
        yield started


def talk(server, data):
    """What comes back for these bytes before the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_the_page_and_its_headers(server):
    status, headers, body = server.request("GET", server.path)
    assert status == 200 and b"data-served" in body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    own = re.search(r'"Content-Security-Policy" content="([^"]*)"', body.decode()).group(1)
    assert policy.startswith(own)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert server.request("HEAD", server.path)[2] == b""


def test_answers_are_those_of_the_files(server, sonde):
    assert server.ask("recordings").values["recordings"] == [
        str(INPUTS / "small.sonde"),
        str(INPUTS / "small.prof"),
    ]
    for number, name in enumerate(("small.sonde", "small.prof")):
        report = json.loads(subprocess.check_output([sonde, "report", "--json", "-n", "0", INPUTS / name]))
        functions = server.ask("functions", recording=number)
        assert sum(functions.array("self")) == pytest.approx(
            sum(row["self_ns"] for row in report["functions"]), abs=1000
        )
    assert "nonsense" in server.ask("nonsense").error


def test_who_has_no_token_gets_nothing(server):
    token = server.path.strip("/")
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    for path in (
        "/",
        "/ask",
        "/events",
        f"/{wrong}/",
        f"/{token}0/",
        f"/{token[:-1]}/",
        f"//{token}/",
        "/favicon.ico",
    ):
        status, _, body = server.request("GET", path)
        assert status == 403 and token.encode() not in body, path
    assert server.request("POST", f"/{wrong}/ask", '{"ask":"recordings"}')[0] == 403


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "ask/../../x", "ask%00"]
)
def test_no_path_leads_to_a_file(server, path):
    status, _, body = server.request("GET", server.path + path)
    assert status == 404 and b"root:" not in body


def test_foreign_names_and_pages_are_refused(server):
    body = '{"ask":"recordings"}'
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "192.168.1.1"):
        assert server.request("GET", server.path, headers={"Host": host})[0] == 421
    for host in ("localhost", f"127.0.0.1:{server.port}", "localhost:9999", "[::1]:1"):
        assert server.request("GET", server.path, headers={"Host": host})[0] == 200
    own = f"http://127.0.0.1:{server.port}"
    for origin, status in (
        (own, 200),
        ("http://evil.example", 403),
        ("null", 403),
        (own + "0", 403),
        ("", 403),
    ):
        assert server.request("POST", server.path + "ask", body, {"Origin": origin})[0] == status
    assert server.request("POST", server.path + "ask", body, {"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_wrong_methods(server):
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        status, headers, _ = server.request(method, server.path)
        assert (status, headers["Allow"]) == (405, "GET")
    status, headers, _ = server.request("GET", server.path + "ask")
    assert (status, headers["Allow"]) == (405, "POST")


def test_sizes_are_limited(server):
    fits = '{"ask":"recordings","text":"' + "x" * (LIMIT - 30 - 500) + '"}'
    assert len(fits) < LIMIT and server.request("POST", server.path + "ask", fits)[0] == 200
    assert server.request("POST", server.path + "ask", "x" * (LIMIT + 1))[0] == 413
    assert server.request("GET", server.path, headers={"X-Long": "x" * 20000})[0] == 431
    start = f"POST {server.path}ask HTTP/1.1\r\nHost: localhost\r\n".encode()
    assert talk(server, start + b"Content-Length: 99999999999999999999\r\n\r\n").startswith(b"HTTP/1.1 413 ")
    assert talk(server, start + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").startswith(b"HTTP/1.1 501 ")
    assert talk(server, start + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n").startswith(
        b"HTTP/1.1 400 "
    )
    assert talk(server, b"\x16\x03\x01\x02\x00 hello, TLS? \r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_one_connection_serves_many_requests(server):
    connection = server.connect()
    for _ in range(20):
        connection.request("POST", server.path + "ask", '{"ask":"summary"}')
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    connection.close()
    one = f"GET {server.path}ask HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    last = f"GET {server.path}ask HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
    assert talk(server, one * 3 + last).count(b"HTTP/1.1 405 ") == 4


def test_half_requests_do_not_keep_others_out(server):
    half = f"GET {server.path} HTTP/1.1\r\nHost: loc".encode()
    held = []
    try:
        for _ in range(CONNECTIONS + 20):
            held.append(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            held[-1].sendall(half)
        assert server.request("GET", server.path)[0] == 200
    finally:
        for connection in held:
            connection.close()


def test_a_slow_client_is_let_go(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET / HT")
        try:
            for byte in b"TP/1.1\r\nHost: localhost\r\nX: " + b"x" * PATIENCE * 2:
                connection.sendall(bytes([byte]))
                if select.select([connection], [], [], 0.5)[0]:
                    break
            assert connection.recv(10) == b""
        except ConnectionError:
            pass


def test_a_client_that_reads_nothing_does_not_keep_others_waiting(server):
    ask = f"GET {server.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.setblocking(False)
        try:
            for _ in range(1000):
                connection.send(ask)
        except BlockingIOError:
            pass
        assert server.request("GET", server.path)[0] == 200


def test_ctrl_c_ends_it(sonde):
    server = Server(sonde, INPUTS / "small.sonde")
    code, err = server.end()
    assert code == 0
    assert f"ssh -L {server.port}:localhost:{server.port} " in err


def test_ports(sonde):
    with Server(sonde, INPUTS / "small.sonde") as first, Server(sonde, INPUTS / "small.sonde") as second:
        assert first.port != second.port and first.path != second.path
        command = [sonde, "view", "--no-browser", "--port", str(first.port), INPUTS / "small.sonde"]
        taken = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert taken.returncode == 2 and f"port {first.port} is taken" in taken.stderr and not taken.stdout
        _, err = second.end()
        assert f"is taken, so it is {second.port}" in err


def test_beyond_this_machine_it_warns(sonde):
    with Server(sonde, "--host", "0.0.0.0", INPUTS / "small.sonde") as server:
        assert server.request("GET", server.path, headers={"Host": f"10.1.2.3:{server.port}"})[0] == 200
        assert server.request("GET", server.path, headers={"Host": "evil.example"})[0] == 421
        assert "everybody who can reach 0.0.0.0" in server.end()[1]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--host", "nowhere.example"], "a host must be an address"),
        (["--port", "70000"], "--port must be between"),
        (["--port", "0"], "--port must be between"),
        (["missing.sonde"], "missing.sonde"),
        ([__file__], "test_view.py"),
    ],
)
def test_mistakes_are_told(sonde, tmp_path, arguments, words):
    command = [sonde, "view", "--no-browser", *arguments]
    if arguments[0].startswith("--"):
        command.append(INPUTS / "small.sonde")
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert result.returncode == 2 and words in result.stderr and not result.stdout


def test_a_folder_is_what_it_holds(sonde, tmp_path):
    for name in ("small.sonde", "sampled.sonde"):
        shutil.copy(INPUTS / name, tmp_path)
    (tmp_path / "notes.txt").write_text("no recording")
    with Server(sonde, tmp_path) as server:
        names = server.ask("recordings").values["recordings"]
        assert [os.path.basename(name) for name in names] == ["sampled.sonde", "small.sonde"]


def start_run(launch, *options, mode="record"):
    launch.write("ticking.py", TICKING)
    command = [
        launch.sonde,
        mode,
        "--quiet",
        *options,
        "-o",
        "live.sonde",
        "--",
        launch.python.executable,
        "ticking.py",
    ]
    process = launch.start(command)
    deadline = time.monotonic() + PATIENCE
    while not (launch.folder / "live.sonde").exists() or (launch.folder / "live.sonde").stat().st_size < 1000:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    return process


def total_of(server):
    return sum(server.ask("functions").array("self"))


@pytest.mark.parametrize("mode, options", [("record", []), ("record", ["--native"]), ("trace", [])])
def test_a_run_is_followed_to_its_end(modern_launch, mode, options):
    run = start_run(modern_launch, *options, mode=mode)
    try:
        with Server(modern_launch.sonde, "live.sonde", cwd=modern_launch.folder) as server:
            assert server.ask("summary").values["live"] is True
            events = server.events()
            event, data = next(events)
            assert (event, data) == ("grown", {"recording": 0, "live": True})
            first = total_of(server)
            codes = server.ask("codes").texts("name")
            while total_of(server) <= first:
                assert next(events)[0] == "grown"
            assert server.ask("codes").texts("name")[: len(codes)] == codes or options
            (modern_launch.folder / "stop").touch()
            assert run.communicate(timeout=PATIENCE) and run.returncode == 0
            while next(events) != ("ended", {"recording": 0, "live": False}):
                pass
            summary = server.ask("summary").values
            assert summary["live"] is False and summary["damage"]["complete"] is True
            with Server(modern_launch.sonde, "live.sonde", cwd=modern_launch.folder) as later:
                assert total_of(later) == total_of(server)
                assert later.ask("codes").texts("name") == server.ask("codes").texts("name")
    finally:
        (modern_launch.folder / "stop").touch()
        run.communicate(timeout=PATIENCE)


def test_a_recorder_that_was_killed_ends_the_run(modern_launch):
    run = start_run(modern_launch)
    try:
        with Server(modern_launch.sonde, "live.sonde", cwd=modern_launch.folder) as server:
            events = server.events()
            run.kill()
            while next(events)[0] != "ended":
                pass
            summary = server.ask("summary").values
            assert summary["live"] is False and summary["damage"]["complete"] is False
    finally:
        (modern_launch.folder / "stop").touch()
        run.communicate(timeout=PATIENCE)


def test_a_file_that_is_replaced_is_read_anew(sonde, tmp_path):
    shutil.copy(INPUTS / "small.sonde", tmp_path / "x.sonde")
    with Server(sonde, tmp_path / "x.sonde") as server:
        before = server.ask("codes").texts("name")
        events = server.events()
        server.ask("recordings")
        shutil.copy(INPUTS / "native.sonde", tmp_path / "y.sonde")
        os.replace(tmp_path / "y.sonde", tmp_path / "x.sonde")
        assert next(events)[0] == "grown"
        assert server.ask("codes").texts("name") != before
        os.unlink(tmp_path / "x.sonde")
        assert server.ask("codes").texts("name") != before


def carried(page):
    """[(name, bytes)] of the recordings in a page."""
    found = re.findall(r'<script type="text/plain" class="recording" data-name="([^"]*)">([^<]*)<', page)
    return [(name, base64.b64decode(text)) for name, text in found]


def test_a_page_carries_the_files(sonde, tmp_path):
    output = tmp_path / "page.html"
    names = ["small.sonde", "small.prof", "pyspy.json"]
    subprocess.run([sonde, "view", "-o", output, *(INPUTS / name for name in names)], check=True)
    page = output.read_text()
    assert carried(page) == [(str(INPUTS / name), (INPUTS / name).read_bytes()) for name in names]
    bare = tmp_path / "bare.html"
    subprocess.run([sonde, "page", "-o", bare], check=True)
    assert carried(bare.read_text()) == [] and "data-served" not in bare.read_text()[:200]
    assert (
        subprocess.run([sonde, "page", "-o", "-"], check=True, capture_output=True).stdout
        == bare.read_bytes()
    )


def test_a_page_of_what_is_no_recording_is_not_written(sonde, tmp_path):
    output = tmp_path / "page.html"
    result = subprocess.run([sonde, "view", "-o", output, __file__], capture_output=True, text=True)
    assert result.returncode == 2 and "test_view.py" in result.stderr and not output.exists()


# ---- source ----

MAIN = """
    import sys
    sys.path.insert(0, "elsewhere")
    import json
    import part, changed, linked, gone
    for module in (part, changed, linked, gone):
        module.work()
    json.dumps([json.loads("[1]")])
    import os
    exec(compile("def inner():\\n    return 1\\ninner()", os.path.abspath("data.bin"), "exec"))
    os.unlink("gone.py")
    with open("changed.py", "a") as file:
        file.write("# later")
"""
WORK = "def work():\n    return sum(range(100))\n"


def traced_sources(launch, *options):
    """{name of a file: its text or None} of a traced run, and what is left out, in words."""
    launch.run(
        [
            launch.sonde,
            "trace",
            "--quiet",
            *options,
            "-o",
            "out.sonde",
            "--",
            launch.python.executable,
            "main.py",
        ]
    )
    with Server(launch.sonde, "out.sonde", cwd=launch.folder) as server:
        codes = server.ask("codes")
        files = dict(zip(codes.texts("file"), codes.array("file_id")))
        found = {}
        for name, number in files.items():
            lines = server.ask("lines", file=number)
            found[os.path.basename(name)] = (
                bytes(lines.array("text")).decode() if lines.values["has_text"] else None
            )
        return found, server.ask("summary").values["meta"].get("sources_left_out", "")


@pytest.fixture
def project(modern_launch):
    modern_launch.write("main.py", MAIN)
    for name in ("part", "changed", "gone"):
        modern_launch.write(name + ".py", WORK)
    (modern_launch.folder / "data.bin").write_bytes(b"\0")
    outside = modern_launch.folder.parent / "outside.py"
    outside.write_text(WORK)
    (modern_launch.folder / "linked.py").symlink_to(outside)
    return modern_launch


def test_source_is_kept_as_it_ran(project):
    found, left_out = traced_sources(project)
    assert found["part.py"] == WORK and found["main.py"] == (project.folder / "main.py").read_text()
    assert found["changed.py"] is None and found["gone.py"] is None
    assert found["linked.py"] is None, "a link out of the folder is not followed"
    assert found["decoder.py"] is None, "libraries are not kept unless asked for"
    assert left_out == "1 not found, 1 changed since the start, 1 no text"


def test_source_of_libraries_on_request(project):
    found, _ = traced_sources(project, "--embed-source", "yes")
    assert found["linked.py"] == WORK and "class JSONDecoder" in found["decoder.py"]
    assert found["part.py"] == WORK and found["changed.py"] is None


def test_no_source_on_request(project):
    found, left_out = traced_sources(project, "--embed-source", "no")
    assert set(found.values()) == {None} and left_out == ""


def test_what_is_large_is_not_kept(project):
    project.write("part.py", WORK + "#" * (1 << 20))
    found, left_out = traced_sources(project)
    assert found["part.py"] is None and found["main.py"] is not None
    assert "1 too large (1 MiB each, 16 MiB in all)" in left_out


def test_the_server_reads_no_source_from_the_disk(project):
    traced_sources(project, "--embed-source", "no")
    assert (project.folder / "part.py").exists()
    with Server(project.sonde, "out.sonde", cwd=project.folder) as server:
        codes = server.ask("codes")
        number = dict(zip(codes.texts("file"), codes.array("file_id")))[str(project.folder / "part.py")]
        assert len(server.ask("lines", file=number).array("text")) == 0


def test_a_page_is_sent_with_its_source(project):
    traced_sources(project)
    subprocess.run([project.sonde, "view", "-o", "page.html", "out.sonde"], cwd=project.folder, check=True)
    ((_, data),) = carried((project.folder / "page.html").read_text())
    moved = project.folder / "elsewhere.sonde"
    moved.write_bytes(data)
    (information,) = json.loads(subprocess.check_output([project.sonde, "info", "--json", moved]))
    assert information["counts"]["source_files"] >= 2
