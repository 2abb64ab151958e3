"""The slash commands that a text names, as a shell takes them: for who reads it outside of a session. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What goes with a command in a message: an action with what it is about, placeholders, numbers, options.
_WORDS = (
    r"(?: (?:(?:move|show|revoke|forget|end|drop) [\w-]+(?:\.[\w-]+)*"
    r"|(?:yes|run|both|files|conversation|todo|paused|cancelled|[A-Z]+|\d+)\b))*"
)
_OPTIONS = r"(?: --[a-z][a-z-]*(?: (?:normal|trusted|unrestricted|restricted|fast|smart|deep))?)*"


def in_shell_form(text: str, names: Iterable[str], session: str) -> str:
    """`/accept` is `quintet -p "/accept" --resume ID`; a further one is only quoted, to stand in its place."""
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    whole = iter([f" --resume {session}"])

    def written(found: re.Match[str]) -> str:
        end = next(whole, "")
        return f'quintet -p "{found[0]}"{end}' if end else f'"{found[0]}"'

    return re.sub(rf"(?<![\w/.`\"'~-])/(?:{known})\b(?!/){_WORDS}{_OPTIONS}", written, text)
