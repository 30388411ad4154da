"""tools/check_symbols must find what would keep the agent from loading elsewhere."""

import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_symbols"
LIBRARIES = ("_bin/libsonde_heap.so", "_bin/libsonde_mpi.so", "_bin/libsonde_agent.so")
NAMES = (*LIBRARIES, "_inside.abi3.so", "_binding.abi3.so")


@pytest.fixture
def package(tmp_path):
    (tmp_path / "_bin").mkdir()

    def build(text, *flags):
        source = tmp_path / "x.c"
        source.write_text(text)
        for name in NAMES:
            command = [
                "gcc",
                "-shared",
                "-fPIC",
                "-fvisibility=hidden",
                source,
                "-o",
                tmp_path / name,
                *flags,
            ]
            subprocess.run(command, check=True)
        return subprocess.run([CHECK, tmp_path], capture_output=True, text=True)

    return build


def test_plain_library_passes(package):
    assert package("int hidden(void) { return 1; }").returncode == 0


@pytest.mark.parametrize(
    ("text", "flags", "complaint"),
    [
        ('__attribute__((visibility("default"))) int leak(void) { return 1; }', [], "shows leak"),
        ("int hidden(void) { return 1; }", ["-Wl,--no-as-needed", "-lgcc_s"], "needs libgcc_s"),
        ('#include <dlfcn.h>\nvoid *hidden(void) { return dlsym(0, "x"); }', [], "newer than 2.28"),
    ],
)
def test_planted_symbol(package, text, flags, complaint):
    done = package(text, *flags)
    assert done.returncode == 1
    assert done.stdout.count(complaint) == len(NAMES)


def test_missing_file(tmp_path):
    done = subprocess.run([CHECK, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.count(": missing\n") == len(NAMES)
