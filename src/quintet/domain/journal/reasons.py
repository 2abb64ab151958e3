"""Reasons as they are recorded, and what they mean.

Journals and rows of tasks keep a reason as a text for people. Where the program has to know what a text stands for, it
is written and read here, and nowhere else is a text compared.
"""

from __future__ import annotations

from enum import StrEnum

from quintet.domain.dials.axes import Axes

FOUND_AS_FILE = "found as a file without a row"
NOT_RUN = "not run: "
_DECLINED = f"{NOT_RUN}the user said no"
_TURN_ENDED = f"{NOT_RUN}the turn ended first"
_NOT_VERIFIED = "not verified: "
_REFUSED = "not allowed: "
_UNATTENDED = ("; nobody can approve it in this run", "; nobody is attached to ask")  # the second: earlier journals


class EndCause(StrEnum):
    """Why a turn ended before it was done; its reason begins with it."""

    INTERRUPTED = "interrupted"  # by the user
    LOOP = "loop_detected"
    MAX_TURNS = "limits.max_turns"
    OTHER = ""


def cause_of(reason: str) -> EndCause:
    return next(cause for cause in EndCause if reason.startswith(cause))


class Refuser(StrEnum):
    """Who did not let a call run."""

    USER = "user"  # asked, and said no
    POLICY = "policy"  # gate, rule or hook; the decision on the call says more


def not_run(reason: str) -> str:
    """What the model is told of a call that may not run."""
    return f"{NOT_RUN}{reason}"


def declined(note: str) -> str:
    """What the model is told of a call that the user said no to."""
    return f"{_DECLINED}: {note}" if note else _DECLINED


def never_begun() -> str:
    """What the model is told of a call that was still waiting when its turn ended."""
    return _TURN_ENDED


def was_begun(content: str) -> bool:
    """Whether the call whose result this is was decided, and did not just wait when its turn ended."""
    return content != _TURN_ENDED


def refuser_of(content: str) -> Refuser:
    """Who did not let the call run whose result this is."""
    return Refuser.USER if content.startswith(_DECLINED) else Refuser.POLICY


def is_plain_no(content: str) -> bool:
    """Whether this is the result of a call that the user said no to, and nothing about what to do instead."""
    return content == _DECLINED


def feedback_in(content: str) -> str:
    """What the user said should be done instead of the call whose result this is; empty if they did not."""
    return content.removeprefix(f"{_DECLINED}: ") if content.startswith(f"{_DECLINED}: ") else ""


def refusal_of(content: str) -> str:
    """The reason in the result of a call that did not run."""
    return content.removeprefix(NOT_RUN)


def without_person(reason: str) -> str:
    """Why a call needs approval, without that nobody can give it."""
    return reason.removesuffix(_UNATTENDED[0]).removesuffix(_UNATTENDED[1])


def names_a_dial(reason: str, axes: Axes) -> bool:
    """Whether a call needs approval, or may not run, because of where a dial stands, and not wherever it stands."""
    dials = (
        f"profile {axes.permission_profile}",
        f"; this is {axes.permission_profile}",
        "in chat",
        f"work mode {axes.work_mode}",
        f"run control is {axes.run_control}",
    )
    return any(dial in reason for dial in dials)


class TaskCause(StrEnum):
    """Why a task was moved, where more than a person goes by it."""

    FOUND_AS_FILE = "found as file"  # nobody has added it
    NOT_VERIFIED = "not verified"  # a person has to say
    REFUSED = "refused"  # it was not allowed something: asked again when its cycle goes on
    OTHER = "other"


def not_verified(findings: str) -> str:
    """The reason of a task that nobody could verify."""
    return f"{_NOT_VERIFIED}{findings}"


def refused(reason: str) -> str:
    """The reason of a task whose unit was not allowed what it needed."""
    return f"{_REFUSED}{reason}"


def task_cause_of(reason: str) -> TaskCause:
    if reason == FOUND_AS_FILE:
        return TaskCause.FOUND_AS_FILE
    if reason.startswith(_REFUSED):
        return TaskCause.REFUSED
    return TaskCause.NOT_VERIFIED if reason.startswith(_NOT_VERIFIED) else TaskCause.OTHER
