"""The eval cases of a skill, as trials: `evals/case-N/` with task.md, grader.*, work/, hidden/ and, if wanted, setup.*.

A task may open with fields: `needs: model` says that offline rules cannot do it, `run: LINE` that a shell line is what
is tried, with {skill} for the skill's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from quintet.adapters.files.real_path import real_path
from quintet.adapters.settings.trust import leads_out, read_bytes
from quintet.domain.base.errors import UsageError
from quintet.domain.ports.trials import TrialArm, TrialCase
from quintet.features.skills.contents import cases
from quintet.features.skills.page import parted
from quintet.features.skills.service import ALIAS
from quintet.features.skills.skill import Skill

WITH, WITHOUT = "with", "without"


def eval_cases(skill: Skill) -> list[TrialCase]:
    """UsageError says what is wrong with a case."""
    return [_case(skill, folder) for folder in cases(skill.folder)]


def _case(skill: Skill, folder: str) -> TrialCase:
    name, top = os.path.basename(folder), real_path(skill.folder)
    for part in sorted(os.listdir(folder)):  # what lies outside the skill is not its own to hand to a model or a grader
        if leads_out(top, os.path.join(folder, part)):
            raise UsageError(f"{folder}/{part}: it is a link that leads out of the skill")
    data = read_bytes(os.path.join(folder, "task.md"))
    if data is None:
        raise UsageError(f"{folder}: it has no task.md")
    try:
        fields, task, _ = parted(data)
    except ValueError as error:
        raise UsageError(f"{folder}/task.md: {error}") from None
    graders = list(_programs(folder, "grader"))
    if len(graders) != 1:
        raise UsageError(f"{folder}: it needs one grader, as grader.sh, grader.py or any executable")
    line = str(fields.get("run") or "")
    return TrialCase(
        suite=skill.name,
        name=name,
        task=task.strip(),
        folder=folder,
        grader=graders[0],
        work=_folder(folder, "work"),
        hidden=_folder(folder, "hidden"),
        setup=next(_programs(folder, "setup"), ""),
        line=line,
    )


def _programs(folder: str, stem: str) -> Iterator[str]:
    names = sorted(name for name in os.listdir(folder) if name.partition(".")[0] == stem)
    yield from (path for name in names if os.path.isfile(path := os.path.join(folder, name)))


def _folder(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    return path if os.path.isdir(path) and not os.path.islink(path) else ""


def arms(skill: Skill, *, by_model: bool, both: bool, beside: Iterable[str] = ()) -> list[TrialArm]:
    """With the skill, and without it: nothing else differs. With it, its copy is used, which has no
    evals; `beside` are folders of other skills of its name, which do not take its place."""
    shown = {"skills.folders": ("{shown}",), "skills.off": (skill.folder, *beside)}
    with_it = TrialArm(WITH, shown, "" if by_model else f"/{ALIAS}{skill.name}", skill.folder)
    without = TrialArm(WITHOUT, {"skills.off": (skill.name,)})
    return [with_it, without] if both else [with_it]
