"""Before 3.12 probes in a copy of the byte code tell of lines: a program must see no difference, and what is
counted must be what the interpreter's own tracing counts."""

import json

import line_times

# Run plainly with the argument "count" it prints what a trace function is told, else what it computed.
PROGRAM = """
    import json
    import signal
    import sys
    import traceback


    def chosen(function):
        functions.append(function)
        return function


    functions = []
    LONG = "def long_loop(count):\\n total = 0\\n for i in range(count):\\n"
    LONG += "  if i == 2: continue\\n" + "".join(f"  total += {i + 1000}\\n" for i in range(400))
    LONG += " return total\\n"
    exec(compile("\\n" * 1000 + LONG, __file__, "exec"))
    chosen(long_loop)


    @chosen
    def skips(values):
        found = []
        for value in values:
            if value % 3 == 0:
                continue
            if value % 3 == 1:
                if value > 4:
                    continue
                found.append(value)
        while found and found[-1] > 1: found.pop()
        return found


    class Careful:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return error[0] is KeyError


    @chosen
    def survives(error):
        done = []
        for attempt in range(2):
            try:
                with Careful(), \\
                        Careful():
                    done.append(attempt)
                    raise error(
                        attempt
                    )
            except ValueError as problem:
                done.append(str(problem))
                if attempt:
                    raise
            finally:
                done.append("finally")
        return done


    @chosen
    def told(count):
        for i in range(count):
            got = yield i
            try:
                if got:
                    yield got
            except KeyError:
                yield "caught"


    def shown(function, *arguments):
        try:
            return function(*arguments)
        except Exception:
            return traceback.format_exc()


    def run():
        generator = told(3)
        results = [next(generator), generator.send("x"), generator.throw(KeyError), list(generator)]
        unstarted = told(1)
        results.append(shown(unstarted.throw, IndexError))
        results += [shown(survives, error) for error in (KeyError, ValueError, TypeError)]
        return [long_loop(5), skips(range(9)), *results]


    def count_lines(function):
        codes, counts = {one.__code__ for one in functions}, {}

        def trace(frame, event, argument):
            if frame.f_code not in codes:
                return None
            if event == "line":
                lines = counts.setdefault(frame.f_code.co_name, {})
                lines[frame.f_lineno] = lines.get(frame.f_lineno, 0) + 1
            return trace

        sys.settrace(trace)
        function()
        sys.settrace(None)
        return counts


    @chosen
    def interrupted(limit):
        turns = 0
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            while turns < limit: turns += 1
        except InterruptedError:
            return turns < limit


    def interrupt(*_):
        raise InterruptedError


    def attach(seen):
        def trace(frame, event, argument):
            seen.append((event, frame.f_lineno))
            return trace

        frame = sys._getframe(1)
        while frame and frame.f_code.co_name in ("attached", "attached_later"):
            frame.f_trace = trace
            frame = frame.f_back
        sys.settrace(trace)


    @chosen
    def attached(seen):
        seen.append("begin")
        attach(seen)
        for i in range(2):
            if i: continue
            seen.append(sys._getframe().f_lineno)
        sys.settrace(None)
        return seen


    @chosen
    def attached_later(seen):
        yield 1
        for i in range(2):
            yield i


    def resume_attached(seen):
        generator = attached_later(seen)
        next(generator)
        attach(seen)
        list(generator)
        sys.settrace(None)
        return seen


    if sys.argv[1:] == ["count"]:
        print(json.dumps(count_lines(run)))
    else:
        signal.signal(signal.SIGALRM, interrupt)
        # 3.13.0 forgets handlers of exceptions in a loop that has line events, whoever asked for them.
        caught = sys.version_info >= (3, 12) or interrupted(10**12)
        print(json.dumps([run(), caught, attached([]), resume_attached([])]))
"""
NAMES = ["long_loop", "skips", "survives", "told", "interrupted", "attached", "attached_later"]


def test_program_sees_no_probes(launch):
    launch.write("probed.py", PROGRAM)
    plain = launch.plain("probed.py")
    options = [word for name in NAMES for word in ("-f", name)]
    done = line_times.timed(launch, "probed.py", options=options)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == json.loads(plain.stdout)
    if launch.python.numbers < (3, 12):
        counted = json.loads(launch.plain("probed.py", "count").stdout)
        timed = line_times.by_name(launch)
        for name, lines in counted.items():
            hits = {str(line): count for line, count in line_times.hits(timed[name]).items()}
            assert hits == lines, name
        assert set(counted) == set(NAMES[:4])


# Every way in which a call can begin, pause, go on and end, and what a program can ask of its code.
CALLS = """
    import asyncio
    import ctypes
    import json
    import marshal
    import sys
    import threading
    import traceback

    try:
        profile
    except NameError:
        def profile(function):
            return function


    def hook_is_there():
        if sys.version_info[:2] != (3, 11) or hasattr(sys, "gettotalrefcount"):
            return False
        api = ctypes.pythonapi
        get = api._PyInterpreterState_GetEvalFrameFunc
        api.PyInterpreterState_Get.restype = get.restype = ctypes.c_void_p
        present = get(ctypes.c_void_p(api.PyInterpreterState_Get()))
        return present != ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value


    @profile
    def nothing(): pass


    @profile
    def delegates(tree):
        for item in tree:
            if isinstance(item, list):
                got = yield from delegates(item)
                yield got
            else:
                try:
                    yield item
                except KeyError as error:
                    return "caught " + str(error)


    @profile
    def waits():
        while True:
            try:
                if (yield) is None:
                    return "done"
            except KeyError:
                continue


    @profile
    async def awaits(depth):
        await asyncio.sleep(0)
        return 1 + await awaits(depth - 1) if depth else 0


    @profile
    async def counts(count):
        for i in range(count):
            await asyncio.sleep(0)
            yield i


    @profile
    async def cancelled():
        try:
            async for i in counts(5):
                if i == 3:
                    break
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return i


    async def tasks():
        task = asyncio.ensure_future(cancelled())
        result = await awaits(6)
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()
        return result, await task


    @profile
    def endless():
        return endless()


    @profile
    def encloses(a):
        @profile
        def inner(b):
            nonlocal a
            a += b
            return a

        return inner, (lambda: a)


    class Base:
        def get(self):
            return hook_is_there()


    class Derived(Base):
        @profile
        def get(self):
            found = super().get()
            return found


    @profile
    def raises(value):
        try:
            1 / value
        except ZeroDivisionError as error:
            raise KeyError(value) from error


    def thrown():
        generator = delegates([1, [2, 3], 4])
        results = [next(generator), next(generator), generator.throw(KeyError("x")), list(generator)]
        closed = delegates([[1], 2])
        next(closed)
        closed.close()
        waiting = waits()
        next(waiting)
        waiting.throw(KeyError)
        waiting.send(1)
        try:
            waiting.send(None)
        except StopIteration as end:
            results.append(end.value)
        return results


    def deepest():
        try:
            endless()
        except RecursionError as error:
            return str(error), len(traceback.extract_tb(error.__traceback__))


    def shown(function, *arguments):
        try:
            function(*arguments)
        except KeyError:
            return traceback.format_exc()


    def codes():
        all_codes = [one.__code__ for one in (nothing, delegates, waits, awaits, encloses, raises)]
        all_codes += [marshal.loads(marshal.dumps(code)) for code in all_codes]
        return [[code.co_code.hex(), [type(one).__name__ for one in code.co_consts]] for code in all_codes]


    def run():
        inner, reads = encloses(1)
        results = [nothing(), thrown(), asyncio.run(tasks()), deepest(), inner(2), inner(3), reads()]
        return [*results, Derived().get(), shown(raises, 0), shown(raises, 1), hook_is_there()]


    def in_threads():
        found = []
        threads = [threading.Thread(target=lambda: found.append(json.dumps(thrown()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


    before = codes()
    first, second = run(), run()
    results = [first[:3] + first[4:], second[:3] + second[4:], first[3], second[3], in_threads()]
    print(json.dumps([*results, codes() == before, before]))
"""


def test_calls_that_announce_themselves(launch):
    """Nothing differs, and the evaluation hook of 3.11 is not there while other functions run."""
    launch.write("calls.py", CALLS)
    plain = launch.plain("calls.py")
    done = line_times.timed(launch, "calls.py", options=["--hot", "0"])
    assert done.returncode == 0, done.stderr.decode()
    ours, theirs = json.loads(done.stdout), json.loads(plain.stdout)
    assert ours == theirs
    hits = {name: sum(line_times.hits(rows).values()) for name, rows in line_times.by_name(launch).items()}
    assert hits["nothing"] == 2 and hits["get"] == 2 * 2 and hits["inner"] == 2 * 2 * 2
