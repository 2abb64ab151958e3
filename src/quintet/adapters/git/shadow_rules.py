"""What the ignore rules of an older tree say of files: one line in a .gitignore hides nothing that was made since.

The rules are laid out in a folder of our own, and git is asked there. A .gitignore that hides itself stands in
no tree, and may be as old as the project: what it hides is never taken for new, but can be named.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from quintet.adapters.files.own_temporary import temporary
from quintet.adapters.git.own_git import git_program, ran
from quintet.domain.base.errors import ToolFailed

if TYPE_CHECKING:
    from quintet.adapters.git.shadow_git import ShadowGit

RULES = b".gitignore"
MOST_FOLDERS = 200  # newly ignored ones that are looked into at once
MOST_HIDDEN = 20_000


class OldRules:
    """The rules of one tree of the shadow repository; blocking, and only under its lock."""

    def __init__(self, shadow: ShadowGit, lock: int, tree: str) -> None:
        self._shadow = shadow
        self._lock = lock
        self._tree = tree

    def ignored(self, names: Iterable[bytes]) -> set[bytes]:
        """Those of these paths that the rules ignore; a folder's ends with a slash."""
        asked = list(dict.fromkeys(names))
        if not asked:
            return set()
        with temporary() as laid:
            for name, content in self._rules:
                self._put(laid, name, content)
            for name in asked:
                if name.endswith(b"/"):
                    with contextlib.suppress(OSError):
                        os.makedirs(os.path.join(os.fsencode(laid), name), exist_ok=True)
            own = {"GIT_WORK_TREE": laid, "GIT_INDEX_FILE": os.path.join(laid, ".no-index")}
            said = ran(
                (git_program() or "git", "check-ignore", "-z", "--stdin", "--no-index"),
                {**self._shadow.environment(), **own},
                laid,
                b"".join(b"./%b\0" % name for name in asked),
                (0, 1),
                (self._lock,),
            )
        return {name[2:] for name in said.split(b"\0")[:-1]}

    def hidden(self) -> tuple[list[bytes], list[bytes]]:
        """What is ignored now and was not by these rules: files, and folders that ignore themselves, with a slash."""
        said = self._others("--ignored", "--exclude-standard", "--directory")
        found = set(said) - self.ignored(said)
        folders = sorted(name for name in found if name.endswith(b"/"))[:MOST_FOLDERS]
        files = {name for name in found if not name.endswith(b"/")}
        if folders:
            inner = self._others("--", *(f":(literal){os.fsdecode(name)}" for name in folders))
            files |= {name for name in set(inner) - self.ignored(inner) if not name.endswith(b"/")}
        hiding = {name.rpartition(b"/")[0] for name in files if name.rpartition(b"/")[2] == RULES}
        sure = sorted(name for name in files if not any(above in hiding for above in _above(name)))
        return sure[:MOST_HIDDEN], sorted(b"%b/" % folder for folder in hiding)

    def _others(self, *words: str) -> list[bytes]:
        return self._shadow.run(self._lock, "ls-files", "-z", "--others", *words).split(b"\0")[:-1]

    @cached_property
    def _rules(self) -> list[tuple[bytes, bytes]]:
        names: dict[bytes, str] = {}
        for line in self._shadow.run(self._lock, "ls-tree", "-r", "-z", self._tree).split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            bits, _, name = about.split(b" ")
            if path.rpartition(b"/")[2] == RULES and bits.startswith(b"100"):
                names[path] = name.decode("ascii")
        contents = self._shadow.contents(self._lock, names.values())
        if lost := set(names.values()) - contents.keys():
            raise ToolFailed(f"the checkpoint has lost ignore rules: {', '.join(sorted(lost))}")
        return [(path, contents[name]) for path, name in names.items()]

    def _put(self, laid: str, name: bytes, content: bytes) -> None:
        path = os.path.join(os.fsencode(laid), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def are_rules(names: Iterable[bytes]) -> bool:
    return any(name.rpartition(b"/")[2] == RULES for name in names)


def _above(name: bytes) -> list[bytes]:
    """The folders that a path lies in, the project itself as an empty one."""
    parts = name.split(b"/")[:-1]
    return [b"/".join(parts[:depth]) for depth in range(len(parts) + 1)]
