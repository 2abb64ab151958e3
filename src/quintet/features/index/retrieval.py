"""What a turn begins with of the index: the files that fit the input, and where in them. Port `Recollection`.

Only where the project has an index already: no turn waits for one. What has changed since goes in meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.memory.remarks import Remark, within
from quintet.features.index.settings import IndexSettings

if TYPE_CHECKING:
    from quintet.app.services import Opening
    from quintet.features.index.entries import FittingFile
    from quintet.features.index.service import ProjectIndex

MOST_FILES = 10
MOST_INPUT = 2000  # characters of an input that are looked for
MOST_PLACES = 4  # of one file


class IndexRetrieval:
    def __init__(self, opening: Opening) -> None:
        self._opening = opening

    async def relevant(self, text: str, budget: int) -> tuple[Remark, ...]:
        settings = self._opening.settings.table("index", IndexSettings)
        if not settings.retrieval or not os.path.exists(os.path.join(self._opening.places.state, "index.db")):
            return ()
        index: ProjectIndex = self._opening.services["index"]
        index.begin()
        found = await index.search(text[:MOST_INPUT], MOST_FILES)
        return tuple(within(remarks(found), budget))


def remarks(found: Sequence[FittingFile]) -> list[Remark]:
    """A line for each file, with the places in it that fit."""
    made = []
    for one in found:
        places = [f"{symbol.full_name} ({symbol.kind}, line {symbol.line})" for symbol in one.symbols[:MOST_PLACES]]
        told = "; ".join(places) or f"line {one.line}: {one.text}"
        made.append(Remark(f"index, {one.path}", on_one_line(told)))
    return made
