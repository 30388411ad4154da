"""A headless Chromium, told what to do through two pipes (the DevTools protocol, one JSON text each)."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import time


def find():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, commands, answers):
        self.commands, self.answers = commands, answers
        self.number, self.session, self.unread = 0, None, b""

    def receive(self):
        while b"\0" not in self.unread:
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.unread += more
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        """The result of one command; events that come before it are passed over."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.commands, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, address):
        target = self.call("Target.createTarget", url=address)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression, timeout_s=30):
        """Its value, once it is true."""
        end = time.monotonic() + timeout_s
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(f"never true in the page: {expression}")
            time.sleep(0.05)

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def started(program, folder):
    """A browser that keeps its own files in the folder."""
    inner_read, commands = os.pipe()
    answers, inner_write = os.pipe()
    switches = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-pipe",
        "--window-size=1100,1200",
    ]
    # The browser reads from 3 and writes to 4; by way of 8 and 9 because the pipes may be 4 and 3 here.
    move = f'exec 8<&{inner_read} 9>&{inner_write}; exec 3<&8 4>&9 8<&- 9>&-; exec "$0" "$@"'
    words = ["bash", "-c", move, program, *switches, f"--user-data-dir={folder}", "about:blank"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        words, pass_fds=(inner_read, inner_write), start_new_session=True, **quiet
    ) as process:
        os.close(inner_read)
        os.close(inner_write)
        try:
            yield Browser(commands, answers)
        finally:
            process.kill()
            os.close(commands)
            os.close(answers)
