"""A forked child continues the stack at which its parent forked, wherever the parent has gone meanwhile."""

PROGRAM = """
    import os

    def parent_goes_on(child):
        return os.waitpid(child, 0)

    def first_call_of_child():
        os._exit(0)

    def forks():
        child = os.fork()
        if child:
            return parent_goes_on(child)
        first_call_of_child()

    for _ in range(10):
        forks()
"""


def test_child_stays_below_the_fork(launch):
    script = launch.write("forks.py", PROGRAM)
    done = launch.traced(script)
    assert (done.returncode, done.stderr) == (0, b"")
    edges = launch.recording().table().edges
    callers = {
        caller[2]: counts for (caller, callee), counts in edges.items() if callee[2] == "first_call_of_child"
    }
    assert callers == {"forks": (10, 10)}
