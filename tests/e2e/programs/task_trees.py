"""Tasks that await each other in known ways. Below the loop, a function `at_…` may be only where TREES says:
the coroutines that wait for its task (and the names of tasks that the program chose), then "|", then its own.

    task_trees.py [SECONDS [ROUNDS]]
"""

# ruff: noqa: F821 (the marks are made by make_marks)

import asyncio
import sys
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
TREES = {
    "at_gathered": "main gathers | gathered at_gathered",
    "at_nested": "main outer middle gathers_deep | deep deeper at_nested",
    "at_named": "main awaits_named | <task chosen> named at_named",
    "at_below_named": "main awaits_named <task chosen> named | below_named at_below_named",
    "at_yielding": "main reads_all | reads yielding at_yielding",
    "at_below_reader": "main reads_all reads_waiting yielding_late | waited_for at_below_reader",
    "at_grouped": "main groups | grouped at_grouped",
    "at_group_body": "| main groups at_group_body",
    "at_shielded": "main shields | shielded at_shielded",
    "at_waited": "main waits_for_several | waited at_waited",
    "at_shared": "main shares <task FIRST> asks | shared at_shared",
    "at_unawaited": "| unawaited at_unawaited",
    "at_alone": "| main at_alone",
    "at_in_thread": "thread_main | in_thread at_in_thread",
    "at_recursive": "main recursive recursive recursive | recursive at_recursive",
    "at_outside": "",
}


def spin():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass


def make_marks():
    for name in TREES:
        exec(compile(f"def {name}():\n    spin()", __file__, "exec"), globals())


make_marks()


async def gathered():
    await asyncio.sleep(0)
    at_gathered()


async def gathers():
    await asyncio.gather(gathered(), gathered(), asyncio.sleep(0.001))


async def deeper():
    await asyncio.sleep(0.001)
    at_nested()


async def deep():
    await deeper()


async def gathers_deep():
    await asyncio.gather(deep(), asyncio.sleep(0.002))


async def middle():
    await gathers_deep()


async def outer():
    await middle()


async def below_named():
    await asyncio.sleep(0)
    at_below_named()


async def named():
    await asyncio.sleep(0)
    at_named()
    await asyncio.create_task(below_named())


def named_task(coroutine, name):
    return asyncio.get_running_loop().create_task(coroutine, name=name)


async def awaits_named():
    await named_task(named(), "chosen")


async def yielding():
    for i in range(2):
        await asyncio.sleep(0)
        at_yielding()
        yield i


async def waited_for():
    await asyncio.sleep(0)
    at_below_reader()


async def yielding_late():
    yield await asyncio.create_task(waited_for())


async def reads():
    async for _ in yielding():
        pass


async def reads_waiting():
    async for _ in yielding_late():
        pass


async def reads_all():
    await asyncio.gather(reads())
    await reads_waiting()


async def grouped():
    await asyncio.sleep(0)
    at_grouped()


async def groups():
    async with asyncio.TaskGroup() as group:
        group.create_task(grouped())
        group.create_task(grouped())
        at_group_body()


async def shielded():
    await asyncio.sleep(0)
    at_shielded()


async def shields():
    await asyncio.shield(shielded())


async def waited():
    await asyncio.sleep(0)
    at_waited()


async def waits_for_several():
    await asyncio.wait([asyncio.create_task(waited()), asyncio.create_task(waited())])


async def shared():
    await asyncio.sleep(0.001)
    at_shared()


async def asks(task):
    await task


async def shares():
    task = asyncio.create_task(shared())
    await asyncio.gather(named_task(asks(task), "first"), named_task(asks(task), "second"))


async def unawaited():
    at_unawaited()


async def recursive(depth=3):
    if depth:
        await asyncio.create_task(recursive(depth - 1))
    else:
        await asyncio.sleep(0)
        at_recursive()


async def in_thread():
    await asyncio.sleep(0)
    at_in_thread()


async def thread_main():
    await asyncio.gather(in_thread(), in_thread())


async def main():
    await gathers()
    await outer()
    await awaits_named()
    await reads_all()
    if hasattr(asyncio, "TaskGroup"):
        await groups()
    await shields()
    await waits_for_several()
    await shares()
    await recursive()
    task = asyncio.create_task(unawaited())
    await asyncio.sleep(2 * SECONDS)
    assert task.done()
    at_alone()


print("asyncio is loaded", flush=True)
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    threads = [threading.Thread(target=lambda: asyncio.run(thread_main())) for _ in range(2)]
    for thread in threads:
        thread.start()
    asyncio.run(main())
    for thread in threads:
        thread.join()
    at_outside()
