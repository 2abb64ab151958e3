"""Which shell lines are git's alone and bring files from a repository into the project: for those, protected files of
the work tree are writable for git, and what it leaves there is judged by content afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect, Grant

_EFFECTS = frozenset({Effect.READ, Effect.FETCH, Effect.EDIT, Effect.COMMIT, Effect.NETWORK, Effect.DESTROY})
_BRINGS = "checkout|switch|pull|merge|rebase|stash|reset|restore|cherry-pick|revert"
_PART = r"\s*git [a-z][a-z-]*(?: [^|&;<>()$`\\\n]*)?"
_LINE = regex(rf"{_PART}(?:(?:&&|;){_PART})*")
_BRINGING = regex(rf"(?:^|&&|;)\s*git (?:{_BRINGS})(?![\w-])")


def brings_by_git(command: Sequence[str], grant: Grant) -> bool:
    """Plain words only: a line with anything else in it has the covers that every other command has."""
    if Effect.COMMIT not in grant.effects or not _EFFECTS.issuperset(grant.effects):
        return False
    if len(command) != 3 or tuple(command[:2]) != ("bash", "-c"):
        return False
    return bool(_LINE.fullmatch(command[2]) and _BRINGING.search(command[2]))
