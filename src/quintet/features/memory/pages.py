"""Memories as a Markdown page that can be read, committed and imported again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quintet.domain.base.errors import UsageError
from quintet.features.memory.values import MemoryEntry, NewMemory, Tier, check_words, checked_text, parse_check

TITLE = "# Memory"
ABOUT = "What proved true of this project and what was decided, as `quintet memory export` wrote it."
HEADINGS = {Tier.FACT: "Facts", Tier.DECISION: "Decisions", Tier.OUTCOME: "Outcomes"}
_TIERS = {heading.lower(): tier for tier, heading in HEADINGS.items()}
MOST_IMPORTED = 10_000


def written(entries: Iterable[MemoryEntry]) -> str:
    """The page; those that no longer hold are not on it."""
    held = [one for one in entries if not one.stale]
    return "\n".join([TITLE, "", ABOUT, *_lines(held)]) + "\n"


def _lines(entries: list[MemoryEntry]) -> Iterator[str]:
    for tier, heading in HEADINGS.items():
        mine = [one for one in entries if one.tier is tier]
        if not mine:
            continue
        yield from ("", f"## {heading}", "")
        for one in mine:
            yield f"- {one.text}"
            yield f"  - source: {one.source}, {one.at[:10]}"
            if one.evidence:
                yield f"  - evidence: {one.evidence}"
            if one.check:
                yield f"  - check: {check_words(one.check)}"


def read(page: str) -> list[NewMemory]:
    """The memories of a page: the items below the three headings, with their evidence and checks."""
    found: list[NewMemory] = []
    tier: Tier | None = None
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("#"):
            tier = _TIERS.get(line.lstrip("# ").strip().lower())
        elif line.startswith("- ") and tier:
            found.append(NewMemory(tier, _checked(line[2:], number)))
        elif line.startswith("  - ") and tier and found:
            found[-1] = _with(found[-1], line[4:], number)
    if not found:
        hint = f"A page has the headings {', '.join(HEADINGS.values())}, and a `- ` item for each memory."
        raise UsageError("there is no memory on this page", hint=hint)
    if len(found) > MOST_IMPORTED:
        raise UsageError(f"{len(found)} memories: at most {MOST_IMPORTED} can be imported at once")
    return found


def _checked(text: str, number: int) -> str:
    try:
        return checked_text(text)
    except UsageError as error:
        raise UsageError(f"line {number}: {error.message}", hint=error.hint) from None


def _with(new: NewMemory, line: str, number: int) -> NewMemory:
    name, _, value = line.partition(": ")
    if name == "evidence":
        return NewMemory(new.tier, new.text, value.strip(), new.check)
    if name != "check":
        return new
    try:
        return NewMemory(new.tier, new.text, new.evidence, parse_check(value))
    except UsageError as error:
        raise UsageError(f"line {number}: {error.message}", hint=error.hint) from None
