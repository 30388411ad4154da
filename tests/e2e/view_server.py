"""A `sonde view` for tests: started, asked as the page asks, and ended."""

import http.client
import json
import re
import signal
import struct
import subprocess
import time
import urllib.parse

MAGIC = 0x31415153
PATIENCE = 60


class Answer:
    """The block of bytes of src/query/answer.h."""

    def __init__(self, data):
        magic, size = struct.unpack_from("<II", data)
        assert magic == MAGIC
        head = json.loads(data[8 : 8 + size])
        self.error = head.get("error")
        self.values, self.places = head.get("values"), head.get("arrays", {})
        self.data, self.base = data, 8 + size

    def array(self, name):
        kind, offset, count = self.places[name]
        letter = {"u8": "B", "u32": "I", "f64": "d"}[kind]
        return struct.unpack_from(f"<{count}{letter}", self.data, self.base + offset)

    def texts(self, name):
        data, at = bytes(self.array(name)), self.array(name + "_at")
        return [data[begin:end].decode() for begin, end in zip(at, at[1:])]


class Client:
    """Asks what serves a page at a port of this machine."""

    def __init__(self, port, path="/"):
        self.port, self.path = port, path

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def request(self, method, path, body=None, headers=()):
        """(status, headers, body) of one request on a connection of its own."""
        connection = self.connect()
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        result = response.status, response.headers, response.read()
        connection.close()
        return result

    def ask(self, ask, **fields):
        body = json.dumps({"ask": ask, **fields})
        status, _, data = self.request("POST", self.path + "ask", body)
        assert status == 200, data
        return Answer(data)

    def events(self):
        """(event, data) as they come from now on."""
        connection = self.connect()
        connection.request("GET", self.path + "events")
        response = connection.getresponse()
        assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream"
        return self.read_events(connection, response)

    def read_events(self, connection, response):
        event, deadline = None, time.monotonic() + PATIENCE
        for line in response:
            name, _, value = line.decode().strip().partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                yield event, json.loads(value)
                deadline = time.monotonic() + PATIENCE
            assert time.monotonic() < deadline, "no event came"
        connection.close()


class Server(Client):
    def __init__(self, sonde, *arguments, **options):
        command = [str(sonde), "view", "--no-browser", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )
        self.url = self.process.stdout.readline().strip()
        assert re.fullmatch(r"http://[\w.:\[\]]+:\d+/[0-9a-f]{32}/", self.url), self.process.communicate()[1]
        parts = urllib.parse.urlsplit(self.url)
        super().__init__(parts.port, parts.path)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end()

    def end(self):
        """Ctrl-C; (exit code, standard error)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, err
