"""/remote: this session's questions and ends on your paired channels, and your answers from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.domain.base.errors import UsageError
from quintet.features.remote.actor import Remote

if TYPE_CHECKING:
    from quintet.app.services import Opening


async def remote(opening: Opening, words: tuple[str, ...]) -> str:
    held: Remote = opening.services["remote"]
    match tuple(word.lower() for word in words):
        case () | ("status",):
            return "\n".join(held.status())
        case ("on",):
            return held.turn_on()
        case ("off",):
            return await held.turn_off()
    raise UsageError("[on|off|status]")
