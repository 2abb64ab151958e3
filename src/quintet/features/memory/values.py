"""A memory: what is known, in which tier, where from, what shows it, and how to tell whether it still holds."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import did_you_mean
from quintet.domain.memory.remarks import Remark

MOST_TEXT = 500  # characters of a memory: it is a line, not a page
YOU = "you"
SESSION = "session "  # what a source begins with that is one


class Tier(StrEnum):
    FACT = "fact"  # of the project: a path, a command that builds or tests
    DECISION = "decision"  # that the user took or accepted
    OUTCOME = "outcome"  # of a run that was delivered


class PathCheck(Struct, frozen=True, tag_field="kind", tag="path"):
    """Holds while a path of the project exists."""

    path: str


class TextCheck(Struct, frozen=True, tag_field="kind", tag="text"):
    """Holds while a file of the project contains a text."""

    path: str
    text: str


class CommandCheck(Struct, frozen=True, tag_field="kind", tag="command"):
    """A command line that was seen to succeed. It is never run for the check: only its date is shown."""

    line: str


class TakenBackCheck(Struct, frozen=True, tag_field="kind", tag="taken_back"):
    """Does not hold: a rewind took back the files that it was seen with. Undone, it holds by what it held by before."""

    before: PathCheck | TextCheck | CommandCheck | None = None


MemoryCheck = PathCheck | TextCheck | CommandCheck | TakenBackCheck


class NewMemory(Struct, frozen=True):
    """What may become a memory."""

    tier: Tier
    text: str
    evidence: str = ""
    check: MemoryCheck | None = None


class MemoryEntry(Struct, frozen=True):
    id: str  # m1, m2, …
    tier: Tier
    text: str
    source: str  # you, a session and turn of it, or a file that you imported
    at: str  # when it was written or last shown again
    evidence: str = ""
    check: MemoryCheck | None = None
    stale: str = ""  # why it no longer held when the doctor marked it; empty: it is not marked

    @property
    def remark(self) -> Remark:
        """As a model is told it."""
        seen = ", seen to succeed then" if isinstance(self.check, CommandCheck) else ""
        session = self.source.removeprefix(SESSION).partition(",")[0] if self.source.startswith(SESSION) else ""
        source = f"memory {self.id}, {self.tier}, {self.at[:10]}, from {self.source}{seen}"
        return Remark(source, self.text, session)


def check_words(check: MemoryCheck | None) -> str:
    """A check as it is shown and as `parse_check` reads it."""
    match check:
        case PathCheck(path=path):
            return f"path:{path}"
        case TextCheck(path=path, text=text):
            return f"text:{path}:{text}"
        case CommandCheck(line=line):
            return f"command:{line}"
        case TakenBackCheck():
            return "its files, which a rewind restored"
    return ""


def parse_check(words: str) -> MemoryCheck:
    """`path:FILE`, `text:FILE:WORDS` or `command:LINE`."""
    kind, _, rest = words.partition(":")
    path, _, text = rest.partition(":")
    if kind == "path" and rest.strip():
        return PathCheck(rest.strip())
    if kind == "text" and path.strip() and text.strip():
        return TextCheck(path.strip(), text.strip())
    if kind == "command" and rest.strip():
        return CommandCheck(rest.strip())
    hint = "Use path:FILE, text:FILE:WORDS or command:LINE."
    raise UsageError(f"check {on_one_line(words)[:80]}: it is not a check", hint=hint)


def parse_tier(word: str) -> Tier:
    try:
        return Tier(word.lower().removesuffix("s"))
    except ValueError:
        close = did_you_mean(word, Tier)
        raise UsageError(f"tier {on_one_line(word)[:40]}: not one of {', '.join(Tier)}.{close}") from None


def checked_text(text: str) -> str:
    """A memory's text as it is kept: one line, not empty and not long."""
    line = " ".join(on_one_line(text).split())
    if not line:
        raise UsageError("a memory needs a text", hint="For example: quintet memory add 'Releases are cut from main'")
    if len(line) > MOST_TEXT:
        raise UsageError(
            f"the text has {len(line)} characters; a memory has at most {MOST_TEXT}", hint="Split it into several."
        )
    return line
