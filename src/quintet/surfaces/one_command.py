"""The surface of one slash command by the user's own hand: what it says on stdout, or its data as JSON.

Exit: 0 done, 2 refused.
"""

from __future__ import annotations

from quintet.domain.journal.protocol import CommandRan
from quintet.engine.session.session import Session
from quintet.surfaces.tables import complain, say, say_json


async def one_command(session: Session, line: str, *, as_json: bool) -> int:
    outcome = await session.follow(await session.say(line)).end()
    if not isinstance(outcome.event, CommandRan):
        return 1
    if not outcome.event.ok:
        complain(f"quintet: {outcome.reason}")
        return 2
    if as_json:
        say_json(outcome.event.data)
    else:
        say(outcome.answer.splitlines())
    return 0
