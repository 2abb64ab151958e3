"""Tells the model the pages and rules for the files that its calls touched: once, again if one changed."""

from __future__ import annotations

from collections.abc import Iterable

from quintet.domain.journal.conversation_state import ASIDE
from quintet.domain.journal.protocol import AgentsPageTold, Event, FilesChanged
from quintet.domain.turn.agent_pages import MOST_AT_ONCE, own_paths
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.toolbox import Prepared

PAGE = "stages/nested_page.md"


def pages_told(
    core: Core, journal: Journal, turn: str, calls: Iterable[Prepared], changed: Iterable[Event]
) -> list[Event]:
    """The events of what is new to the model after these calls."""
    state, look = journal.state, core.turn.nested_pages
    if look is None or state.conversation.stage in ASIDE or not core.turn.models.staged(state.dials):
        return []
    named = [path for one in calls for path in (*one.touch.reads, *one.touch.writes)]
    written = [path for event in changed if isinstance(event, FilesChanged) for path in event.paths]
    touched = own_paths([*named, *written])
    if not touched:
        return []
    found = [(page.place, core.turn.prompts.filled(PAGE, {"last_step_outcome": page.told})) for page in look(touched)]
    new = [(place, text) for place, text in found if state.conversation.pages.get(place) != text]
    return [AgentsPageTold(turn=turn, path=place, text=text) for place, text in new[:MOST_AT_ONCE]]
