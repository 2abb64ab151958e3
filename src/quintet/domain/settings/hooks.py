"""Hooks: the user's own commands at seven places of a session, and what their ending means.

A hook may hold something back, ask for a person, or tell the model something. It can never allow: what the gate or
the person decided is only ever made stricter. Exit 0 means what stdout says, 2 means no with stderr as the reason, any
other ending is a warning and nothing else. One that may not be run, for its script is no longer what was trusted, holds
back what it guards: nobody knows what it would have said.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

TIMEOUT_SECONDS = 30.0
MOST_CHARACTERS = 10_000  # of a reason, or of what a hook tells the model
NO, ASK = ("block", "deny"), "ask"
NO_OBJECTION = ("", "allow", "approve")  # said by hooks written for others; it lifts nothing


class HookPlace(StrEnum):
    """Where hooks run. The value is the name a hook is told."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    PRE_COMPACT = "PreCompact"
    STOP = "Stop"
    PERMISSION_REQUEST = "PermissionRequest"

    @property
    def setting(self) -> str:
        return self.name.lower()


class HookEnd(Struct, frozen=True):
    """How a hook's process ended."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    withheld: str = ""  # why it was not run at all: it is not what the user trusted


class HookVerdict(Struct, frozen=True):
    """What hooks at one place came to."""

    blocked: bool = False
    asks: bool = False
    reason: str = ""  # of a no, or of the question
    context: str = ""  # for the model
    warning: str = ""  # for the person


def verdict_of(place: HookPlace, end: HookEnd) -> HookVerdict:
    """What a hook's ending means at its place."""
    if end.withheld:
        return _unheard(place, end.withheld)
    if end.timed_out:
        return HookVerdict(warning=f"it did not end within {TIMEOUT_SECONDS:g} s and was killed")
    if end.exit_code == 2:
        return _no(place, _cut(end.stderr) or "it gave no reason")
    if end.exit_code != 0:
        said = _cut(end.stderr or end.stdout).partition("\n")[0]
        return HookVerdict(warning=f"exit {end.exit_code}{f': {said}' if said else ''}")
    answer = _answer(end.stdout)
    decision, reason, context = (_text(answer, key) for key in ("decision", "reason", "additionalContext"))
    if decision in NO:
        return msgspec.structs.replace(_no(place, reason or "it gave no reason"), context=context)
    if decision == ASK and place is HookPlace.PRE_TOOL_USE:
        return HookVerdict(asks=True, reason=reason or "it requires approval", context=context)
    warning = "" if decision in NO_OBJECTION else f'decision "{decision}" has no effect at {place}'
    return HookVerdict(context=context, warning=warning)


def stricter(first: HookVerdict, second: HookVerdict) -> HookVerdict:
    """What two hooks at one place come to: the stricter of them. Contexts and warnings are told one by one."""
    if second.blocked or not (first.blocked or first.asks):
        return HookVerdict(second.blocked, second.asks, second.reason)
    return first


def _unheard(place: HookPlace, why: str) -> HookVerdict:
    """A guard that nobody could ask: a person decides, or it stays as it is. A person is asked there anyway, or the
    hook comes too late to hold anything back: then it is said."""
    if place is HookPlace.PRE_TOOL_USE:
        return HookVerdict(asks=True, reason=why, warning=why)
    if place in (HookPlace.USER_PROMPT_SUBMIT, HookPlace.PRE_COMPACT):
        return HookVerdict(blocked=True, reason=why, warning=why)
    return HookVerdict(warning=why)


def _no(place: HookPlace, reason: str) -> HookVerdict:
    if place is HookPlace.SESSION_START:
        return HookVerdict(warning=f"a hook cannot stop a session from opening: {reason}")
    if place is HookPlace.POST_TOOL_USE:  # the call has run: all that is left is to tell the model
        return HookVerdict(blocked=True, reason=reason, context=reason)
    return HookVerdict(blocked=True, reason=reason)


def _answer(stdout: str) -> dict[str, Any]:
    """What a hook printed, if that is a JSON object; anything else is its own business."""
    try:
        answer = msgspec.json.decode(stdout.strip() or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _text(answer: dict[str, Any], key: str) -> str:
    value = answer.get(key)
    return _cut(value) if isinstance(value, str) else ""


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
