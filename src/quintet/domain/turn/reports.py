"""Reports a turn leaves behind: a review, a research, the advisor's QA; read from a reply, checked against the project.

Reading is lenient: what is not in the asked form is kept as text, and the flaw is said in the report. A place that the
project does not have is marked, never dropped. The advisor's report stands beside the answer, which it can never
change.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.dials.axes import WorkMode
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


def read_qa_report(reply: str) -> QaReport:
    """A reviewer's reply as a report; one that is not in the asked form becomes its summary."""
    text = without(reply).strip()
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            return wire_json.decode(text[start : end + 1].encode("utf-8", "replace"), QaReport)
        except msgspec.DecodeError:
            pass
    return QaReport(text or "the reviewer's reply was empty")


NOT_THE_FORM = "the reply was not in the requested format; here is its text"
MOST_OBJECTS = 50  # places in a reply where a report is looked for
MOST_SUBJECT = 80  # characters of a request, as what a review is about
_SEVERITIES = (QaSeverity.HIGH, QaSeverity.MEDIUM, QaSeverity.LOW)
_WORSE_WORDS = {
    "critical": QaSeverity.HIGH,
    "blocker": QaSeverity.HIGH,
    "major": QaSeverity.HIGH,
    "moderate": QaSeverity.MEDIUM,
}
_PLACE = regex(r"(?P<path>[^:\n]+):(?P<line>\d{1,9})(?:[-–](?P<end>\d{1,9}))?(?::\d+)?")


class Order(Struct, frozen=True, gc=False):
    """What the user's command asked a turn to leave behind: a report; of a cycle, tasks, their units, a verdict.

    Of compact it is a shorter conversation.
    """

    kind: Literal["review", "research", "plan", "build", "repair", "verify", "compact"]
    subject: str  # working-tree, a range or a branch; the question; the file of a plan; a run; a task; what to keep
    revision: str = ""  # the commit where what is reviewed ends; empty: the files as they are


def ordered(work_mode: WorkMode, text: str) -> Order | None:
    """What an input asks for in a work mode, where that is more than an answer: the same as the command of its name."""
    match work_mode:
        case WorkMode.PLAN:
            return Order("plan", "")
        case WorkMode.REVIEW:
            return Order("review", _cell(text)[:MOST_SUBJECT])
        case WorkMode.RESEARCH:
            return Order("research", text)
        case WorkMode.REPAIR:
            return Order("repair", "")
    return None


def is_step(order: Order | None) -> bool:
    """Whether the events of a turn with this order say what came of it, not its answer: a step of a cycle, /compact."""
    return order is not None and order.kind in ("plan", "verify", "compact")


class ReviewFinding(Struct, frozen=True, gc=False):
    severity: QaSeverity
    title: str
    file: str = ""
    line: int = 0
    detail: str = ""
    evidence: str = ""
    unresolved: str = ""  # why the place is not one of the project; empty if it is

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class ReviewReport(Struct, frozen=True, gc=False):
    subject: str
    summary: str
    findings: tuple[ReviewFinding, ...] = ()  # the worst first
    not_looked_at: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()  # of the report itself

    def files(self) -> tuple[str, ...]:
        """Every file it names."""
        return tuple({finding.file: None for finding in self.findings if finding.file})

    def counts(self) -> dict[str, int]:
        found = Counter(str(finding.severity) for finding in self.findings)
        return {str(severity): found[severity] for severity in _SEVERITIES}

    def unresolved(self) -> int:
        return sum(bool(finding.unresolved) for finding in self.findings)

    def checked(self, lengths: Mapping[str, int | None]) -> ReviewReport:
        """The report with the places marked that are none, by the lines each file has."""
        findings = (structs.replace(f, unresolved=_missing(f.file, f.line, lengths)) for f in self.findings)
        return structs.replace(self, findings=tuple(findings))

    def as_markdown(self) -> str:
        lines = [f"# Review of {self.subject}", "", self.summary]
        if self.findings:
            lines += ["", "| | severity | where | finding |", "|---|---|---|---|"]
            lines += [
                f"| {number} | {f.severity} | {_cell(_marked(f.place, f.unresolved))} | {_cell(f.title)} |"
                for number, f in enumerate(self.findings, 1)
            ]
        for number, finding in enumerate(self.findings, 1):
            lines += ["", f"## {number}. {_cell(finding.title)}", ""]
            lines.append(" · ".join(filter(None, (finding.severity, _marked(finding.place, finding.unresolved)))))
            lines += ["", finding.detail] if finding.detail else []
            lines += ["", *(f"    {line}" for line in finding.evidence.splitlines())] if finding.evidence else []
        lines += _listed("Not reviewed", self.not_looked_at) + _listed("Problems with this report", self.flaws)
        return "\n".join(lines) + "\n"


class ReportSource(Struct, frozen=True, gc=False):
    text: str  # a file and line, a document and page, or an address
    unresolved: str = ""

    @property
    def place(self) -> tuple[str, int] | None:
        """File and last line, if it is a citation of a file."""
        found = None if "://" in self.text else _PLACE.fullmatch(self.text)
        return (found["path"], int(found["end"] or found["line"])) if found else None


class ReportClaim(Struct, frozen=True, gc=False):
    text: str
    sources: tuple[ReportSource, ...] = ()


class ResearchReport(Struct, frozen=True, gc=False):
    question: str
    answer: str
    claims: tuple[ReportClaim, ...] = ()
    open_questions: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()

    def files(self) -> tuple[str, ...]:
        return tuple({source.place[0]: None for source in self._sources() if source.place})

    def counts(self) -> dict[str, int]:
        return {}

    def unresolved(self) -> int:
        return sum(bool(source.unresolved) for source in self._sources())

    def checked(self, lengths: Mapping[str, int | None]) -> ResearchReport:
        claims = (
            structs.replace(
                claim,
                sources=tuple(
                    structs.replace(s, unresolved=_missing(*s.place, lengths) if s.place else "") for s in claim.sources
                ),
            )
            for claim in self.claims
        )
        return structs.replace(self, claims=tuple(claims))

    def _sources(self) -> Iterable[ReportSource]:
        return (source for claim in self.claims for source in claim.sources)

    def as_markdown(self) -> str:
        lines = ["# Research", "", f"> {_cell(self.question)}", "", self.answer]
        lines += ["", "## Claims"] if self.claims else []
        for claim in self.claims:
            lines += ["", claim.text, ""]
            lines += [f"- {_marked(s.text, s.unresolved)}" for s in claim.sources] or ["- (no source)"]
        lines += _listed("Open questions", self.open_questions) + _listed("Problems with this report", self.flaws)
        return "\n".join(lines) + "\n"


Report = ReviewReport | ResearchReport


def read_report(order: Order, reply: str) -> Report:
    """A reply as the report that was ordered; one in no form at all becomes its summary or answer."""
    text = without(reply).strip()
    if order.kind == "review":
        return _review(order, _object(text, "summary", "findings"), text)
    return _research(order, _object(text, "answer", "claims"), text)


def _review(order: Order, value: dict[str, Any], text: str) -> ReviewReport:
    if not value:
        return ReviewReport(order.subject, text, flaws=(NOT_THE_FORM,))
    flaws: list[str] = []
    findings = []
    for number, given in enumerate(_items(value, "findings"), 1):
        found = given if isinstance(given, dict) else {"title": _text(given)}
        severity = _severity(_text(found.get("severity")))
        if severity is None:
            flaws.append(f"finding {number} had no severity and counts as low")
        findings.append(
            ReviewFinding(
                severity or QaSeverity.LOW,
                _text(found.get("title")) or _text(found.get("detail"))[:80] or "(untitled)",
                _text(found.get("file")),
                _number(found.get("line")),
                _text(found.get("detail")),
                _words(found.get("evidence")).strip("\n"),
            )
        )
    findings.sort(key=lambda finding: _SEVERITIES.index(finding.severity))
    summary = _text(value.get("summary")) or "(no summary)"
    return ReviewReport(order.subject, summary, tuple(findings), _texts(value, "not_looked_at"), tuple(flaws))


def _research(order: Order, value: dict[str, Any], text: str) -> ResearchReport:
    if not value:
        return ResearchReport(order.subject, text, flaws=(NOT_THE_FORM,))
    claims = tuple(
        ReportClaim(_text(given.get("text")), tuple(ReportSource(text) for text in _texts(given, "sources")))
        if isinstance(given, dict)
        else ReportClaim(_text(given))
        for given in _items(value, "claims")
    )
    bare = sum(not claim.sources for claim in claims)
    flaws = (f"{bare} of {len(claims)} claims had no source",) if bare else ()
    answer = _text(value.get("answer")) or "(no answer)"
    return ResearchReport(order.subject, answer, claims, _texts(value, "open_questions"), flaws)


def _object(text: str, *keys: str) -> dict[str, Any]:
    """The first JSON object in the text that has one of the keys; empty if there is none."""
    decoder = json.JSONDecoder()
    for start in [match.start() for match in re.finditer(r"\{", text)][:MOST_OBJECTS]:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and any(key in value for key in keys):
            return value
    return {}


def _items(value: dict[str, Any], key: str) -> list[Any]:
    given = value.get(key)
    return given if isinstance(given, list) else [given] if given else []


def _texts(value: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text for given in _items(value, key) if (text := _text(given)))


def _text(value: object) -> str:
    return _words(value).strip()


def _words(value: object) -> str:
    """Words, whatever the model sent; half a character would not be written anywhere."""
    words = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return words.encode("utf-8", "replace").decode()


def _number(value: object) -> int:
    """A line, also of "12" or "12-15"."""
    found = re.match(r"\d{1,9}", _text(value))
    return int(found[0]) if found else 0


def _severity(word: str) -> QaSeverity | None:
    word = word.lower()
    return next((severity for severity in _SEVERITIES if severity == word), _WORSE_WORDS.get(word))


def _missing(file: str, line: int, lengths: Mapping[str, int | None]) -> str:
    if not file:
        return ""
    if file not in lengths:
        return "no such file"
    length = lengths[file]
    if length is None:
        return "protected, not checked"
    return f"no such line: the file ends at line {length}" if line > length else ""


def _marked(place: str, unresolved: str) -> str:
    return f"{place} (unresolved: {unresolved})" if unresolved else place


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _listed(heading: str, entries: Iterable[str]) -> list[str]:
    lines = [f"- {entry}" for entry in entries]
    return ["", f"## {heading}", "", *lines] if lines else []
