"""What stands behind an event, in words: the answer to `quintet why`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quintet.domain.base.safe_text import brief, visible
from quintet.domain.dials import badge
from quintet.domain.journal.describe import QUIET
from quintet.domain.journal.protocol import (
    CallDecided,
    DialsTurned,
    Event,
    HelperAssigned,
    QuestionAnswered,
    QuestionAsked,
    Recorded,
    ToolFinished,
    ToolStarted,
    as_json,
)
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.question import access

BEHIND = ("call_decided", "question_asked", "helper_assigned")  # types of events that an event may follow from
_RUN_LINES = ("bash", "write_to_shell")  # of what is on record without words for its access


def decision_behind(event: Event, before: Sequence[Recorded]) -> Recorded | None:
    """The decision that an event follows from: a question about a call, its answer, the call itself.

    `before` are the session's earlier decisions and questions. None if no decision stands behind it.
    """
    match event:
        case QuestionAnswered(question=question):
            asked = [one for one in before if isinstance(one.event, QuestionAsked) and one.event.question == question]
            return (
                decision_behind(asked[-1].event, [one for one in before if one.seq < asked[-1].seq]) if asked else None
            )
        case QuestionAsked(digest=digest) if digest:
            return _newest(before, lambda decided: decided.verdict is Verdict.ASK)
        case ToolStarted(call=call) | ToolFinished(call=call):
            return _newest(before, lambda decided: decided.call == call)
    return None


def newest_decision(decided: Sequence[Recorded]) -> Recorded | None:
    """The last decision about a call that a person sees."""
    return _newest(decided, lambda one: one.tool not in QUIET)


def _newest(before: Sequence[Recorded], wanted: Callable[[CallDecided], bool]) -> Recorded | None:
    return next((one for one in reversed(before) if isinstance(one.event, CallDecided) and wanted(one.event)), None)


def chain_lines(before: Sequence[Recorded]) -> list[str]:
    """Whose helper decided it, from the user's session down: each may do no more than the one above it."""
    assigned = next((one.event for one in reversed(before) if isinstance(one.event, HelperAssigned)), None)
    if assigned is None:
        return []
    lines = [
        f"{'held by' if not place else ''.ljust(7)}  {'  ' * place}{one}" for place, one in enumerate(assigned.chain)
    ]
    return [*map(visible, lines), f"helper   {visible(assigned.helper)}, for call {assigned.call} of {assigned.parent}"]


def why_lines(recorded: Recorded, before: Sequence[Recorded] = ()) -> tuple[list[str], dict[str, Any]]:
    """What stands behind an event: rule, axes and grant of a decision; actor and reason of a transition.

    An event without a reason names the last decision of `before` that a person sees.
    """
    match recorded.event:
        case CallDecided() as e:
            outcome = {
                Verdict.ALLOW: "allowed ",
                Verdict.ASK: "asked   " if e.person else "not run ",
                Verdict.DENY: "not run ",
            }[e.verdict]
            lines = [
                f"{outcome} {e.tool}  {brief(e.arguments, 400)}",
                f"because  {e.reason}",
                f"effects  {', '.join(e.effects) or 'none'}",
                f"dials    {badge.full(e.axes)}  ({e.axes.surface})",
                f"access   {_access(e)}",
                f"person   {'attached' if e.person else 'nobody can approve'} · sandbox {e.sandbox}",
            ]
        case DialsTurned() as e:
            lines = [
                f"changed  {badge.full(e.before)}  →  {badge.full(e.after)}",
                f"because  {e.reason}",
                f"by       {e.actor}, scope {e.scope}",
            ]
        case event:
            kind = type(event).__name__
            lines = [f"event {recorded.seq} is {kind}; only decisions, questions, calls and transitions have a reason"]
            if last := _newest(before, lambda decided: decided.tool not in QUIET):
                assert isinstance(last.event, CallDecided)
                lines.append(f"before   {last.seq} decides about {last.event.tool}  {brief(last.event.arguments, 100)}")
    return [visible(line) for line in lines], as_json(recorded)


def _access(decided: CallDecided) -> str:
    if decided.verdict is Verdict.DENY:
        return "none"
    return decided.access or access(decided.grant, decided.sandbox, "", command=decided.tool in _RUN_LINES)
