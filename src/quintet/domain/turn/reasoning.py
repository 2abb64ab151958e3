"""Visible reasoning: the block a model writes when the user wants it, and the little of it that stays.

The block is shown to the user and journalled whole. Later requests carry only its outcome: what changed in the plan,
what comes next, the risk, and the delivery state.
"""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.turn.stage_policy import Reasoning

OPEN, CLOSE = "<ide_reasoning>", "</ide_reasoning>"
SECTIONS = ("Analyze", "Research", "Plan", "Reflect", "Action", "Delivery")
MICRO_SECTIONS = ("Reflect", "Action")  # what short reasoning must have; Plan and Risks where they changed
DONE, NEEDS_WORK = "DONE", "NEEDS_WORK"
_BLOCK = regex(r"<ide_reasoning>(.*?)</ide_reasoning>", re.S)
_OPEN = regex(r"<ide_reasoning>.*\Z", re.S)
_HEADING = regex(
    r"^\s*(?:#+\s*|[-*]\s*|\*\*)?(Analyze|Research|Plan|Reflect|Risks|Action|Delivery)\b\**\s*:?\**\s*(.*)$", re.I
)
_NOTHING = regex(r"((none|nothing( new)?|unchanged|no (new )?(changes?|risks?)|as before|n/a)\b|[-–—])[ .]*", re.I)
_FEW_WORDS = 12  # characters; a section with less says nothing


class ReasoningOutcome(Struct, frozen=True, gc=False):
    plan_delta: str = ""
    next_action: str = ""
    known_risks: str = ""
    delivery_state: str = NEEDS_WORK

    def as_text(self) -> str:
        rows = (
            ("plan", self.plan_delta),
            ("next", self.next_action),
            ("risks", self.known_risks),
            ("delivery", self.delivery_state),
        )
        return "\n".join(f"{name}: {text}" for name, text in rows if text)


def sections(text: str) -> dict[str, str] | None:
    """The reasoning block's sections by name; None if there is no block."""
    block = _BLOCK.search(text)
    if block is None:
        return None
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in block[1].splitlines():
        if heading := _HEADING.match(line):
            current = found.setdefault(heading[1].capitalize(), [])
            line = heading[2]
        if current is not None and line.strip():
            current.append(line.strip())
    return {name: "\n".join(lines) for name, lines in found.items()}


def without(text: str) -> str:
    """The text without any reasoning, whole blocks and one that was cut off."""
    return _OPEN.sub("", _BLOCK.sub("", text)).strip()


def parted(text: str) -> tuple[str, str]:
    """The reasoning of a reply, and what it says."""
    if OPEN not in text:
        return "", text
    return text.partition(OPEN)[2].partition(CLOSE)[0], without(text)


class ReasoningStream:
    """A reply as it streams, parted into its reasoning and what it says."""

    def __init__(self) -> None:
        self._held = ""  # neither one nor the other yet
        self._inside: bool | None = None  # a reasoning block; None before the first words are known

    def add(self, text: str) -> tuple[str, str]:
        """What came of each by this piece of the reply."""
        self._held += text
        if self._inside is None:
            start = self._held.lstrip()
            if len(start) < len(OPEN) and OPEN.startswith(start):
                return "", ""
            self._inside = start.startswith(OPEN)
            if self._inside:
                self._held = start[len(OPEN) :]
        if not self._inside:
            said, self._held = self._held, ""
            return "", said
        thought, closed, rest = self._held.partition(CLOSE)
        if not closed:  # the end of it may be the beginning of the closing tag
            cut = max(len(thought) - len(CLOSE), 0)
            self._held = thought[cut:]
            return thought[:cut], ""
        self._inside, self._held = False, ""
        return thought, rest.lstrip("\n")


def outcome(text: str, *, warm_up: bool = False) -> ReasoningOutcome | None:
    """What stays of a reply's reasoning; None if it had none.

    The whole plan reflects on risks; short reasoning reflects on what just happened, and names risks apart. Nothing is
    delivered before anything was done.
    """
    found = sections(text)
    if found is None:
        return None
    delivery = found.get("Delivery", "").lstrip("*_ ").upper()
    risks = found.get("Risks", found.get("Reflect", "") if "Analyze" in found else "")
    return ReasoningOutcome(
        plan_delta=_line(found.get("Plan", "")),
        next_action=_line(found.get("Action", "")),
        known_risks=_line(risks),
        delivery_state=DONE if delivery.startswith(DONE) and not warm_up else NEEDS_WORK,
    )


def with_outcome(text: str, *, warm_up: bool = False) -> str:
    """A reply as later requests see it: its answer, and its reasoning's outcome in place of the reasoning."""
    found = outcome(text, warm_up=warm_up)
    if found is None:
        return text
    return "\n\n".join(part for part in (without(text), f"[outcome]\n{found.as_text()}") if part)


def problem(text: str, wanted: Reasoning) -> str:
    """What is wrong with a reply's reasoning: missing, malformed or empty; nothing if it is as wanted."""
    if wanted is Reasoning.NONE:
        return ""
    found = sections(text)
    if found is None:
        return "malformed" if "<ide_reasoning>" in text else "missing"
    needed = SECTIONS if wanted is Reasoning.MACRO else MICRO_SECTIONS
    if any(name not in found for name in needed):
        return "malformed"
    if all(len(found[name]) < _FEW_WORDS for name in needed):
        return "empty"
    return ""


def _line(text: str, most: int = 300) -> str:
    line = " ".join(text.split())
    if _NOTHING.fullmatch(line):
        return ""
    return line if len(line) <= most else f"{line[: most - 1]}…"
