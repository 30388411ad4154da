"""Defaults from the environment and pyproject.toml, secrets, which recording is meant when none is named."""

import json
import os

SCRIPT = "def hello():\n    return len('hello')\nhello()\n"


def trace(launch, *words, **options):
    return launch.run([launch.sonde, "trace", *words, "--", launch.python.executable, "x.py"], **options)


def test_options_from_the_environment(modern_launch):
    launch = modern_launch
    launch.write("x.py", SCRIPT)
    done = trace(launch, environment={"SONDE_OPTIONS": "--output=named.sonde --no-c-calls --quiet"})
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    labels = launch.recording("named.sonde").labels
    assert any(name == "hello" for _, _, name in labels)
    assert not any(file == "~" for file, _, _ in labels)


def test_options_from_pyproject(modern_launch):
    """[tool.sonde.trace] of pyproject.toml; the environment is stronger, the command line strongest."""
    launch = modern_launch
    launch.write("pyproject.toml", '[tool.sonde.trace]\noutput = "project.sonde"\n')
    launch.write("x.py", SCRIPT)
    assert trace(launch).returncode == 0
    assert (launch.folder / "project.sonde").exists()
    assert trace(launch, environment={"SONDE_OPTIONS": "--output=variable.sonde"}).returncode == 0
    assert (launch.folder / "variable.sonde").exists()
    assert (
        trace(launch, "-o", "line.sonde", environment={"SONDE_OPTIONS": "--output=other.sonde"}).returncode
        == 0
    )
    assert (launch.folder / "line.sonde").exists()
    assert not (launch.folder / "other.sonde").exists()


def test_bad_defaults_are_named(modern_launch):
    launch = modern_launch
    launch.write("x.py", SCRIPT)
    done = trace(launch, environment={"SONDE_OPTIONS": "--nosuch"})
    assert done.returncode == 0, "an option of a later version must not stop this one"
    assert b"SONDE_OPTIONS" in done.stderr and b"--nosuch" in done.stderr
    launch.write("pyproject.toml", "[tool.sonde\n")
    done = trace(launch)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"pyproject.toml" in done.stderr


def test_secrets_are_not_recorded(modern_launch):
    launch = modern_launch
    launch.write("x.py", SCRIPT)
    secrets = {
        "DATABASE_PASSWORD": "hunter2hunter2",
        "GITHUB_TOKEN": "ghp_" + "a1" * 18,
        "MY_API_KEY": "swordfish99",
    }
    words = ["--password=opensesame1", "--token", "letmein22222", "https://user:pass4word@example.org/"]
    command = [*launch.tracer(), "--", launch.python.executable, "x.py", *words]
    assert launch.run(command, environment=secrets).returncode == 0
    data = launch.recording().data
    everything = json.dumps([data["strings"], data["meta"]])
    everything += launch.run([launch.sonde, "info", "out.sonde"]).stdout.decode()
    for secret in [*secrets.values(), "opensesame1", "letmein22222", "pass4word"]:
        assert secret not in everything, secret
    assert "x.py" in everything


def test_newest_when_none_is_named(modern_launch):
    launch = modern_launch
    launch.write("x.py", SCRIPT)
    for number, name in enumerate(("older.sonde", "newer.sonde")):
        assert trace(launch, "-o", name).returncode == 0
        os.utime(launch.folder / name, (1000 + number, 1000 + number))
    done = launch.run([launch.sonde, "report"])
    assert done.returncode == 0
    assert b"newer.sonde" in done.stdout + done.stderr
    assert b"older.sonde" not in done.stdout + done.stderr
    listed = launch.run([launch.sonde, "list"]).stdout.decode()
    assert listed.index("newer.sonde") < listed.index("older.sonde")


def test_output_patterns(modern_launch):
    launch = modern_launch
    launch.write("x.py", SCRIPT)
    assert trace(launch, "-o", "run-%{JOB}-%r.sonde", environment={"JOB": "42"}).returncode == 0
    assert (launch.folder / "run-42-0.sonde").exists()


def test_print(launch):
    """--print writes the table to standard output after the program's own."""
    launch.write("x.py", SCRIPT + "print('own output')\n")
    done = launch.traced("x.py", trace=["--print", "-s", "calls"])
    assert done.returncode == 0
    text = done.stdout.decode()
    assert text.startswith("own output\n")
    assert "hello" in text and "ncalls" in text


def test_quiet(modern_launch):
    launch = modern_launch
    launch.write("x.py", SCRIPT)
    done = trace(launch, "--quiet", "-o", "q.sonde")
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
