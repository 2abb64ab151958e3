"""Looks through a project's journal for what comes again, and offers a skill for it, once.

A draft is checked by the linter and its own eval before it is offered. Nothing of it lies in the project until it is
accepted, or until the policy lets it be written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec
from msgspec import Struct

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.processes.system import RandomIds
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.ports.trials import TrialRunner, TrialVerdict
from quintet.features.skills.book import DraftRow, DraftStatus, SkillBook
from quintet.features.skills.check_skill import at_path, checked
from quintet.features.skills.drafting.draft import SkillDraft, drafted, may_propose, writes_itself
from quintet.features.skills.drafting.evidence import found
from quintet.features.skills.evals.cases import arms, eval_cases
from quintet.features.skills.settings import Drafting, SkillSettings
from quintet.features.skills.template import stay_inside

FOLDER = ".agents/skills"
MOST_AT_ONCE = 3  # drafts that one look makes


class DraftFate(StrEnum):
    PROPOSED = "proposed"
    WRITTEN = "written"
    UNFIT = "unfit"  # the linter or its eval says no: it is not offered


class DraftOutcome(Struct, frozen=True):
    draft: SkillDraft
    fate: DraftFate
    reason: str = ""
    id: str = ""


class DraftDesk:
    def __init__(
        self,
        book: SkillBook,
        settings: SkillSettings,
        root: str,
        scratch: str,
        names: Callable[[], Iterable[str]],
        runner: TrialRunner | None,
    ) -> None:
        """`scratch` is a folder of Quintet's own, in which a draft is tried."""
        self._book = book
        self._settings = settings
        self._root = root
        self._scratch = scratch
        self._names = names
        self._runner = runner

    async def look(self, events: Iterable[tuple[str, p.Event]], now: float, axes: Axes | None) -> list[DraftOutcome]:
        """New drafts from what the journal shows; `axes` are those of the session that looks, if one does."""
        if self._settings.drafting is Drafting.OFF:
            return []
        rows = {row.evidence: row for row in self._book.drafts()}
        taken = frozenset(self._names()) | {row.name for row in rows.values() if row.status is not DraftStatus.REJECTED}
        outcomes: list[DraftOutcome] = []
        for evidence in found(events, max(2, self._settings.draft_threshold)):
            if len(outcomes) >= MOST_AT_ONCE:
                break
            if not may_propose(rows.get(evidence.key), now, self._settings.draft_cooldown_days):
                continue
            draft = drafted(evidence, taken)
            if reason := await self._unfit(draft):
                outcomes.append(DraftOutcome(draft, DraftFate.UNFIT, reason))
                continue
            id = RandomIds().new("draft")
            row = DraftRow(id, evidence.key, draft.name, DraftStatus.PROPOSED, now, None, msgspec.json.encode(draft))
            if not self._book.propose(row):  # another process was faster
                continue
            taken |= {draft.name}
            fate, reason = DraftFate.PROPOSED, ""
            if writes_itself(self._settings.drafting, axes):
                try:
                    self.accept(id, now)
                    fate = DraftFate.WRITTEN
                except UsageError as error:  # it cannot be written here: it stays a proposal
                    reason = error.message
            outcomes.append(DraftOutcome(draft, fate, reason, id))
        return outcomes

    async def _unfit(self, draft: SkillDraft) -> str:
        """What the linter or the draft's own eval says against it; empty if nothing."""
        top = os.path.join(self._scratch, RandomIds().new("draft"))
        folder = os.path.join(top, draft.name)
        try:
            private_folder(self._scratch)
            _write(folder, draft)
            skill = at_path(os.path.join(folder, "SKILL.md"))
            if problems := checked(skill, strict=True).problems:
                return problems[0]
            for case in eval_cases(skill) if self._runner else ():
                assert self._runner
                result = await self._runner.run(case, arms(skill, by_model=False, both=False)[0], 1)
                if result.workspace:
                    shutil.rmtree(os.path.dirname(result.workspace), ignore_errors=True)
                if result.verdict is not TrialVerdict.PASSED:
                    return f"its eval {case.name}: {result.verdict}, {result.reason}"
            return ""
        finally:
            shutil.rmtree(top, ignore_errors=True)

    def accept(self, id: str, now: float) -> str:
        """Write the skill into the project; returns its folder."""
        row = self._book.draft(id)
        draft = msgspec.json.decode(row.content, type=SkillDraft)
        folder = os.path.join(self._root, FOLDER, draft.name)
        if os.path.lexists(folder):
            raise UsageError(f"{folder} is there already")
        stay_inside(self._root, folder)
        if not self._book.decide(row.id, DraftStatus.ACCEPTED, now):
            raise UsageError(f"{row.name} was {row.status} before")
        try:
            _write(folder, draft)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written ({error.strerror})") from error
        return folder

    def reject(self, id: str, now: float) -> DraftRow:
        row = self._book.draft(id)
        if not self._book.decide(row.id, DraftStatus.REJECTED, now):
            raise UsageError(f"{row.name} was {row.status} before")
        return row


def _write(folder: str, draft: SkillDraft) -> None:
    for name, text in draft.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        if name.endswith(".sh"):
            os.chmod(path, 0o755)
