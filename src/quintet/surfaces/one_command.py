"""The surface of one slash command by the user's own hand: what it says on stdout, or its data as JSON.

Exit: 0 done, 2 refused.
"""

from __future__ import annotations

from quintet.domain.journal import protocol as p
from quintet.engine.session.session import Session
from quintet.surfaces.tables import complain, say, say_json


async def one_command(session: Session, line: str, *, as_json: bool) -> int:
    submission = await session.say(line)
    async for item in session.events(session.since):
        if (
            isinstance(item, p.Recorded)
            and isinstance(item.event, p.CommandRan)
            and item.event.submission == submission
        ):
            ran = item.event
            if not ran.ok:
                complain(f"quintet: {ran.text}")
                return 2
            if as_json:
                say_json(ran.data)
            else:
                say(ran.text.splitlines())
            return 0
    return 1
