"""What sonde export writes is read by the programs that it is written for: speedscope itself, gprof2dot."""

import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SAMPLED = HERE.parent / "golden" / "inputs" / "sampled.sonde"
TRACED = HERE.parent / "golden" / "inputs" / "small.sonde"
SVG = "{http://www.w3.org/2000/svg}"


def run(*words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def export(sonde, folder, name, *words, recording=SAMPLED):
    run(sonde, "export", "-o", folder / name, *words, recording)
    return folder / name


def frame_names(document):
    return [frame["name"] for frame in document["shared"]["frames"]]


def self_times(document, profile):
    """{stack of names: weight} of what speedscope saved, in which frames open and close."""
    names, stack, last, times = frame_names(document), [], 0, {}
    for event in profile["events"]:
        if event["at"] > last:
            times[tuple(stack)] = times.get(tuple(stack), 0) + event["at"] - last
            last = event["at"]
        if event["type"] == "O":
            stack.append(names[event["frame"]])
        else:
            assert stack.pop() == names[event["frame"]]
    assert not stack
    times.pop((), None)
    return times


MAIN = {
    ("<module>", "solve"): 120e6,
    ("<module>", "solve", "Tree.visit"): 40e6,
    ("<module>", "solve", "Tree.visit", "Tree.visit"): 60e6,
    ("<module>", "JSONDecoder.decode"): 30e6,
    ("<module>", "</title>;\"x\" & 'y'\n<b>"): 10e6,
}


def test_speedscope_reads_samples(sonde, speedscope, tmp_path):
    document = speedscope(export(sonde, tmp_path, "a.speedscope.json"))
    names = ["process 4200, MainThread (4200)", "process 4200, Thread-1 (worker) (4202)"]
    assert [profile["name"] for profile in document["profiles"]][:2] == names
    assert [profile["unit"] for profile in document["profiles"]] == ["nanoseconds"] * 3
    assert self_times(document, document["profiles"][0]) == MAIN
    assert self_times(document, document["profiles"][1]) == {("worker",): 50e6}
    first = [profile["events"][0]["at"] for profile in document["profiles"]]
    assert first == [0, 50e6, 100e6]  # on one axis
    assert {profile["endValue"] for profile in document["profiles"]} == {300e6}


def test_speedscope_reads_functions(sonde, speedscope, tmp_path):
    document = speedscope(export(sonde, tmp_path, "a.json", "-F", "--idle"))
    assert frame_names(document).count("solve") == 1  # it was at three lines
    assert len(set(frame_names(document))) == 6
    assert self_times(document, document["profiles"][1]) == {("worker",): 150e6}


def test_speedscope_reads_traced_calls(sonde, speedscope, tmp_path):
    document = speedscope(export(sonde, tmp_path, "a.json", recording=TRACED))
    times = self_times(document, document["profiles"][0])
    assert times[("<module>", "solve")] == 2e9
    assert sum(times.values()) == 3.5e9


def test_speedscope_reads_the_chrome_trace(sonde, speedscope, tmp_path):
    document = speedscope(export(sonde, tmp_path, "a.trace.json"))
    assert len(document["profiles"]) == 3
    main = next(p for p in document["profiles"] if "4200" in p["name"] and "MainThread" in p["name"])
    times = {
        tuple(re.sub(r" \{.*", "", name, flags=re.DOTALL) for name in stack): time * 1e3
        for stack, time in self_times(document, main).items()
    }
    assert times == MAIN


def test_speedscope_reads_collapsed_stacks(sonde, speedscope, tmp_path):
    document = speedscope(export(sonde, tmp_path, "a.collapsed"))
    times = self_times(document, document["profiles"][0])
    assert sum(times.values()) == 36
    stacks = {stack[1:]: count for stack, count in times.items()}
    assert stacks[("<module> (run.py:20)", "solve (solver/step.py:12)")] == 8


def test_gprof2dot_reads_collapsed_stacks(sonde, modern, tmp_path):
    python, reason = modern.peer_environment(["gprof2dot"])
    if not python:
        pytest.skip(reason)
    file = export(sonde, tmp_path, "a.collapsed", "-F")
    dot = run(python, "-m", "gprof2dot", "-f", "collapse", "-n", "0", "-e", "0", file)
    assert r"solver/step.py\nsolve\n61.11%\n(33.33%)" in dot  # it knows py-spy's words
    assert r"run.py\n<module>\n72.22%\n(0.00%)" in dot


def test_pstats_reads_samples(sonde, modern, tmp_path):
    file = export(sonde, tmp_path, "a.prof")
    program = (
        "import json, pstats, sys; stats = pstats.Stats(sys.argv[1]).stats\n"
        "print(json.dumps({key[2]: row[:4] for key, row in stats.items()}))"
    )
    rows = json.loads(run(modern.executable, "-c", program, file))
    assert rows["solve"] == [22, 22, 0.12, 0.22]
    assert rows["<module>"] == [26, 26, 0.0, 0.26]


@pytest.fixture(scope="session")
def py_spy(modern, tmp_path_factory):
    """Files of the real py-spy: a format → what it recorded of a program in that format."""
    python, reason = modern.peer_environment(["py_spy"])
    if not shutil.which("py-spy", path=pathlib.Path(python or "/none").parent):
        pytest.skip(reason or "py-spy cannot be installed")
    folder = tmp_path_factory.mktemp("py-spy")
    (folder / "busy.py").write_text(BUSY)

    def record(form):
        file = folder / form
        command = [
            pathlib.Path(python).parent / "py-spy",
            "record",
            "-r",
            "200",
            "-t",
            "-f",
            form,
            "-o",
            file,
        ]
        done = subprocess.run([*command, "--", modern.executable, folder / "busy.py"], capture_output=True)
        if done.returncode or not file.exists() or not file.stat().st_size:
            pytest.skip("py-spy cannot record here: " + done.stderr.decode()[-200:])
        return file

    return record


BUSY = """
import json, time
class Tree:
    def visit(self, depth):
        def inner():
            return sum(i * i for i in range(2000))
        return self.visit(depth - 1) if depth else inner()
end = time.monotonic() + 1
while time.monotonic() < end:
    Tree().visit(3)
    json.loads(json.dumps(list(range(300))))
"""


def test_py_spys_collapsed_stacks_are_read_and_written_alike(sonde, py_spy, tmp_path):
    theirs = py_spy("raw")
    ours = export(sonde, tmp_path, "again.raw", recording=theirs)
    assert "Tree.visit.<locals>.inner (busy.py:" in theirs.read_text()
    assert sorted(ours.read_text().splitlines()) == sorted(theirs.read_text().splitlines())


def test_py_spys_speedscope_file_is_read(sonde, py_spy):
    theirs = py_spy("speedscope")
    document = json.loads(theirs.read_text())
    samples = sum(len(profile["samples"]) for profile in document["profiles"])
    report = json.loads(run(sonde, "report", "--json", theirs))
    assert report["total_samples"] == samples
    assert report["total_ns"] == pytest.approx(samples / 200 * 1e9)
    assert [thread["name"] for thread in report["threads"]] == [p["name"] for p in document["profiles"]]


def frames_of(svg):
    """{label: (total, depth)} of the picture's frames."""
    frames = {}
    for group in svg.find(f"{SVG}g[@id='frames']"):
        _, total, depth = map(int, group.get("data-at").split(","))
        frames[group.find(f"{SVG}title").text.split("\n")[0]] = (total, depth)
    return frames


def test_flame_graph_is_whole_and_alone(sonde, tmp_path):
    file = export(sonde, tmp_path, "a.svg", "-F", "-t")
    svg = xml.etree.ElementTree.parse(file).getroot()
    frames = frames_of(svg)
    assert frames["all"] == (360000000, 0)
    assert frames["solve (solver/step.py:10)"] == (220000000, 4)
    assert frames[r"""</title>;"x" & 'y'\n<b> (run.py:30)"""] == (10000000, 4)
    links = re.findall(r"(?:https?:|//|url\(|@import|href)[^\"' <]*", file.read_text())
    assert {link for link in links if "www.w3.org" not in link and link.startswith("http")} == set()
    assert "url(" not in links
    assert "@import" not in links
    assert "href" not in links


def test_flame_graph_of_a_wide_program_is_bounded(sonde, tmp_path):
    """What is too narrow to see is left out, and the picture says so."""
    stacks = "".join(f"root;middle_{i % 300};leaf_{i} {i % 7 + 1}\n" for i in range(60000))
    (tmp_path / "wide.txt").write_text(stacks)
    file = export(sonde, tmp_path, "wide.svg", recording=tmp_path / "wide.txt")
    frames = frames_of(xml.etree.ElementTree.parse(file).getroot())
    assert 302 <= len(frames) <= 20000
    assert frames["root"][0] == sum(i % 7 + 1 for i in range(60000)) * 1000000
    assert re.search(r"frames below [0-9.e-]+% of it are left out", file.read_text())
