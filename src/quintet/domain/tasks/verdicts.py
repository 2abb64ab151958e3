"""Whether a task is verified: one pure function, `verdict`, of what was said of it and of what shows it.

Nothing is done on a claim alone. What shows it is a command of the task's own that passed, files that its units
changed, or what the verifier looked at itself. What a task says it will change (`intent`) has to be among that, unless
the command or a verifier that looked says more. The offline rules, which judge nothing, want the command, or that the
very files the task names were changed; `unchecked` names what they leave open. Where nothing shows it, it is not
verified, which is neither done nor failed; so it is where a verifier that was asked gives no verdict.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.tasks.page import request_of
from quintet.domain.tasks.task import Mutation, TaskText

MOST_NAMED = 3
NO_VERDICT = "the verifier did not say whether it is done"
HOW_TO = "give it a `verification` command, or choose a model or a --verifier that checks the work"
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
    missing: tuple[str, ...] = ()  # files that it names and that are not there
    unclear: str = ""  # what a verifier said that was asked and gave no verdict


def verdict(said: bool | None, text: TaskText, shown: DoneEvidence) -> tuple[VerifyOutcome, str]:
    """The outcome and, where it is not verified, why. `said` is the verifier's word; None: it has no judgement."""
    if said is False:
        return VerifyOutcome.FAILED, ""
    if shown.unclear:
        return VerifyOutcome.NOT_VERIFIED, f"{NO_VERDICT}: {shown.unclear}"
    if shown.command or (said and shown.looked):
        return VerifyOutcome.VERIFIED, ""
    if untouched := _untouched(text, shown):
        return VerifyOutcome.NOT_VERIFIED, f"there is no evidence that its files were handled: {untouched}; {HOW_TO}"
    if shown.by_rules or (said and (shown.native or shown.changed)):
        return VerifyOutcome.VERIFIED, ""
    if said:
        return (
            VerifyOutcome.NOT_VERIFIED,
            f"nothing changed, no command ran, and the verifier read nothing; {HOW_TO}",
        )
    return _by_files(text, shown)


def unchecked(said: bool | None, shown: DoneEvidence) -> str:
    """What nobody has looked at, of a task that the offline rules verified."""
    if said is not None:
        return ""
    if shown.command:
        return "what its command does not test"
    return "more than its own steps show" if shown.by_rules else "what its files say"


def _untouched(text: TaskText, shown: DoneEvidence) -> str:
    """Why what a task says it will change does not show it; empty if it does, or the task says nothing."""
    paths = list(dict.fromkeys(intent.path for intent in text.intent))
    if not paths or text.mutation is Mutation.NONE or any(_is_among(path, shown.changed) for path in paths):
        return ""
    return _as_they_are(paths, shown)


def _by_files(text: TaskText, shown: DoneEvidence) -> tuple[VerifyOutcome, str]:
    named, changed = files_named(text), shown.changed
    if not changed:
        return VerifyOutcome.NOT_VERIFIED, f"nothing changed, and it has no verification command; {HOW_TO}"
    if not named:
        return VerifyOutcome.NOT_VERIFIED, f"it names no file and has no verification command; {HOW_TO}"
    if unmoved := [name for name in named if not _is_among(name, changed)]:
        return VerifyOutcome.NOT_VERIFIED, f"{_as_they_are(unmoved, shown)}; {HOW_TO}"
    return VerifyOutcome.VERIFIED, ""


def _as_they_are(paths: list[str], shown: DoneEvidence) -> str:
    """Files that did not change, in words."""
    gone = [path for path in paths if path in shown.missing][:MOST_NAMED]
    same = [path for path in paths if path not in shown.missing][:MOST_NAMED]
    said = [f"{', '.join(same)} did not change"] if same else []
    return ", ".join([*said, *([f"{', '.join(gone)} does not exist"] if gone else [])])


def files_named(text: TaskText) -> list[str]:
    """The files that a task says it is about."""
    said = f"{text.title}\n{request_of(text.body)}"
    found = [*(intent.path for intent in text.intent), *(match[1] for match in _FILES.finditer(said))]
    return list(dict.fromkeys(name.removeprefix("./") for name in found))


def _is_among(name: str, changed: tuple[str, ...]) -> bool:
    folder = f"{name.rstrip('/')}/"
    return any(path == name or path.endswith(f"/{name}") or path.startswith(folder) for path in changed)
