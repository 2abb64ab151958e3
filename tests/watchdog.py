"""No callback of an event loop may take long: while it runs, nobody is heard, an interrupt least of all.

Every callback of every loop in the process of the tests is measured, in CPU time of its thread, so that a busy machine
fails nothing. Not counted: what the garbage collector takes, and a callback in which a module was imported for the
first time (a program imports what it needs before it has anybody to hear; tests share one process, and any of them may
be the first).
"""

from __future__ import annotations

import asyncio
import gc
import sys
from asyncio.events import Handle
from time import thread_time
from typing import Any

MOST = 0.05  # seconds of CPU in one callback
# Where tests run a loop of ours in their own process. Elsewhere a test that builds a whole screen or a server of its
# own would be measured with it; the programs that tests start have loops that nobody measures.
WATCHED = (
    *("engine/turn", "engine/session", "engine/checkpoints", "engine/commands", "engine/agents", "engine/reports"),
    *("tools", "adapters/models", "adapters/http", "adapters/sqlite", "surfaces/tui/dialogs"),
)
_WATCHED = tuple(f"tests/{room}/" for room in WATCHED)

slow: list[str] = []  # what took longer since it was last emptied
_collecting = 0.0
_collected = 0.0
_run = Handle._run


def _watched(handle: Handle) -> None:
    began, modules, collected = thread_time(), len(sys.modules), _collected
    _run(handle)
    spent = thread_time() - began
    if spent > MOST and len(sys.modules) == modules and spent - (_collected - collected) > MOST:
        _note(handle, spent - (_collected - collected))


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


def watches(test: str) -> bool:
    """Whether a test, by its id, is failed for a callback that takes long."""
    return test.startswith(_WATCHED)


def install() -> None:
    Handle._run = _watched  # type: ignore[method-assign]
    gc.callbacks.append(_on_collection)
