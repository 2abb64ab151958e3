"""The advisory review of a turn: a structured report beside the answer, which it can never change."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct

from quintet.domain.base import bounded_json
from quintet.domain.turn.reasoning import without


class QaSeverity(StrEnum):
    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Issue(Struct, frozen=True, gc=False):
    text: str
    severity: QaSeverity = QaSeverity.LOW
    file: str = ""
    line: int = 0


class QaReport(Struct, frozen=True, gc=False):
    summary: str
    issues: tuple[Issue, ...] = ()
    missing_steps: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    severity: QaSeverity = QaSeverity.NONE

    @property
    def heading(self) -> str:
        """How grave it is, and what it says, in a line."""
        return f"{'no objections' if self.severity is QaSeverity.NONE else self.severity}: {self.summary}"

    def as_markdown(self) -> str:
        lines = ["# QA report", "", self.summary, "", f"Severity: {self.severity}"]
        if self.issues:
            lines += ["", "## Issues", ""]
            lines += [f"- {issue.severity}: {_place(issue)}{issue.text}" for issue in self.issues]
        for heading, entries in (("Missing steps", self.missing_steps), ("Suggestions", self.suggestions)):
            lines += ["", f"## {heading}", "", *(f"- {entry}" for entry in entries)] if entries else []
        return "\n".join(lines) + "\n"


def _place(issue: Issue) -> str:
    at = f"{issue.file}:{issue.line}" if issue.line else issue.file
    return f"{at} — " if at else ""


def read_report(reply: str) -> QaReport:
    """A reviewer's reply as a report; one that is not in the asked form becomes its summary."""
    text = without(reply).strip()
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            return bounded_json.decode(text[start : end + 1].encode("utf-8", "replace"), QaReport)
        except msgspec.DecodeError:
            pass
    return QaReport(text or "the reviewer said nothing")
