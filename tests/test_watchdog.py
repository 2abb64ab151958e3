"""The watchdog of the tests sees a callback that takes long, and only that."""

import asyncio
import gc
import sys
from time import thread_time

from tests import watchdog


def _busy(seconds: float) -> None:
    until = thread_time() + seconds
    while thread_time() < until:
        pass


def _seen() -> list[str]:
    seen = list(watchdog.slow)
    watchdog.slow.clear()
    return seen


def test_a_step_of_a_task_and_a_callback_that_take_long_are_seen_with_their_names() -> None:
    async def long_step() -> None:
        asyncio.get_running_loop().call_soon(_busy, watchdog.MOST + 0.01)
        _busy(watchdog.MOST + 0.01)
        await asyncio.sleep(0)

    asyncio.run(long_step())
    step, callback = _seen()
    assert "long_step" in step and "_busy" in callback


def test_waiting_threads_short_steps_imports_and_the_collector_are_not_seen() -> None:
    async def free() -> None:
        await asyncio.to_thread(_busy, watchdog.MOST + 0.01)
        for _ in range(3):
            _busy(watchdog.MOST / 3)
            await asyncio.sleep(0)

    async def importing() -> None:
        sys.modules["made_for_this_test"] = sys
        _busy(watchdog.MOST + 0.01)

    async def collecting() -> None:
        def collect(phase: str, info: dict[str, int]) -> None:
            _busy(watchdog.MOST + 0.01 if phase == "start" else 0)

        gc.callbacks.append(collect)
        gc.collect()
        gc.callbacks.remove(collect)

    for work in (free, importing, collecting):
        asyncio.run(work())
    del sys.modules["made_for_this_test"]
    assert _seen() == []
