"""What a turn begins with of what is known, and what is kept of a run that is over. Both come and go through ports."""

from __future__ import annotations

from quintet.domain.journal.protocol import Noticed, Recalled
from quintet.domain.memory.remarks import unsaid, within
from quintet.domain.memory.shown import RunShown, forgetting, learnt_line
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal

PAGE = "stages/recalled.md"
LEARNT = "LEARNT"  # code of the notice


async def recall(core: Core, journal: Journal, turn: str, text: str) -> None:
    """Tell the model what fits the input and does not stand in the conversation."""
    port, state, budget = core.turn.recall, journal.state, core.settings.runs.recall_bytes
    if port is None or not budget or not text.strip() or not core.turn.models.staged(state.dials):
        return
    known = await port.relevant(text, budget)
    found = within(unsaid(known, state.session, state.conversation.messages), budget)
    if found:
        told = core.turn.prompts.filled(PAGE, {"last_step_outcome": "\n".join(one.line for one in found)})
        journal.post(Recalled(turn=turn, sources=tuple(one.source for one in found), text=told))


async def learn(core: Core, shown: RunShown) -> list[Noticed]:
    """Have kept what may be kept of a run; what the user is told of it."""
    kept = await core.turn.lessons.learn(shown) if core.turn.lessons else ()
    if not kept:
        return []
    return [Noticed(level="info", code=LEARNT, text=learnt_line(kept), takes_back=forgetting(kept))]
