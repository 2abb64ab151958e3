"""A question of a session as a request for permission, and what the client chose as its answer. Pure.

A choice that takes words goes as a form to clients that know forms; to the others it is not offered, and a question
that cannot be answered without words waits for the next message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import (
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    PermissionOption,
    PermissionOptionKind,
    ToolCallUpdate,
)

from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import FEEDBACK, LASTING, NO, TURNING, chosen
from quintet.domain.permission.question import split_detail
from quintet.features.acp import calls

NOTE = "note"
APPROVE = "approve"  # the kind of a question about a call
WHAT_INSTEAD = "What should it do instead?"


def takes_words(asked: p.QuestionAsked, choice: p.Choice) -> bool:
    return choice.takes_text is True or (choice.key == FEEDBACK and asked.kind == APPROVE)


def needs_words(asked: p.QuestionAsked) -> bool:
    """Whether an answer in words is what it is about."""
    return any(choice.takes_text is True for choice in asked.choices)


def options(asked: p.QuestionAsked, *, forms: bool) -> list[PermissionOption]:
    return [
        PermissionOption(option_id=one.key, name=one.label[:1].upper() + one.label[1:], kind=_kind(asked.kind, one.key))
        for one in asked.choices
        if forms or not takes_words(asked, one)
    ]


def _kind(asked: str, key: str) -> PermissionOptionKind:
    if key == NO or (key == FEEDBACK and asked == APPROVE):
        return "reject_once"
    return "allow_always" if asked == APPROVE and key in LASTING | TURNING else "allow_once"


def about(asked: p.QuestionAsked, call: str, given: Mapping[str, Any] | None) -> ToolCallUpdate:
    """What the question is about: the call where it is one, with all that a person should read before they answer."""
    head, _, more = asked.text.partition("\n")
    own, rest = split_detail(asked.detail)
    lines = [*([more] if more else []), *own, *(["", *rest] if rest else [])]
    text = "\n".join(lines).strip("\n")
    return ToolCallUpdate(
        tool_call_id=call,
        title=head,
        status="pending",
        content=[calls.text_content(calls.fenced(text))] if text else None,
        raw_input=dict(given) if given else None,
    )


def form(asked: p.QuestionAsked, key: str, session: str, call: str = "") -> tuple[str, ElicitationFormSessionMode]:
    """What is asked of the person, and the field for it."""
    text = WHAT_INSTEAD if key == FEEDBACK else asked.text
    schema = ElicitationSchema(
        type="object",
        properties={NOTE: ElicitationStringPropertySchema(type="string", title=text.partition("\n")[0])},
        required=[NOTE],
    )
    return text, ElicitationFormSessionMode(session_id=session, tool_call_id=call or None, requested_schema=schema)


def by_message(asked: p.QuestionAsked, text: str) -> p.Answer:
    """A message as the answer to a question that needs words: a choice that it names, or the words."""
    key = chosen(asked.choices, text.strip())
    typed = next((one.key for one in asked.choices if one.takes_text is True), "")
    if key and key != typed:
        return p.Answer(question=asked.question, choice=key)
    return p.Answer(question=asked.question, choice=typed, note=text.strip())


def refusal(choices: Sequence[p.Choice]) -> str:
    """The choice that a question is left with when nobody answers; empty where there is none."""
    return NO if any(one.key == NO for one in choices) else ""


def in_words(asked: p.QuestionAsked) -> str:
    """A question that is answered by the next message."""
    listed = "\n".join(f"- `{one.key}` {one.label}" for one in asked.choices if one.takes_text is not True)
    return f"\n\n**{asked.text}**\n\n{listed}\n\nAnswer with your next message.\n\n"
