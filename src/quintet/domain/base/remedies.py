"""What to do about an error, a notice or a finding of the doctor, by its code: cause and cure, read from a page."""

from __future__ import annotations

import re

from msgspec import Struct

_ENTRY = re.compile(r"^### ([A-Z_]+)\nCause: (.+)\nCure: (.+)$", re.M)
_SELF_EVIDENT = frozenset({"USAGE", "NOT_FOUND"})  # their messages name the word and what there is instead


class Remedy(Struct, frozen=True):
    code: str
    about: str  # the heading that it stands under
    cause: str
    cure: str


def remedies(page: str) -> dict[str, Remedy]:
    """Every entry of the page, in its order."""
    found: dict[str, Remedy] = {}
    for section in page.split("\n## ")[1:]:
        about = section.partition("\n")[0]
        for code, cause, cure in _ENTRY.findall(section):
            found[code] = Remedy(code, about, cause, cure)
    return found


def where_to_read(code: str) -> str:
    """The line below an error's message that leads to its entry; empty if the message says it all."""
    return "" if code in _SELF_EVIDENT else f"more: quintet explain {code}"
