"""A program in a terminal that is not there: what it draws, the keys it gets, the modes it leaves behind."""

import contextlib
import fcntl
import os
import pathlib
import select
import signal
import struct
import termios
import time
import typing

import pyte
import pytest

PATIENCE = 60  # seconds until a picture that does not come is a failure


def open_terminal():
    """Both ends of a new pseudo terminal: ours, and the program's."""
    try:
        return os.openpty()
    except OSError as error:
        pytest.skip(f"no terminals can be made here (mount -t devpts devpts /dev/pts): {error}")


def own_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def of_session(leader):
    """The processes of the session that this one has made."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            session = (folder / "stat").read_text().rsplit(")", 1)[1].split()[3]
            if int(session) == leader:
                yield int(folder.name)


class Emulator(pyte.Screen):
    """With what xterm has and pyte lacks: scrolling, and repeating a character."""

    def scroll_by(self, count, change):
        column, row = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        change(count)
        self.cursor.x, self.cursor.y = column, row

    def scroll_up(self, count=1):
        self.scroll_by(count or 1, self.delete_lines)

    def scroll_down(self, count=1):
        self.scroll_by(count or 1, self.insert_lines)

    def repeat(self, count=1):
        self.draw(self.buffer[self.cursor.y][self.cursor.x - 1].data * (count or 1))


class Stream(pyte.ByteStream):
    csi: typing.ClassVar = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down", "b": "repeat"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class Screen:
    """`command` started by `launch` in a terminal of its own. All that it wrote is in `written`."""

    def __init__(self, launch, command, rows=24, columns=80, **environment):
        self.master, slave = open_terminal()
        self.rows, self.columns = rows, columns
        self.set_size()
        self.modes_before = self.modes()
        self.emulator = Emulator(columns, rows)
        self.stream = Stream(self.emulator)
        self.written = b""
        self.process = launch.start(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=own_terminal,
            environment={"TERM": "xterm", **environment},
        )
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        """What the command had started ends, too: it would take the CPUs from all tests behind this one."""
        self.process.kill()
        self.process.wait()
        for pid in of_session(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self.master)

    def set_size(self):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.emulator.resize(rows, columns)
        self.set_size()

    def modes(self):
        return termios.tcgetattr(self.master)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def take(self, seconds):
        """Takes in what comes within the time; False when nothing more will."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        self.written += data
        self.stream.feed(data)
        return bool(data)

    @property
    def lines(self):
        return [line.rstrip() for line in self.emulator.display]

    @property
    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, fact):
        """Until fact(self) is true of a picture that is whole: nothing more comes for a moment. Its value."""
        end = time.monotonic() + PATIENCE
        while True:
            more = self.take(0.2)
            while more and select.select([self.master], [], [], 0.05)[0]:
                more = self.take(0)
            if value := fact(self):
                return value
            if not more or time.monotonic() > end:
                raise AssertionError("never seen; the screen is\n" + self.text)

    def wait_for_text(self, text):
        self.wait_for(lambda screen: text in screen.text)

    def end(self):
        """All that it still writes, and its exit status."""
        end = time.monotonic() + PATIENCE
        while self.take(0.2) and time.monotonic() < end:
            if self.process.poll() is not None and not select.select([self.master], [], [], 0)[0]:
                break
        return self.process.wait(PATIENCE)
