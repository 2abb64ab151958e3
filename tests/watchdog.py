"""No callback of an event loop may take long: while it runs, nobody is heard, an interrupt least of all.

Every callback of every loop in the process of the tests is measured, in CPU time of its thread, and one that took long
against a piece of work that is measured right after it, so that a busy or slow machine fails nothing; the programs that
tests start have loops that nobody measures. Not counted: what the garbage collector
takes, and a callback in which a module was imported for the first time (a program imports what it needs before it has
anybody to hear; tests share one process, and any of them may be the first). CPU time is not the same twice either,
where cores are shared: a test that passes but has such a callback is run again, and fails if it has one in each of
three runs.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from asyncio.events import Handle
from time import thread_time
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

MOST = 0.05  # seconds of CPU in one callback, on a machine that does a piece of work in a millisecond
PIECE = 7000  # numbers and words in a piece of work
PIECES = 5
RUNS = 3

slow: list[str] = []  # what took longer since it was last emptied
_collecting = 0.0
_collected = 0.0
_run = Handle._run


def _watched(handle: Handle) -> None:
    began, modules, collected = thread_time(), len(sys.modules), _collected
    _run(handle)
    spent = thread_time() - began
    if spent > MOST and len(sys.modules) == modules:
        spent -= _collected - collected
        if spent > MOST * slowness():
            _note(handle, spent)


def slowness() -> float:
    """How many times longer than a millisecond a piece of work takes at this moment; 1 if it takes less."""
    before, began = _collected, thread_time()
    for _ in range(PIECES):
        dict.fromkeys(map(str, range(PIECE)))
    return max(1.0, (thread_time() - began - (_collected - before)) / PIECES * 1000)


def _note(handle: Handle, spent: float) -> None:
    callback: Any = handle._callback
    owner = getattr(callback, "__self__", None)
    told = repr(owner.get_coro()) if isinstance(owner, asyncio.Task) else repr(callback)
    slow.append(f"{spent * 1000:.0f} ms of CPU in one callback: {told}")


def _on_collection(phase: str, info: dict[str, int]) -> None:
    global _collecting, _collected
    if phase == "start":
        _collecting = thread_time()
    else:
        _collected += thread_time() - _collecting


def pytest_configure() -> None:
    Handle._run = _watched  # type: ignore[method-assign]
    gc.callbacks.append(_on_collection)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs a test, again if its loop was held up, in place of pytest."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for run in range(RUNS):
        if run:  # anew with all that it uses: what it shares with other tests has already met it
            item.session._setupstate.teardown_exact(None)
            item._initrequest()  # type: ignore[attr-defined]
        slow.clear()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if not slow or any(report.failed for report in reports):
            break
    else:
        reports[-1].outcome = "failed"
        reports[-1].longrepr = "the loop was held up:\n" + "\n".join(slow)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
