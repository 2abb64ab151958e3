"""The slash command on inputs that wait behind the turn that runs: to see, change and take back each; and their hold.

Whoever stops what runs stops what waits behind it too. It stays, in its order, until it is let go or taken back.
"""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import brief
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import (
    Event,
    InputReceived,
    InputRevised,
    InputsHeld,
    InputsReleased,
    InputWithdrawn,
)
from quintet.domain.journal.state import SessionState
from quintet.engine.session.command_context import CommandContext, CommandOutcome

USAGE = "/queued, /queued drop N|all, /queued edit N TEXT, or /queued run"


def held(state: SessionState, reason: str) -> list[Event]:
    """The hold of what waits, if anything does."""
    waiting = tuple(one.submission for one in state.turns.waiting)
    return [InputsHeld(submissions=waiting, reason=reason)] if waiting else []


def released(state: SessionState, reason: str) -> list[Event]:
    return [InputsReleased(reason=reason)] if held_inputs(state) else []


def held_inputs(state: SessionState) -> list[InputReceived]:
    return [one for one in state.turns.waiting if one.submission in state.turns.held]


def queued(context: CommandContext, line: CommandLine) -> CommandOutcome:
    state, waiting = context.state, context.state.turns.waiting
    match tuple(" ".join(line.words).split(maxsplit=2)):
        case ():
            return CommandOutcome("\n".join(listing(state)) or "nothing is queued", data=_data(state))
        case ("run",):
            if not held_inputs(state):
                raise UsageError("nothing is held: queued inputs start automatically")
            return CommandOutcome(
                f"{counted(len(waiting), 'queued input')}, started in order", released(state, "/queued run")
            )
        case ("drop", "all"):
            gone: list[Event] = [InputWithdrawn(submission=one.submission, reason="dropped") for one in waiting]
            return CommandOutcome(f"{counted(len(gone), 'queued input')} removed", gone)
        case ("drop", which):
            one = _chosen(waiting, which)
            return CommandOutcome(
                f"removed: {_brief(one)}", [InputWithdrawn(submission=one.submission, reason="dropped")]
            )
        case ("edit", which, *words) if words or line.details.strip():
            one = _chosen(waiting, which)
            if one.order is not None:
                raise UsageError("a queued command cannot be changed: remove it, and enter it again")
            text = "\n".join(filter(None, (" ".join(words), line.details)))
            return CommandOutcome(f"changed: {brief(text)}", [InputRevised(submission=one.submission, text=text)])
    raise UsageError(USAGE)


def _chosen(waiting: list[InputReceived], which: str) -> InputReceived:
    """By its number in the list, or its id."""
    found = next((one for one in waiting if one.submission == which), None)
    if found is None and which.isdecimal() and 0 < int(which) <= len(waiting):
        found = waiting[int(which) - 1]
    if found is None:
        raise UsageError(f"no queued input {which}; /queued lists them")
    return found


def _brief(one: InputReceived) -> str:
    return brief(one.text) or (f"/{one.order.kind}" if one.order else "")


def listing(state: SessionState) -> list[str]:
    """What waits, in its order; nothing if nothing does."""
    rows = [
        (str(number), _brief(one), "held" if one.submission in state.turns.held else "")
        for number, one in enumerate(state.turns.waiting, 1)
    ]
    end = ["/queued run starts the held inputs; /queued drop N removes one"] if held_inputs(state) else []
    return [*table(rows, right=(0,)), *end]


def _data(state: SessionState) -> dict[str, object]:
    rows = [
        {"submission": one.submission, "text": one.text, "held": one.submission in state.turns.held}
        for one in state.turns.waiting
    ]
    return {"queued": rows}
