"""The files of a new skill: a page to fill in, a checklist, and one eval case with its grader."""

from __future__ import annotations

import os

from quintet.adapters.files.real_path import real_path
from quintet.adapters.settings.trust import leads_out
from quintet.domain.base.errors import UsageError

_PAGE = """---
name: {name}
description: {description}
user-invocable: true
model-invocable: true
side-effects: none
---

# {title}

Say here what to do, step by step, as you would tell a colleague who is new to this repository.

1. …
2. …

What is given with the skill: $ARGUMENTS
"""
_CHECKLIST = "- [ ] Say what shows that the work is done.\n"
_TASK = "Describe a task as a user would, for which this skill should help.\n"
_GRADER = """#!/bin/sh
# Exit 0 if the work is right. Here: work/, hidden/, answer.json, trace.jsonl.
test -s answer.json
"""


def stay_inside(root: str, folder: str) -> None:
    """UsageError if a link of the project would have a new skill written elsewhere."""
    if leads_out(real_path(root), folder):
        raise UsageError(
            f"{folder}: a link of this project leads elsewhere, to {real_path(folder)}",
            hint="Remove the link, or make a skill for all projects with --user.",
        )


def write_new(folder: str, name: str, description: str) -> str:
    about = " ".join(description.split()) or f"Say what {name} is for, and when to use it."
    quoted = about if ": " not in about and " #" not in about and about[0].isalnum() else f'"{about}"'.replace("\\", "")
    case = os.path.join(folder, "evals", "case-1")
    files = {
        os.path.join(folder, "SKILL.md"): _PAGE.format(
            name=name, description=quoted, title=name.replace("-", " ").capitalize()
        ),
        os.path.join(folder, "checklists", "done.md"): _CHECKLIST,
        os.path.join(case, "task.md"): _TASK,
        os.path.join(case, "grader.sh"): _GRADER,
        os.path.join(case, "work", ".gitkeep"): "",
        os.path.join(case, "hidden", ".gitkeep"): "",
    }
    try:
        for path, text in files.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        os.chmod(os.path.join(case, "grader.sh"), 0o755)
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    return os.path.join(folder, "SKILL.md")
