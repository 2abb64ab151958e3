"""A request to the offline rules, carried out for real in a repository."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from quintet.app.open import open_session
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
CHAT = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)


def run(
    root: Path,
    text: str,
    axes: AxesChange = BUILD,
    answer: Callable[[p.QuestionAsked], str] | None = None,
) -> tuple[p.TurnFinished, list[p.Event]]:
    """The end of the turn and all events; `answer` is a person who says y or n."""

    async def turn() -> tuple[p.TurnFinished, list[p.Event]]:
        seen: list[p.Event] = []
        one_turn = {"cycle.from_input": False}
        session_here = open_session(str(root), axes=axes, person=answer is not None, settings=one_turn)
        async with asyncio.timeout(60), session_here as session:
            followed = session.follow(await session.say(text), after=0)
            async for item in followed:
                if not isinstance(item, p.Recorded):
                    continue
                seen.append(item.event)
                if isinstance(item.event, p.QuestionAsked) and answer:
                    await session.submit(p.Answer(question=item.event.question, choice=answer(item.event)))
            assert isinstance(followed.outcome.event, p.TurnFinished)
            return followed.outcome.event, seen

    return asyncio.run(turn())


def calls(events: list[p.Event], tool: str) -> list[str]:
    """The arguments of the calls of a tool that ran."""
    return [event.arguments for event in events if isinstance(event, p.ToolStarted) and event.tool == tool]


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".git", ".pytest_cache"} & set(path.parts) and path.suffix != ".pyc"
    }
