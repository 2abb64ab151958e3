"""The watchdog of the tests sees a callback that takes long, and only that."""

import asyncio
import gc
import re
import subprocess
import sys
from pathlib import Path
from time import thread_time

import pytest

from tests import watchdog
from tests.places import ROOT

LONG = 2.0


@pytest.fixture(autouse=True)
def even(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is as fast at one moment as at another."""
    monkeypatch.setattr(watchdog, "slowness", lambda: 1.0)


def _busy(share: float) -> None:
    """Works for a share of what a callback may take."""
    until = thread_time() + share * watchdog.MOST
    while thread_time() < until:
        pass


def _seen() -> list[str]:
    seen = list(watchdog.slow)
    watchdog.slow.clear()
    return seen


def test_a_step_of_a_task_and_a_callback_that_take_long_are_seen_with_their_names() -> None:
    async def long_step() -> None:
        asyncio.get_running_loop().call_soon(_busy, LONG)
        _busy(LONG)
        await asyncio.sleep(0)

    asyncio.run(long_step())
    step, callback = _seen()
    assert "long_step" in step and "_busy" in callback


def test_waiting_threads_short_steps_imports_and_the_collector_are_not_seen() -> None:
    async def free() -> None:
        await asyncio.to_thread(_busy, LONG)
        for _ in range(3):
            _busy(0.3)
            await asyncio.sleep(0)

    async def importing() -> None:
        sys.modules["made_for_this_test"] = sys
        _busy(LONG)

    async def collecting() -> None:
        def collect(phase: str, info: dict[str, int]) -> None:
            if phase == "start":
                _busy(LONG)

        gc.callbacks.append(collect)
        gc.collect()
        gc.callbacks.remove(collect)

    for work in (free, importing, collecting):
        asyncio.run(work())
    del sys.modules["made_for_this_test"]
    assert _seen() == []


def test_on_a_machine_that_is_slow_at_that_moment_a_callback_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def long_step() -> None:
        _busy(LONG)

    monkeypatch.setattr(watchdog, "slowness", lambda: 2 * LONG)
    asyncio.run(long_step())
    assert _seen() == []


TESTS = """
import asyncio
import pytest
from tests import watchdog
from tests.test_watchdog import _busy

watchdog.slowness = lambda: 1.0

runs = {}

@pytest.fixture(scope="session")
def once():
    return []

async def step(share):
    if share:
        _busy(share)

@pytest.mark.parametrize("slow", [0, 1, 3])
def test_is_slow_at_first(slow, once):
    assert slow not in once
    once.append(slow)
    runs[slow] = runs.get(slow, 0) + 1
    asyncio.run(step(2 if runs[slow] <= slow else 0))

def test_was_run_until_it_was_fast():
    assert runs == {0: 1, 1: 2, 3: 3}
"""


def test_a_test_is_failed_for_a_callback_that_takes_long_in_every_run(tmp_path: Path) -> None:
    (tmp_path / "test_all.py").write_text(TESTS)
    words = ("-p", "no:xdist", "-p", "no:cacheprovider", "-p", "tests.watchdog", "-rfE", "--color=no")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 passed, 1 error" in done.stdout, done.stdout
    assert re.search(r"ERROR .*first\[3\]", done.stdout) and "the loop was held up" in done.stdout
