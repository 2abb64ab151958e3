"""Whether the work is delivered: what the turn shows, and only where that does not decide, what the model says.

DONE is not taken on a model's word: in build and repair something must have been changed or run in the turn, or the
answer must say that nothing had to be. A check that failed after the last change is never DONE. Where a call was
skipped for want of approval, what the turn shows never decides DONE by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import first_line
from quintet.domain.dials.axes import Axes, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.change_request import Wanted, wanted
from quintet.domain.turn.corrections import asks, promises
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.skipped import SkippedCall
from quintet.domain.turn.swe_phases import masks_failure, names_test
from quintet.domain.turn.tool_spec import CallStatus


class DeliveryState(StrEnum):
    DONE = "DONE"
    NEEDS_WORK = "NEEDS_WORK"
    UNCHECKED = ""  # there is nothing to deliver: the turn ends with its answer


WHOLE_FILE_TOOLS = frozenset({"Write", "Edit"})  # their results say which files they changed


class RanCall(Struct, frozen=True, gc=False):
    """A call of the turn that has run: what it was, what it could do, how it ended."""

    tool: str
    about: str
    effects: tuple[Effect, ...]
    status: CallStatus
    background: bool = False  # it was begun and left to run: that it began is all that is known
    idle: bool = False  # it could have changed something, and left everything as it was


UNSAID = "the check asks for more work, but does not say which"


class Ruling(StrEnum):
    """What the evidence of a turn says of its delivery."""

    NOT_CHECKED = "not_checked"  # a question, which its answer ends
    DONE = "done"
    NEEDS_WORK = "needs_work"
    ASK = "ask"  # it does not decide: the model is asked


class Judgement(Struct, frozen=True):
    ruling: Ruling
    reason: str = ""


EVIDENT = frozenset({Effect.EDIT, Effect.EXECUTE, Effect.BUILD, Effect.INSTALL, Effect.COMMIT})
_CHANGING = frozenset({Effect.EDIT, Effect.DESTROY, Effect.INSTALL, Effect.COMMIT})
_RUNNING_TOOLS = frozenset({"bash", "write_to_shell", "analyze_test_failure"})
_NOTHING_TO_DO = regex(
    r"\b(no|not any|without) (code )?(changes?|edits?|modifications?)( (was|were|is|are))? (needed|necessary|required)"
    r"|\bnothing (had |has |needs |needed )?to (be )?(changed?|do(ne)?|fix(ed)?)"
    r"|\b(is|was|are|were) already (so|done|there|correct|in place)",
    re.I,
)


def claimed(reply: str) -> DeliveryState | None:
    """What the first line of a delivery check says; None if it says neither."""
    lines = [line for line in without(reply).splitlines() if line.strip()]
    first = lines[0].strip(" *_#`.:").upper().replace(" ", "_") if lines else ""
    return next((state for state in (DeliveryState.DONE, DeliveryState.NEEDS_WORK) if first.startswith(state)), None)


def check_line(state: DeliveryState, reason: str) -> str:
    """How a check ended, in a line."""
    first = first_line(reason)
    if state is DeliveryState.DONE:
        return f"delivered  {first}".rstrip()
    return f"not delivered: {first or UNSAID}"


def evidence(calls: Iterable[RanCall]) -> tuple[str, ...]:
    """What the turn changed or ran, as lines a person can check."""
    return tuple(
        f"{call.tool} {call.about}".strip()
        for call in calls
        if _worked(call) and set(call.effects) & EVIDENT and not call.idle and not (call.background and _is_check(call))
    )


def judge(
    axes: Axes,
    text: str,
    calls: Sequence[RanCall],
    answer: str,
    skipped: Sequence[SkippedCall] = (),
    unshown: str = "",
) -> Judgement:
    """What the turn itself shows: an input, the calls that ran for it, those that were skipped, and the answer.

    `unshown`: what a skill's checklist asks for and the turn has not shown.
    """
    if unshown and not skipped:
        return Judgement(Ruling.NEEDS_WORK, unshown)
    if skipped:
        failed = failed_check(calls)
        return Judgement(Ruling.NEEDS_WORK, failed) if failed else Judgement(Ruling.ASK, "calls were skipped")
    if promises(answer) or asks(answer):
        return Judgement(Ruling.ASK, "the answer announces more work, or asks for it")
    if axes.work_mode not in (WorkMode.BUILD, WorkMode.REPAIR):
        return Judgement(Ruling.NOT_CHECKED)
    changed = [place for place, call in enumerate(calls) if _changes(call)]
    if failed := failed_check(calls):
        return Judgement(Ruling.NEEDS_WORK, failed)
    checks = [call for call in calls if _is_check(call)]
    if checks and checks[-1].background:
        return Judgement(Ruling.ASK, f"{checks[-1].about} runs in the background, and nothing shows whether it passed")
    if checks and not _worked(checks[-1]):
        return Judgement(Ruling.ASK, f"{checks[-1].about} failed")
    if checks and masks_failure(checks[-1].about):
        return Judgement(Ruling.ASK, f"the exit code of {checks[-1].about} does not show whether it passed")
    if changed and (broken := _failed_since(calls[changed[-1] :], _executes)):
        return Judgement(Ruling.ASK, f"{broken} failed after the last change")  # it may be a check that nobody knows
    asked_for = wanted(text)
    if changed:
        return Judgement(Ruling.DONE, _shown(calls))
    if asked_for is Wanted.ACTION and (ran := [call for call in calls if _worked(call) and _ran(call)]):
        return Judgement(Ruling.DONE, f"{ran[-1].tool} {ran[-1].about}".strip())
    if asked_for is Wanted.ANSWER:
        return Judgement(Ruling.NOT_CHECKED)
    return Judgement(Ruling.ASK, "nothing was changed")


def failed_check(calls: Sequence[RanCall]) -> str:
    """A check that failed after the last change, and did not pass since; empty if there is none, or no change.

    Another check that passes is no answer to the one that failed.
    """
    changed = [place for place, call in enumerate(calls) if _changes(call)]
    failed = _failed_since(calls[changed[-1] :], _is_check) if changed else ""
    return f"{failed} failed after the last change" if failed else ""


def _failed_since(calls: Sequence[RanCall], counts: Callable[[RanCall], bool]) -> str:
    """Of the lines that count, the last whose latest run failed. One that was left to run says nothing of its end."""
    latest = {call.about: call for call in calls if counts(call) and not call.background}
    return next((about for about, call in reversed(latest.items()) if not _worked(call)), "")


def _changes(call: RanCall) -> bool:
    return _worked(call) and bool(set(call.effects) & _CHANGING) and not call.idle and not call.background


def _executes(call: RanCall) -> bool:
    return Effect.EXECUTE in call.effects and call.tool in _RUNNING_TOOLS


def is_held_up(calls: Sequence[RanCall], skipped: Sequence[SkippedCall]) -> bool:
    """Whether work that is not delivered is so for want of approval, as far as the turn shows."""
    return bool(skipped) and not failed_check(calls)


def _worked(call: RanCall) -> bool:
    return call.status is CallStatus.OK


def _ran(call: RanCall) -> bool:
    """Whether a call ran something, also a line that only reads."""
    return call.tool in _RUNNING_TOOLS or bool(set(call.effects) & EVIDENT)


def _is_check(call: RanCall) -> bool:
    """Whether a call builds or tests something. One that changes something too counts where it failed at a test."""
    effects = set(call.effects)
    tests = bool(effects & {Effect.BUILD, Effect.EXECUTE}) and names_test(call.about)
    if effects & _CHANGING:
        return tests and not _worked(call)
    return Effect.BUILD in effects or tests


def _shown(calls: Iterable[RanCall], most: int = 3) -> str:
    """The evidence in a line, the newest first."""
    lines = list(dict.fromkeys(reversed(evidence(calls))))
    more = f" and {len(lines) - most} more" if len(lines) > most else ""
    return f"{', '.join(lines[:most])}{more}"


def lacking(axes: Axes, calls: Sequence[RanCall], answer: str, skipped: Sequence[SkippedCall] = ()) -> str:
    """Why DONE cannot be believed; empty if it can."""
    tried = any(set(call.effects) & EVIDENT for call in skipped)
    if axes.work_mode not in (WorkMode.BUILD, WorkMode.REPAIR) and not tried:
        return ""
    if failed := failed_check(calls):
        return failed
    if evidence(calls) or _NOTHING_TO_DO.search(answer):
        return ""
    return "nothing was changed or run in this turn, and the answer does not say that no change was needed"
