"""The slash command that says why a decision was made: what `quintet why` says, in the session.

Loaded when it is given.
"""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Recorded
from quintet.engine.session.command_context import CommandContext, CommandOutcome
from quintet.engine.session.why import BEHIND, decision_behind, newest_decision, why_lines


def why(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if len(line.words) > 1 or (line.words and not line.words[0].isascii()):
        raise UsageError("/why [N]: the number beside a question, a decision or a call")
    store, session = context.core.store, context.state.session
    recorded = _numbered(context, line.words[0]) if line.words else newest_decision(store.read(session, kinds=BEHIND))
    if recorded is None:
        return CommandOutcome("nothing was decided in this session yet")
    before = store.read(session, 0, recorded.seq - 1, BEHIND)
    recorded = decision_behind(recorded.event, before) or recorded
    lines, data = why_lines(recorded, before)
    return CommandOutcome("\n".join([*lines, f"event    {recorded.seq}, {recorded.at}"]), data={"why": data})


def _numbered(context: CommandContext, word: str) -> Recorded:
    if not word.isdigit():
        raise UsageError(f"/why {word}: not a number; it is the one beside a question, a decision or a call")
    number = int(word)
    found = context.core.store.read(context.state.session, number - 1, number) if 0 < number < MOST else []
    if not found:
        raise UsageError(f"event {word} is not one of this session; `quintet why {word}` looks in all of the project")
    return found[0]


MOST = 2**62  # numbers that the store can hold
