"""Whether a task is verified: one pure function, `verdict`, of what was said of it and of what shows it.

Nothing is done on a claim alone. What shows it is a command of the task's own that passed, files that its units
changed, or what the verifier looked at itself; the offline rules, which judge nothing, want the command, or that the
very files the task names were changed. Where nothing shows it, it is not verified, which is neither done nor failed.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.tasks.page import request_of
from quintet.domain.tasks.task import TaskText

MOST_NAMED = 3
HOW_TO = "give it a `verification` command, or choose a model or a --verifier that looks"
# A path, or a name with an ending: a.txt, src/x, docs/a.md; no address and no version.
_FILES = regex(r"(?<![\w./:@-])((?:\./)?(?:\.?[\w-][\w.-]*/)*\.?[\w-][\w-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,9})(?![\w/:@-])")


class VerifyOutcome(StrEnum):
    VERIFIED = "verified"
    FAILED = "failed"
    NOT_VERIFIED = "not verified"


class DoneEvidence(Struct, frozen=True):
    """What shows that a task is done, beyond anybody's word."""

    command: bool = False  # its own command ran, and passed
    changed: tuple[str, ...] = ()  # files that its units changed, the first of them
    looked: bool = False  # the verifier read or ran something itself
    native: bool = False  # Quintet's own turn did it, and the delivery check wants evidence for a DONE of that
    by_rules: bool = False  # the offline rules did it, which say done only of what they saw happen


def verdict(said: bool | None, text: TaskText, shown: DoneEvidence) -> tuple[VerifyOutcome, str]:
    """The outcome and, where it is not verified, why. `said` is the verifier's word; None: it has no judgement."""
    if said is False:
        return VerifyOutcome.FAILED, ""
    if shown.command or shown.by_rules:
        return VerifyOutcome.VERIFIED, ""
    if said:
        if shown.native or shown.changed or shown.looked:
            return VerifyOutcome.VERIFIED, ""
        return (
            VerifyOutcome.NOT_VERIFIED,
            f"nothing changed, no command ran, and the verifier looked at nothing; {HOW_TO}",
        )
    return _by_files(text, shown.changed)


def _by_files(text: TaskText, changed: tuple[str, ...]) -> tuple[VerifyOutcome, str]:
    named = files_named(text)
    if not changed:
        return VerifyOutcome.NOT_VERIFIED, f"nothing changed, and it has no command that shows it; {HOW_TO}"
    if not named:
        return VerifyOutcome.NOT_VERIFIED, f"it names no file and has no command that shows it; {HOW_TO}"
    if missing := [name for name in named if not _is_among(name, changed)]:
        return VerifyOutcome.NOT_VERIFIED, f"{', '.join(missing[:MOST_NAMED])} did not change; {HOW_TO}"
    return VerifyOutcome.VERIFIED, ""


def files_named(text: TaskText) -> list[str]:
    """The files that a task says it is about."""
    said = f"{text.title}\n{request_of(text.body)}"
    found = [*(intent.path for intent in text.intent), *(match[1] for match in _FILES.finditer(said))]
    return list(dict.fromkeys(name.removeprefix("./") for name in found))


def _is_among(name: str, changed: tuple[str, ...]) -> bool:
    folder = f"{name.rstrip('/')}/"
    return any(path == name or path.endswith(f"/{name}") or path.startswith(folder) for path in changed)
