"""What of a repository lies elsewhere: the folders that a `.git` file leads to, and what its configuration includes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from quintet.adapters.git_folders import git_folders, is_plain
from quintet.adapters.sandbox.machine import below
from quintet.adapters.sandbox.nofollow import text_of

_SETTING = re.compile(r"^\s*(?:\[(?P<section>[^\]]*)\]\s*)?(?:(?P<key>[A-Za-z][\w-]*)\s*(?:=\s*(?P<value>.*?))?\s*)?$")


def linked(repository: str, root: str) -> tuple[str, ...]:
    """The git folders outside the project that a `.git` file in it leads to, the common one first; none if unproven."""
    found = git_folders(os.path.dirname(repository)) if is_plain(repository) else None
    return tuple(path for path in found.linked if not below(path, root)) if found else ()


def in_tree(repository: str, root: str) -> list[str]:
    """What a repository's configuration takes from the project's own files: its hooks, and more configuration."""
    found = []
    for name, value in settings_of(repository):
        if name == "core.hookspath":
            found.append(os.path.normpath(os.path.join(os.path.dirname(repository), value)))
        elif name.startswith("include") and name.endswith(".path"):
            found.append(os.path.normpath(os.path.join(repository, value)))
    return [path for path in found if path.startswith(root + "/")]


def settings_of(git: str) -> Iterator[tuple[str, str]]:
    """What the configuration files of a git folder set, in lower case; included files are not looked at."""
    for file in ("config.worktree", "config"):
        section = ""
        for line in text_of(git, file).replace("\\\n", "").splitlines():
            found = _SETTING.match(line.split("#")[0].split(";")[0])
            if not found:
                continue
            section = found["section"].strip().lower() if found["section"] is not None else section
            if found["key"]:
                yield f"{section}.{found['key'].lower()}", (found["value"] or "").strip('"')
