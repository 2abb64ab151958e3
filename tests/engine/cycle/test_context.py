"""What puts things back in order is done to its end, and an interrupt meanwhile is only put off."""

import asyncio

import pytest

from quintet.engine.cycle.context import run_to_end


def test_an_interrupt_while_things_are_put_in_order_comes_right_after() -> None:
    seen: list[str] = []

    async def order(go: asyncio.Event) -> str:
        await go.wait()
        return "in order"

    async def cycle(go: asyncio.Event) -> None:
        seen.append(await run_to_end(order(go)))
        await asyncio.sleep(0)
        seen.append("on to the next unit")

    async def run() -> None:
        go = asyncio.Event()
        task = asyncio.create_task(cycle(go))
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        assert seen == []
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert seen == ["in order"]


def test_what_goes_wrong_in_it_is_told() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def run() -> None:
        with pytest.raises(ValueError, match="no"):
            await run_to_end(fail())

    asyncio.run(run())
