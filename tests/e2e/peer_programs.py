"""Programs that other samplers are tested with, fetched into a cache when they are first needed: py-spy's
from its source distribution, CPython's out of the strings in its own tests. None of them is kept here."""

import ast
import html
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import textwrap
import urllib.parse
import urllib.request

import interpreters
import pytest

PATIENCE_S = 30
# CPython's programs tell their tests through a socket that they are under way.
SOCKET = "class _test_sock:\n    sendall = staticmethod(lambda said: print(said.decode(), flush=True))\n"


def cache(name):
    folder = interpreters.cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def download(address):
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        return answer.read()


def package_index():
    """Where pip looks for packages: as it is set, or its own default."""
    from pip._internal.models.index import PyPI

    ask = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    return subprocess.run(ask, capture_output=True, text=True).stdout.strip() or PyPI.simple_url


def newest_source(package):
    """The source distribution of a package, packed."""
    page = f"{package_index().rstrip('/')}/{package}/"
    files = re.findall(r'href="([^"#]+\.tar\.gz)', download(page).decode())
    return download(urllib.parse.urljoin(page, html.unescape(files[-1])))


def py_spy():
    """The folder with py-spy's scripts."""
    folder = cache("peer-py-spy")
    if not (folder / "busyloop.py").exists():
        try:
            packed = newest_source("py-spy")
        except (ImportError, OSError, ValueError, LookupError) as error:
            pytest.skip(f"py-spy's sources cannot be fetched: {error}")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for member in archive.getmembers():
                path = pathlib.PurePosixPath(member.name)
                if path.parent.parts[-2:] == ("tests", "scripts") and path.suffix == ".py":
                    (folder / path.name).write_bytes(archive.extractfile(member).read())
    return folder


def cpython_tests(interpreter):
    """The folder with CPython's own tests of its sampler, from the package that Debian has them in."""
    version = "{}.{}".format(*interpreter.numbers)
    inside = f"usr/lib/python{version}/test/test_profiling/test_sampling_profiler"
    folder = cache(f"peer-cpython-{version}")
    if not (folder / inside).exists():
        package = f"libpython{version}-testsuite"
        fetch = f"cd /var/tmp; rm -f {package}_*; apt-get download -qq {package} && ls {package}_*.deb"
        enter = ["chroot", interpreter.root] if interpreter.root else []
        try:
            done = subprocess.run([*enter, "sh", "-c", fetch], capture_output=True, text=True, timeout=120)
            found = pathlib.Path(f"{interpreter.root or ''}/var/tmp", done.stdout.strip())
            subprocess.run(["dpkg-deb", "-x", found, folder], capture_output=True, timeout=120, check=True)
            found.unlink()
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"CPython's tests of its sampler cannot be fetched: {error}")
    return folder / inside


def texts_in(path):
    """{name: text} of the texts that a Python file assigns to names, first lines dedented."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        value, target = node.value, node.targets[0]
        if isinstance(value, ast.Call) and value.args:
            value = value.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found[getattr(target, "id", None) or target.attr] = textwrap.dedent(value.value)
    return found


def cpython(interpreter):
    """{name: program} of CPython's tests."""
    found = {}
    for path in sorted(cpython_tests(interpreter).glob("test_*.py")):
        for name, text in texts_in(path).items():
            if "_test_sock" in text and "def " in text:
                found[name] = SOCKET + text
    return found
