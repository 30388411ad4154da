"""include/sonde/zones.h: what C, C++ and Fortran tell, in programs of their own and nested with Python."""

import shutil
import subprocess
from collections import Counter

import interpreters
import pytest
from conftest import read
from event_rows import Events

INCLUDE = interpreters.REPOSITORY / "include"
EXAMPLES = interpreters.REPOSITORY / "examples" / "zones"

C_PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/zones.h>

static int early(int n)
{
    SONDE_ZONE("early");
    if (n % 2)
        return n;
    SONDE_ZONE("late");
    return n + 1;
}

static void on_signal(int number)
{
    SONDE_ZONE("handler");
    (void)number;
}

static void *work(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        SONDE_ZONE("thread");
        early(i);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    SONDE_ZONE_BEGIN("main");
    SONDE_METADATA("language", "C");
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "number %d", i);
        SONDE_ZONE_NAMED(name);
        SONDE_COUNTER("i", i / 4.0);
    }
    SONDE_MESSAGE("half", "way");
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        early(2);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    SONDE_ZONE_END("main");
    return 7;
}
"""

CPP_PROGRAM = """
#include <sonde/zones.h>
#include <stdexcept>
#include <string>
#include <thread>

static void fails(int depth)
{
    SONDE_ZONE("fails");
    if (depth == 0)
        throw std::runtime_error("as it should");
    fails(depth - 1);
}

int main()
{
    SONDE_ZONE("main");
    for (int i = 0; i < 3; i++) {
        try {
            SONDE_ZONE_NAMED(("try " + std::to_string(i)).c_str());
            fails(i);
        } catch (const std::runtime_error &) {
            SONDE_MESSAGE("caught", nullptr);
        }
    }
    std::thread([] { SONDE_ZONE("thread"); }).join();
    return 7;
}
"""

FORTRAN_PROGRAM = """
program main
    use sonde_zones
    implicit none
    integer :: i
    call sonde_zone_begin("main")
    call sonde_metadata("language", "Fortran")
    do i = 1, 100
        call sonde_zone_begin("step  ")
        call sonde_counter("i", i * 0.5d0)
        call sonde_zone_end("step")
    end do
    call sonde_message("done", "all of it")
    call sonde_zone_end("main")
    call exit(7)
end program
"""


def build(folder, compiler, name, text, *options):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = folder / name
    source.write_text(text)
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", *options]
    program = folder / "program"
    subprocess.run([compiler, *flags, source, "-o", program, "-ldl", "-lpthread"], check=True)
    return program


def run(sonde, folder, program, command="record"):
    """It does the same without sonde; its events with it."""
    assert subprocess.run([program]).returncode == 7
    words = [sonde, *command.split(), "--quiet", "-o", folder / "out.sonde", "--", program]
    done = subprocess.run(words, capture_output=True)
    assert done.returncode == 7, done.stderr.decode()
    return Events(folder / "out.sonde")


def check_c(events):
    assert events.paths["main"] == 1
    assert all(events.paths[f"main/number {i}"] == 1 for i in range(10))
    assert events.paths["main/handler"] == 1
    assert events.paths["thread"] == 4000
    assert events.paths["thread/early"] == 4000
    assert events.paths["thread/early/late"] == 2000
    assert events.paths["early"] == events.paths["early/late"] == 1, "of the child"
    assert len({span.thread for span in events.named("thread")}) == 4
    assert len({span.pid for span in events.spans}) == 2
    assert [value for _, value in events.values("i")] == [i / 4 for i in range(10)]
    assert [(mark.name, mark.text) for mark in events.marks] == [("half", "way")]
    assert events.meta["program.language"] == "C"
    assert not [note for note in events.notes if "left out" in note]


@pytest.mark.parametrize("command", ["record", "trace", "mem", "mem --rss --children"])
def test_a_program_in_c(sonde, tmp_path, command):
    """No Python anywhere: a process has an area of events as soon as it tells of one."""
    program = build(tmp_path, "gcc", "program.c", C_PROGRAM, "-std=c99", "-D_GNU_SOURCE")
    check_c(run(sonde, tmp_path, program, command))


def test_compiled_away(tmp_path):
    program = build(tmp_path, "gcc", "program.c", C_PROGRAM, "-std=gnu11", "-DSONDE_NO_ZONES", "-Wno-unused")
    assert b"sonde_zones" not in program.read_bytes()
    assert subprocess.run([program]).returncode == 7


@pytest.mark.parametrize("standard", ["c++98", "c++20"])
def test_a_program_in_cpp(sonde, tmp_path, standard):
    text = CPP_PROGRAM
    if standard == "c++98":
        text = text.replace('std::thread([] { SONDE_ZONE("thread"); }).join();', "")
        text = text.replace("#include <thread>", "").replace("nullptr", "NULL")
        text = text.replace('"try " + std::to_string(i)', 'std::string("try ") + char(48 + i)')
    events = run(sonde, tmp_path, build(tmp_path, "g++", "program.cc", text, f"-std={standard}"))
    for i in range(3):
        assert events.paths[f"main/try {i}" + "/fails" * (i + 1)] == 1
    assert events.counts["fails"] == 6
    assert len(events.marks) == 3
    assert events.paths["thread"] == (standard != "c++98")


def test_a_program_in_fortran(sonde, tmp_path):
    module = INCLUDE / "sonde" / "sonde_zones.f90"
    program = build(tmp_path, "gfortran", "program.f90", FORTRAN_PROGRAM, module, f"-J{tmp_path}")
    events = run(sonde, tmp_path, program)
    assert events.paths == {"main": 1, "main/step": 100}
    assert [value for _, value in events.values("i")] == [i * 0.5 for i in range(1, 101)]
    assert [(mark.name, mark.text) for mark in events.marks] == [("done", "all of it")]
    assert events.meta["program.language"] == "Fortran"


def test_python_and_native_zones_nest(launch):
    """The example: a library with zones, called from regions of Python. One thread, one order."""
    library = launch.folder / "smoother.so"
    options = ["-O2", "-fPIC", "-shared", f"-I{INCLUDE}", EXAMPLES / "smoother.c", "-o", library, "-ldl"]
    subprocess.run(["gcc", *options], check=True)
    program = shutil.copy(EXAMPLES / "smooth.py", launch.folder / "smooth.py")
    output = launch.folder / "out.sonde"
    words = [launch.sonde, "record", "--quiet", "-o", output, "--", launch.python.executable, "-c"]
    code = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2], {}, '__main__')"
    done = launch.run([*words, code, interpreters.package_folder(), program])
    assert done.returncode == 0, done.stderr.decode()
    sweeps = [int(line.split()[3]) for line in done.stdout.decode().splitlines()]
    events = Events(output)
    assert events.paths == {
        "step": 5,
        "step/disturb": 5,
        "step/smooth": 5,
        "step/smooth/sweep": sum(sweeps),
    }
    assert len({(span.pid, span.thread) for span in events.spans}) == 1
    for step, count in zip(events.named("step"), sweeps):
        inside = [span for span in events.spans if step.begin <= span.begin and span.end <= step.end]
        assert [span.name for span in inside].count("sweep") == count
    assert len(events.values("change")) == sum(sweeps)
    assert len(events.marks) == 5
    assert events.meta["program.cells"] == "20000"


FAST_PROGRAM = """
#include <signal.h>
#include <unistd.h>
#include <sonde/zones.h>

/* Its recorder is stopped meanwhile: nobody empties the ring. */
int main(void)
{
    SONDE_ZONE("main");
    kill(getppid(), SIGSTOP);
    for (int i = 0; i < 400000; i++) {
        SONDE_ZONE("outer");
        SONDE_ZONE("inner");
    }
    SONDE_MESSAGE("too late", NULL);
    kill(getppid(), SIGCONT);
    return 7;
}
"""


def test_a_full_ring_loses_whole_regions(sonde, tmp_path):
    """The program does not wait. What is left out is left out from begin to end, and counted."""
    program = build(tmp_path, "gcc", "program.c", FAST_PROGRAM, "-std=gnu11")
    words = [sonde, "record", "--quiet", "-o", tmp_path / "out.sonde", "--", program]
    # In a session of its own: nobody else is told that it was stopped.
    assert subprocess.run(words, start_new_session=True, timeout=60).returncode == 7
    recording = read(tmp_path / "out.sonde")
    notes = recording["notes"]
    lost = {recording["strings"][text]: count for text, count in zip(notes["text"], notes["count"])}
    names = [recording["strings"][name] for name in recording["regions"]["name"]]
    begun = Counter(names[region] for region in recording["region_events"]["region"] if region)
    ended = Counter(names[region] for region in recording["region_events"]["ends"] if region)
    assert begun == ended
    assert begun["main"] == 1 and begun["outer"] >= begun["inner"] > 1000
    left_out = lost["regions left out because they came faster than they could be written"]
    assert sum(begun.values()) + left_out == 800001
    assert sum(count for text, count in lost.items() if text.startswith("marks, values")) == 1
    assert len(recording["marks"]["time_ns"]) == 0
