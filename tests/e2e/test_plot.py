"""sonde plot: what is in the pictures, read back: SVG as XML, PNG by its pixels, PDF by its objects."""

import itertools
import json
import pathlib
import re
import struct
import subprocess
import xml.etree.ElementTree
import zlib

import pytest

SVG = "{http://www.w3.org/2000/svg}"
LEFT, RIGHT = 94, 976  # of the panels, in a picture 1000 wide
BLUE, ORANGE, PEAK = (0x0B, 0x57, 0xC4), (0xE6, 0x6E, 0x20), (0xB3, 0x26, 0x1E)
HOSTILE = "</title><script>alert(1)</script> & \"q\" \\) endstream \x07 \u65e5\u672c \U0001f600"


@pytest.fixture
def plot(sonde, tmp_path):
    def run(*words, code=0, **environment):
        settings = {"COLUMNS": "80", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", **environment}
        command = [str(sonde), "plot", *map(str, words)]
        streams = {"stdin": subprocess.DEVNULL, "capture_output": True}
        done = subprocess.run(command, cwd=tmp_path, env=settings, **streams)
        assert done.returncode == code, done.stderr.decode()
        return (done.stderr if code else done.stdout).decode()

    return run


def write(path, values, start=1700000000.0, children=(), functions=(), command="python train.py"):
    """mprof's file: values in MiB, ten a second."""
    lines = [f"CMDLINE {command}"] if command else []
    lines += [f"MEM {value:.6f} {start + i / 10:.4f}" for i, value in enumerate(values)]
    for number, child in enumerate(children):
        lines += [f"CHLD {number} {value:.6f} {start + i / 10:.4f}" for i, value in enumerate(child)]
    for name, begin, end in functions:
        lines.append(f"FUNC {name} 10.0000 {start + begin:.4f} 10.0000 {start + end:.4f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def small(tmp_path):
    """60 s: up to 300 MiB, 800 at 20 s."""
    values = [min(10 + i * 3, 300) for i in range(601)]
    values[200] = 800
    return write(tmp_path / "small.dat", values, children=[[50.0] * 300])


class Png:
    """A PNG as png_writer makes it: eight bits of red, green and blue, rows as they are."""

    def __init__(self, path):
        data, self.chunks = path.read_bytes(), {}
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at = 8
        while at < len(data):
            (size,) = struct.unpack(">I", data[at : at + 4])
            name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
            assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + body)
            self.chunks[name.decode()] = body
            at += 12 + size
        assert list(self.chunks)[-1] == "IEND" and at == len(data)
        self.width, self.height, *kind = struct.unpack(">IIBBBBB", self.chunks["IHDR"])
        assert kind == [8, 2, 0, 0, 0]
        self.rows = zlib.decompress(self.chunks["IDAT"])
        assert len(self.rows) == self.height * (self.width * 3 + 1)

    def pixel(self, x, y):
        at = y * (self.width * 3 + 1)
        assert self.rows[at] == 0
        return tuple(self.rows[at + 1 + 3 * x : at + 4 + 3 * x])

    def column(self, x):
        return [self.pixel(x, y) for y in range(self.height)]


def near(one, other, distance=40):
    return sum(abs(a - b) for a, b in zip(one, other)) < distance


class Pdf:
    """Every object is where the cross-reference table says; the page's one stream is unpacked."""

    def __init__(self, path):
        data = path.read_bytes()
        assert data.startswith(b"%PDF-1.") and data.endswith(b"%%EOF\n")
        start = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", data)[1])
        count = int(re.match(rb"xref\n0 (\d+)\n", data[start:])[1])
        rows = re.findall(rb"(\d{10}) (\d{5}) ([nf]) \n", data[start : data.index(b"trailer")])
        assert len(rows) == count and rows[0] == (b"0000000000", b"65535", b"f")
        self.objects = {}
        for number, (offset, _, _) in enumerate(rows[1:], 1):
            body = data[int(offset) :]
            assert body.startswith(b"%d 0 obj\n" % number)
            self.objects[number] = body[: body.index(b"\nendobj\n")]
        (stream,) = [body for body in self.objects.values() if b"stream\n" in body]
        size = int(re.search(rb"/Length (\d+)", stream)[1])
        begin = stream.index(b"stream\n") + 7
        assert stream[begin + size :] == b"\nendstream"
        self.content = zlib.decompress(stream[begin : begin + size])
        found = re.findall(rb"\((.*?)(?<!\\)\) Tj", self.content)
        self.texts = [re.sub(rb"\\(.)", rb"\1", text) for text in found]


def texts(path):
    tree = xml.etree.ElementTree.parse(path)
    elements = tree.iter(f"{SVG}text")
    return [(element.text or "") + "".join(child.tail or "" for child in element) for element in elements]


def curve_paths(path):
    tree = xml.etree.ElementTree.parse(path)
    found = [element for element in tree.iter(f"{SVG}path") if element.find(f"{SVG}title") is not None]
    return [(element.get("stroke"), element.get("d")) for element in found if element.get("fill") == "none"]


def points(path):
    return [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)]


def test_svg(plot, small, tmp_path):
    plot("-s", "-o", "x.svg", small)
    (blue, main), (orange, child) = curve_paths(tmp_path / "x.svg")
    assert (blue, orange) == ("#0b57c4", "#e66e20")
    top = min(points(main), key=lambda point: point[1])
    assert top[0] == pytest.approx(LEFT + (RIGHT - LEFT) / 3, abs=0.1)
    assert max(x for x, _ in points(child)) == pytest.approx(LEFT + (RIGHT - LEFT) * 29.9 / 60, abs=0.1)
    words = texts(tmp_path / "x.svg")
    assert words[0] == "python train.py"
    assert "800 MiB at 20.0 s" in words
    assert "peak 800 MiB at 20.0 s" in words and "peak 50.0 MiB at 0 s" in words
    assert "slope 0 B/s (95 %: 0 B/s to 0 B/s, so it may be none) from 0 s to 29.9 s" in words
    for mark in ("0 MiB", "200 MiB", "800 MiB", "0 s", "10 s", "60 s"):
        assert mark in words


def test_png(plot, small, tmp_path):
    plot("-o", "x.png", small)
    picture = Png(tmp_path / "x.png")
    assert (picture.width, picture.height) == (2000, 1000)
    assert picture.pixel(5, 5) == (255, 255, 255)
    middle = picture.column(int(2 * (LEFT + (RIGHT - LEFT) * 0.75)))
    assert any(near(pixel, BLUE) for pixel in middle)
    assert not any(near(pixel, ORANGE) for pixel in middle)
    assert any(near(pixel, ORANGE) for pixel in picture.column(int(2 * (LEFT + (RIGHT - LEFT) * 0.25))))
    peak = picture.column(int(2 * (LEFT + (RIGHT - LEFT) / 3)))
    assert sum(near(pixel, PEAK) for pixel in peak) > 100
    assert picture.chunks["iTXt"] == b"Title\0\0\0\0\0python train.py"
    assert struct.unpack(">II", picture.chunks["pHYs"][:8]) == (7559, 7559)


def test_pdf(plot, small, tmp_path):
    plot("-o", "x.pdf", "-t", "a (b) \\ \u00e9", small)
    pdf = Pdf(tmp_path / "x.pdf")
    assert pdf.texts[0] == "a (b) \\ \u00e9".encode("latin-1")
    assert b"800 MiB at 20.0 s" in pdf.texts
    assert b"/MediaBox [0 0 750.00 375.00]" in pdf.objects[3]
    assert "a (b) \\ \u00e9".encode("utf-16-be").hex().upper().encode() in pdf.objects[8]


def test_dark_and_size(plot, small, tmp_path):
    plot("--dark", "--size", "640x400", "-o", "x.png", small)
    picture = Png(tmp_path / "x.png")
    assert (picture.width, picture.height) == (1280, 800)
    assert picture.pixel(5, 5) == (0x17, 0x19, 0x1C)
    assert "--size: '10x10' is not a size" in plot("--size", "10x10", "-o", "x.png", small, code=2)


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_hostile_words(plot, tmp_path, kind):
    name = write(tmp_path / "a.dat", [1, 2, 3], functions=[("<b>&\x01", 0, 0.1)], command=HOSTILE)
    plot("-o", f"x.{kind}", "-t", HOSTILE, name)
    plot("-f", "-o", f"y.{kind}", name)
    for path in (tmp_path / f"x.{kind}", tmp_path / f"y.{kind}"):
        if kind == "svg":
            title = HOSTILE.replace("\x07", "\\x07")
            assert texts(path)[0] == title
            assert "<script>" not in path.read_text()
        elif kind == "png":
            assert HOSTILE.replace("\x07", "\\x07").encode() in Png(path).chunks["iTXt"]
        else:
            assert b"</title><script>alert(1)</script> & \"q\" \\) endstream \\x07 ?? ?" in Pdf(path).texts[0]
    assert "\x07" not in plot(name)


def test_a_million_values_lose_no_peak(plot, tmp_path):
    values = [100 + i * 7919 % 1000 / 1000 for i in range(1000000)]
    values[333333] = 900
    name = write(tmp_path / "long.dat", values)
    plot("-o", "x.svg", name)
    assert (tmp_path / "x.svg").stat().st_size < 300000
    ((_, path),) = curve_paths(tmp_path / "x.svg")
    assert len(points(path)) < 9000
    top = min(points(path), key=lambda point: point[1])
    assert top[0] == pytest.approx(LEFT + (RIGHT - LEFT) / 3, abs=0.6)
    assert "peak 900 MiB at 555 min 33 s" in plot(name)


def test_several_files_begin_together(plot, small, tmp_path):
    other = write(tmp_path / "later.dat", [100.0] * 301, start=1800000000.0)
    plot("-o", "x.svg", small, other)
    lines = curve_paths(tmp_path / "x.svg")
    assert len(lines) == 3
    assert points(lines[2][1])[0][0] == points(lines[0][1])[0][0] == LEFT
    assert points(lines[2][1])[-1][0] == pytest.approx(LEFT + (RIGHT - LEFT) / 2, abs=0.1)
    assert "later.dat" in texts(tmp_path / "x.svg")
    plot("-o", "y.svg", "small.dat", "later.dat")
    assert texts(tmp_path / "y.svg")[0] == "small.dat, later.dat"


def test_functions(plot, tmp_path):
    calls = [("mod.load", 0.5, 2.0), ("mod.parse", 0.8, 1.5), ("mod.load", 2.5, 3.0)]
    name = write(tmp_path / "f.dat", [10 + i for i in range(41)], functions=calls)
    plot("-o", "x.svg", name)
    words = texts(tmp_path / "x.svg")
    assert "mod.load: 2\u00d7, 2.00 s" in words and "mod.parse: 1\u00d7, 700 ms" in words
    brackets = [d for _, d in curve_paths(tmp_path / "x.svg") if len(points(d)) == 4]
    assert len(brackets) == 6
    plot("-n", "-o", "n.svg", name)
    assert len(curve_paths(tmp_path / "n.svg")) == 1 and "mod" not in "".join(texts(tmp_path / "n.svg"))
    plot("-f", "-o", "f.svg", name)
    assert texts(tmp_path / "f.svg").count("mod.load") == 2
    plot("-n", "-w", "1,3", "-o", "w.svg", name)
    assert "peak 40.0 MiB at 3.00 s" in "".join(texts(tmp_path / "w.svg"))
    assert "[mod.load" in plot(name) and "mod.load" not in plot("-n", name)


def test_terminal(plot, small):
    drawn = plot(small)
    assert max(map(len, drawn.splitlines())) <= 80
    assert "\u25b2" in drawn and "\033" not in drawn
    ascii_only = plot(small, LC_ALL="C")
    assert ascii_only.isascii() and "^" in ascii_only
    assert max(map(len, plot(small, COLUMNS="120").splitlines())) > 100
    assert "\033[" in plot(small, "--color", "always")


def test_mistakes(plot, small, tmp_path, sonde):
    (tmp_path / "bad.dat").write_text("MEM 1.0 170")
    assert "cannot tell what to draw into 'x.gif'" in plot("-o", "x.gif", small, code=2)
    assert "has no values of that counter; it counts: rss" in plot("--counter", "cpu", small, code=2)
    assert "--range '3,1': give two times" in plot("-w", "3,1", small, code=2)
    calls = pathlib.Path(__file__).resolve().parent.parent / "golden" / "inputs" / "small.sonde"
    assert "small.sonde holds no values over time" in plot(calls, code=2)
    assert "no value in this window" in plot("-w", "100,200", small)


def color_distance(one, other, matrix):
    return sum((a - b) ** 2 for a, b in zip(oklab(one, matrix), oklab(other, matrix))) ** 0.5


def linear(channel):
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def oklab(color, matrix):
    """As somebody sees it whose eyes the matrix describes (Machado, Oliveira and Fernandes 2009)."""
    seen = [linear(int(color[i : i + 2], 16) / 255) for i in (1, 3, 5)]
    red, green, blue = (min(1, max(0, sum(m * c for m, c in zip(row, seen)))) for row in matrix)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


EYES = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    "no green": ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
    "no blue": ((1.2555, -0.0767, -0.1788), (-0.0784, 0.9308, 0.1476), (0.0047, 0.6914, 0.3039)),
}


@pytest.mark.parametrize("background", ["light", "dark"])
def test_everybody_can_tell_the_curves_apart(plot, tmp_path, background):
    names = [write(tmp_path / f"{i}.dat", [i, i + 1]) for i in range(6)]
    plot("-o", "x.svg", *(["--dark"] if background == "dark" else []), *names)
    colors = [color for color, _ in curve_paths(tmp_path / "x.svg")]
    assert len(set(colors)) == 6
    for eyes, one, other in itertools.product(EYES, colors, colors):
        if one < other:
            assert color_distance(one, other, EYES[eyes]) > 0.09, (eyes, one, other)


def test_list_tells_peaks(sonde, small, tmp_path):
    def run(*words):
        command = [str(sonde), "list", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout

    (row,) = json.loads(run("--json"))
    assert row["peak_rss_bytes"] == 850 << 20  # of both processes
    assert row["duration_ns"] == 60 * 10**9
    assert b"  850 MiB  complete   python train.py" in run()
