"""/helpers: the helpers of this session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from quintet.app.lookups import needed
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Surface
from quintet.features.helpers.stored import stored_helpers
from quintet.features.helpers.words import helper_lines

if TYPE_CHECKING:
    from quintet.app.services import Opening


async def helpers(opening: Opening, words: tuple[str, ...]) -> str:
    if words:
        raise UsageError("/helpers takes nothing; `quintet helpers --reports` shows what they reported")
    session = opening.attach(Surface.RPC).id

    def look() -> str:
        rows = needed(opening.places)
        try:
            return "\n".join(helper_lines(stored_helpers(rows, session), session))
        finally:
            rows.close()

    return await asyncio.to_thread(look)
