"""Sessions with helpers on a scripted model: what it says is chosen by whose request it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quintet.app.open import open_session
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.engine.session.session import Session
from quintet.testing import Reply, ScriptedModel, call

AUTONOMOUS = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
FLAT: dict[str, Any] = {"tools.presentation": "flat", "runs.delivery_check": False, "runs.qa_review": False}
A_HELPER = "You are a helper"
MANY = 200


def task_of(request: Request) -> str:
    """The task of the helper whose request it is; empty if it is no helper's."""
    if A_HELPER not in request.messages[0].text:
        return ""
    told = [m.text for m in request.messages if m.role == "user"]
    return told[0].removeprefix("Task:\n\n")


def turns_of(request: Request) -> int:
    """How many replies the conversation has so far."""
    return sum(message.role == "assistant" for message in request.messages)


def model(
    asks: Sequence[Reply], helper: Callable[[Request, str], Reply], *, delay: float = 0.0, answer: Reply = "done"
) -> ScriptedModel:
    """`asks` are the replies of the user's session, in order; `helper` makes those of helpers."""
    own = list(asks)

    def reply(request: Request) -> Reply:
        if task := task_of(request):
            return helper(request, task)
        return own.pop(0) if own else answer

    return ScriptedModel([reply] * MANY, delay=delay)


def started(*tasks: str, role: str = "explorer", **more: Any) -> list[Any]:
    return [call("run_helpers", helpers=[{"role": role, "task": task, **more} for task in tasks])]


def opened(root: Path, model: ScriptedModel, **more: Any) -> Any:
    settings = {**FLAT, **more.pop("settings", {})}
    words = {"surface": Surface.HEADLESS, "axes": AUTONOMOUS, **more}
    return open_session(str(root), model=model, settings=settings, **words)


async def said(session: Session, text: str = "look around") -> list[p.Event]:
    """An input to its end; its events."""
    followed = session.follow(await session.say(text))
    return [item.event async for item in followed if isinstance(item, p.Recorded)]


def only(kind: type[Any], events: Sequence[p.Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
