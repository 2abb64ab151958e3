"""What is wrong with a project's health: findings of known kinds, and the port that looks for them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from quintet.domain.base.wording import counted

if TYPE_CHECKING:
    from quintet.domain.base.errors import StoreError
    from quintet.domain.ports.ports import SessionRow
    from quintet.domain.ports.tasks import Claim
    from quintet.domain.tasks.drift import Scan
    from quintet.domain.turn.tool_spec import MachinePart


class Severity(StrEnum):
    INFO = "info"  # nothing is wrong; it is worth knowing
    WARNING = "warning"
    ERROR = "error"  # nothing is dispatched until it is fixed


class HealthScope(StrEnum):
    """What a finding is about."""

    STATE = "state"
    SESSION = "session"
    TASK = "task"
    PROJECT = "project"
    MACHINE = "machine"
    USER = "user"  # your own settings, rules and trust: nobody else changes them


class Finding(Struct, frozen=True):
    code: str
    severity: Severity
    scope: HealthScope
    subject: str  # which session, task, file, program or place
    problem: str
    advice: str  # what the fix does; where there is none, what a person can do
    fixable: bool = False

    @property
    def told(self) -> str:
        """What is wrong and what to do about it, as sentences."""
        return f"{self.problem.removesuffix('.')}. {self.advice}"


class FindingKind(Struct, frozen=True):
    """A code of the doctor's: how grave it is, what it is about, where it comes from and what helps."""

    code: str
    severity: Severity
    scope: HealthScope
    cause: str
    cure: str  # what the fix does; where there is none, what a person can do
    fixable: bool = False

    def of(self, subject: str, problem: str, advice: str = "") -> Finding:
        """One that was found; without advice of its own, the cure is the advice."""
        return Finding(self.code, self.severity, self.scope, subject, problem, advice or self.cure, self.fixable)


def to_fix(findings: Iterable[Finding]) -> list[Finding]:
    """What work mode repair is about.

    A warning about the machine or what is the user's own stays, unless it is fixed by rule: nothing in the project
    changes it.
    """
    own = (HealthScope.MACHINE, HealthScope.USER)
    found = [one for one in findings if one.severity is not Severity.INFO]
    return [one for one in found if one.fixable or one.severity is Severity.ERROR or one.scope not in own]


def named(findings: Iterable[Finding]) -> str:
    """Findings in a line, by their codes and what each is about."""
    return "; ".join(sorted(f"{one.code} {one.subject}" for one in findings))


def by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings there are of each severity, the worst first."""
    found = [finding.severity for finding in findings]
    return {str(severity): found.count(severity) for severity in reversed(Severity)}


def preview(findings: Iterable[Finding]) -> list[Finding]:
    """What a fix by rule is about; nothing else changes."""
    return [one for one in findings if one.fixable]


def compared(before: Iterable[Finding], after: Iterable[Finding]) -> str:
    """Health before and after, in a line."""
    return f"before: {totals(before)}; after: {totals(after)}"


def totals(findings: Iterable[Finding]) -> str:
    """`1 error, 2 warnings`, or that nothing is wrong."""
    names = {"info": "note"}
    found = [counted(number, names.get(kind, kind)) for kind, number in by_severity(findings).items() if number]
    return ", ".join(found) or "no problems"


class OwnPrompts(Struct, frozen=True):
    """The pages in a trusted project's folder of prompts."""

    used: tuple[str, ...] = ()  # in place of shipped ones
    unknown: tuple[str, ...] = ()  # that stand in for none
    refused: tuple[tuple[str, str], ...] = ()  # with the reason: no session begins with them


class HealthProbe(Protocol):
    """The project and its machine, to look at. Nothing is changed, and nothing of the project's own is run."""

    def store_problem(self, thorough: bool) -> StoreError | None:
        """Why the state cannot be used; only a thorough look reads all of it."""

    def sessions(self) -> list[SessionRow]: ...

    def tasks(self) -> Scan: ...

    def claims(self) -> dict[str, Claim]: ...

    def free_bytes(self) -> list[tuple[str, int]]:
        """Each disk that is written to, by a folder on it, and what is left there."""

    def unfinished_git(self) -> str:
        """What git was left in the middle of: a merge, a rebase …; empty if nothing."""

    def parts(self) -> list[MachinePart]:
        """The programs that Quintet itself needs, and the sandbox last."""

    def of_rooms(self, thorough: bool) -> list[Finding]:
        """What the rooms of the core and the features find wrong with their own."""

    def fix_rooms(self) -> list[str]:
        """Have them fix what can be fixed; what was done, a line each."""

    def own_prompts(self) -> OwnPrompts: ...

    def changed_code(self) -> str:
        """A file of Quintet's own that has changed since this process began; empty if none has."""

    def missing_programs(self, line: str) -> list[str]:
        """The programs of a shell line that are not to be found here."""
