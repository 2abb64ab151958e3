"""A draft: the files of a skill made from evidence, in its own facts. And whether one may be made now. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl
from quintet.features.skills.book import DraftRow, DraftStatus
from quintet.features.skills.drafting.evidence import Evidence, EvidenceKind
from quintet.features.skills.settings import Drafting

DAY = 86_400.0
_WORD = re.compile(r"[a-z0-9]+")
_DULL = frozenset(
    {"python", "python3", "sh", "bash", "run", "npx", "npm", "uv", "the", "a", "m", "and", "to", "cd", "q"}
)


_TASK = "---\nrun: cat {skill}/SKILL.md > page.md\n---\nThe page has the facts it was made from.\n"


class SkillDraft(Struct, frozen=True):
    name: str
    evidence: Evidence
    files: dict[str, str]  # by their paths in the folder of the skill

    @property
    def summary(self) -> str:
        return f"{self.name}: seen in {len(self.evidence.seen)} turns"


def may_propose(row: DraftRow | None, now: float, cooldown_days: float) -> bool:
    """Once for the same evidence; after a no, not before the cooldown is over."""
    if row is None:
        return True
    if row.status is not DraftStatus.REJECTED:
        return False
    return now - (row.decided_at or row.made_at) >= cooldown_days * DAY


def writes_itself(drafting: Drafting, axes: Axes | None) -> bool:
    """Whether a draft is written without asking: only where the policy says so, at trusted, and not in manual."""
    if drafting is not Drafting.AUTO or axes is None or axes.run_control is RunControl.MANUAL:
        return False
    return axes.permission_profile.rank >= PermissionProfile.TRUSTED.rank


def drafted(evidence: Evidence, taken: frozenset[str]) -> SkillDraft:
    name = _name(evidence, taken)
    body, facts = _body(evidence)
    about = _quoted(_description(evidence))
    page = (
        f"---\nname: {name}\ndescription: {about}\nuser-invocable: true\nmodel-invocable: true\n"
        f"side-effects: {'none' if evidence.kind is EvidenceKind.COMMANDS else 'code-edits'}\n---\n\n{body}\n"
    )
    return SkillDraft(
        name,
        evidence,
        {
            "SKILL.md": page,
            "evidence.md": _evidence_page(evidence),
            "evals/case-1/task.md": _TASK,
            "evals/case-1/hidden/facts.txt": "".join(f"{fact}\n" for fact in facts),
            "evals/case-1/grader.sh": (
                "#!/bin/sh\nwhile IFS= read -r fact; do\n"
                '    grep -qF -- "$fact" work/page.md || { echo "not on the page: $fact"; exit 1; }\n'
                "done < hidden/facts.txt\n"
            ),
        },
    )


def _description(evidence: Evidence) -> str:
    match evidence.kind:
        case EvidenceKind.FAILURE:
            how = f" with: {evidence.detail}" if evidence.detail else ""
            return f"Use when {evidence.subject} fails{how}"[:1000]
        case EvidenceKind.COMMANDS:
            return f"Use when {evidence.subject} is run, for the commands that follow it here"[:1000]
    return f"Use before similar work here; the user has said: {evidence.subject}"[:1000]


def _body(evidence: Evidence) -> tuple[str, list[str]]:
    """The words below the fields, and the facts that have to be among them."""
    if evidence.kind is EvidenceKind.CORRECTION:
        return f"# What the user has said before\n\nThe user has said this several times:\n\n> {evidence.subject}", [
            evidence.subject
        ]
    if evidence.kind is EvidenceKind.COMMANDS:
        steps = "\n".join(f"{number}. `{line}`" for number, line in enumerate(evidence.commands, 1))
        return f"# These commands belong together\n\nIn this project they are run in this order:\n\n{steps}", [
            *evidence.commands
        ]
    todo: list[str] = []
    if evidence.files:
        todo.append(f"Look at {', '.join(f'`{path}`' for path in evidence.files)}: this was changed each time.")
    todo += [f"Run `{line}`: it was run each time before it passed." for line in evidence.commands]
    todo.append(f"Run `{evidence.subject}` again and see it pass.")
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(todo, 1))
    fails = f"`{evidence.subject}` fails" + (f" with: `{evidence.detail}`" if evidence.detail else "")
    body = f"# {fails[:100]}\n\n{fails}. In this project it was fixed in the same way several times:\n\n{listed}"
    return body, [evidence.subject, *evidence.files, *evidence.commands]


def _evidence_page(evidence: Evidence) -> str:
    rows = "\n".join(f"- session {one.session}, turn {one.turn}" for one in evidence.seen)
    return f"# Evidence\n\nSeen in {len(evidence.seen)} turns of this project's journal:\n\n{rows}\n"


def _name(evidence: Evidence, taken: frozenset[str]) -> str:
    words = [word for word in _WORD.findall(evidence.subject.lower()) if word not in _DULL][:4]
    begin = {"failure": "fix", "commands": "steps", "correction": "remember"}[evidence.kind]
    base = "-".join([begin, *words])[:50].strip("-") or begin
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def _quoted(text: str) -> str:
    """As a YAML text on one line."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
