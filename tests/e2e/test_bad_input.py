"""Bad input gives a message that names it, exit code 2, and never a crash."""

import gzip
import marshal
import os
import pickle
import random
import struct

import pytest

READERS = [["report"], ["info"], ["graph"], ["merge", "-o", "merged.sonde"]]
PROF = marshal.dumps({("x.py", 1, "f"): (1, 1, 0.5, 0.5, {})}, 2)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def hostile_files():
    noise = random.Random(7).randbytes(5000) if hasattr(random.Random, "randbytes") else os.urandom(5000)
    return {
        "empty": b"",
        "one-byte": b"s",
        "noise": noise,
        "text": b"just some text\n" * 50,
        "json": b'{"what": ["ever"]}',
        "picture": PNG,
        "gzip": gzip.compress(b"x" * 100),
        "elf": b"\x7fELF\x02\x01\x01" + bytes(200),
        "cut-prof": PROF[:-10],
        "cut-recording": b"\x89SONDE\r\n\x01\x00\x00\x00{\xb9\xb6L\xc5snd",
        "marshal-list": marshal.dumps([1, 2, 3], 2),
        "marshal-wrong-rows": marshal.dumps({("x.py", 1, "f"): (1, "two")}, 2),
        "marshal-deep": b"(" + b"\x01\x00\x00\x00(" * 100000,
        "marshal-huge-tuple": b"{(" + struct.pack("<I", 0x7FFFFFFF),
        "marshal-huge-string": b"{s" + struct.pack("<I", 0x7FFFFFFF) + b"abc",
        "marshal-bad-reference": b"{r" + struct.pack("<I", 5) + b"0",
        "pickle": pickle.dumps({"a": [1, 2.5, "LineStats"]}, 4),
        "pickle-no-lines": b"\x80\x02cline_profiler._line_profiler\nLineStats\n)\x81}b.",
    }


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
@pytest.mark.parametrize("name", hostile_files())
def test_foreign_profiles(modern_launch, name, reader):
    launch = modern_launch
    (launch.folder / "bad.prof").write_bytes(hostile_files()[name])
    done = launch.run([launch.sonde, *reader, "bad.prof"])
    assert done.returncode == 2, done
    assert b"bad.prof" in done.stderr
    assert done.stdout == b""
    assert not (launch.folder / "merged.sonde").exists()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
def test_profiles_that_cannot_be_read(modern_launch, reader):
    launch = modern_launch
    (launch.folder / "folder.sonde").mkdir()
    (launch.folder / "locked.sonde").write_bytes(b"x")
    (launch.folder / "locked.sonde").chmod(0)
    for name in ("missing.sonde", "folder.sonde", "locked.sonde"):
        done = launch.run([launch.sonde, *reader, name])
        assert (done.returncode, done.stdout) == (2, b""), done
        assert name.encode() in done.stderr


def test_nothing_to_read(modern_launch):
    done = modern_launch.run([modern_launch.sonde, "report"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr


def bad_targets(launch):
    (launch.folder / "picture.png").write_bytes(PNG)
    (launch.folder / "program").write_bytes(b"\x7fELFnot really")
    (launch.folder / "program").chmod(0o755)
    return {
        "missing.py": ["missing.py"],
        "picture.png": ["picture.png"],
        "program": ["./program"],
        "nosuchcommand": ["--", "nosuchcommand", "x"],
        "./nosuch": ["--", "./nosuch"],
    }


def test_bad_targets(modern_launch):
    launch = modern_launch
    for name, words in bad_targets(launch).items():
        done = launch.run([*launch.tracer(), *words])
        assert done.returncode == 2, (name, done)
        assert name in done.stderr.decode(), (name, done)
        assert done.stdout == b""
        assert not (launch.folder / "out.sonde").exists(), name


def test_no_target(modern_launch):
    for words in ([], ["--"], ["-m"], ["-c"]):
        done = modern_launch.run([modern_launch.sonde, "trace", *words])
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["trace", "--nosuch", "x.py"], "--nosuch"),
        (["trace", "--dept", "x", "x.py"], "depth"),
        (["trace", "--depth", "-1", "x.py"], "depth"),
        (["trace", "--include", "(", "x.py"], "("),
        (["trace", "--max-size", "12q", "x.py"], "12q"),
        (["trace", "-s", "nosuchkey", "--print", "x.py"], "nosuchkey"),
        (["report", "-s", "nosuchkey", "x.prof"], "nosuchkey"),
        (["nosuchcommand"], "nosuchcommand"),
        (["repot"], "report"),
        (["merge"], "merge"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_words(modern_launch, words, named):
    launch = modern_launch
    launch.write("x.py", "print('ran')\n")
    (launch.folder / "x.prof").write_bytes(PROF)
    done = launch.run([launch.sonde, *words])
    assert (done.returncode, done.stdout) == (2, b""), done
    assert named in done.stderr.decode()


def test_unwritable_output(modern_launch):
    """Found before the program starts: it would be a pity to run it for hours first."""
    launch = modern_launch
    for output in ("nosuch/out.sonde", "/proc/out.sonde"):
        done = launch.run(
            [launch.sonde, "trace", "-o", output, "--", launch.python.executable, "-c", "print(1)"]
        )
        assert done.returncode == 2, done
        assert output in done.stderr.decode()
        assert done.stdout == b""


def test_unwritable_conversion_keeps_the_recording(modern_launch):
    """-o out.prof is made after the run; when that fails the recording is kept and named."""
    launch = modern_launch
    code = "import os; os.mkdir('x.prof'); print('done')"
    done = launch.run([launch.sonde, "trace", "-o", "x.prof", "--", launch.python.executable, "-c", code])
    assert done.stdout == b"done\n"
    assert done.returncode == 2
    kept = list(launch.folder.glob("*.sonde"))
    assert len(kept) == 1
    assert kept[0].name in done.stderr.decode()


def test_target_that_is_no_python(modern_launch):
    """Its own output and exit code are kept; that nothing was recorded is said."""
    launch = modern_launch
    done = launch.run([*launch.tracer(), "--", "sh", "-c", "echo hello; exit 4"])
    assert (done.stdout, done.returncode) == (b"hello\n", 4)
    assert b"no Python" in done.stderr or b"nothing" in done.stderr


def test_missing_module_is_the_targets_own_error(launch):
    plain = launch.plain("-m", "no_such_module")
    traced = launch.traced("-m", "no_such_module")
    assert (traced.stdout, traced.returncode) == (plain.stdout, plain.returncode) == (b"", 1)
    assert traced.stderr.startswith(plain.stderr)
