"""asyncio: gather, cancellation, async generators and context managers, a chain of awaits, exceptions."""
# calls: leaf=18 worker=15 cancelled=2 ticks=12 consume=6 failing=2 chain=20/2 on_cancel=1

import asyncio


async def leaf(n):
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return n


async def worker(n):
    return await leaf(n) + await leaf(n)


def on_cancel():
    pass


async def cancelled():
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        on_cancel()
        raise


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


class Resource:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *exc):
        await asyncio.sleep(0)
        return True


async def consume():
    async with Resource():
        return [i async for i in ticks(3)]


async def failing():
    await asyncio.sleep(0)
    raise ValueError("expected")


async def chain(depth):
    if depth:
        await chain(depth - 1)
    else:
        await asyncio.sleep(0)


async def broken_off():
    async for i in ticks(100):
        if i == 1:
            break


async def main():
    assert await asyncio.gather(*(worker(n) for n in range(3))) == [0, 2, 4]
    task = asyncio.ensure_future(cancelled())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    assert await consume() == [0, 1, 2]
    results = await asyncio.gather(failing(), chain(9), return_exceptions=True)
    assert isinstance(results[0], ValueError)
    await broken_off()


asyncio.run(main())
