"""What whoever does or verifies a task is told of it: title, body, and the fields of its page that say something."""

from __future__ import annotations

from quintet.domain.tasks.task import Mutation, Risk, TaskText

NOTHING_YET = "nothing yet"
_CHANGES = {
    Mutation.NONE: "Changes: nothing. This task only reads; no file is written.",
    Mutation.OUTSIDE: "Changes: also things outside the project.",
}


def brief(text: TaskText, body: str) -> str:
    """`body` is the text of the page as far as it is to be told."""
    body = body.strip()
    title = "" if body.partition("\n")[0].strip() == text.title.strip() else text.title
    intent = ", ".join(str(one) for one in text.intent)
    fields = (
        f"Verified by this command, which must pass: {text.verification}" if text.verification else "",
        f"Its files: {intent}" if intent else "",
        _CHANGES.get(text.mutation, ""),
        f"Risk: {text.risk}." if text.risk is not Risk.LOW else "",
    )
    return "\n\n".join(filter(None, (title, body, "\n".join(filter(None, fields)))))
