"""A skill's page as fields and a body.

Most pages open with plain `name: value` lines, which are read here; the YAML reader is loaded for the others only, so
that a start with many skills stays quick.
"""

from __future__ import annotations

from typing import Any

from quintet.domain.base.lazy_regex import regex
from quintet.features.skills.skill import KNOWN, Skill, SkillKind, made
from quintet.package import load

MOST_BYTES = 1_000_000  # of one page
_PLAIN = regex(r"([A-Za-z][\w-]*):[ \t]+([^\s'\"\[{|>&*!%@`#?,\]}-][^\n]*)")
_MORE_THAN_PLAIN = regex(r":\s|\s#|:\Z")


def read_page(data: bytes, *, file: str, folder: str, beside: str, kind: SkillKind) -> Skill:
    """The skill of a page; one that cannot be read has its problem."""
    try:
        fields, body, notes = parted(data)
    except ValueError as error:
        return Skill(beside, "", file, folder, kind=kind, problem=str(error))
    return made(fields, body, file=file, folder=folder, beside=beside, kind=kind, notes=notes)


def parted(data: bytes) -> tuple[dict[str, Any], str, list[str]]:
    """The fields of a page, the text below them, and what is odd about them. ValueError says what is wrong."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"the page has {len(data)} bytes; at most {MOST_BYTES} are read")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if (found := _plain(text)) is not None:
        return *found, []
    fields, body, problem = load("features.skills.yaml_page:fields_of")(text, KNOWN)
    return fields, body, [problem] if problem else []


def _plain(text: str) -> tuple[dict[str, Any], str] | None:
    """Of a page whose frontmatter has plain lines only, or that has none; None of any other."""
    if not text.startswith("---\n"):
        return None if text.startswith("---") else ({}, text)
    head, closed, body = text[4:].partition("\n---\n")
    if not closed:
        return None
    fields: dict[str, Any] = {}
    for line in head.split("\n"):
        found = _PLAIN.fullmatch(line.rstrip())
        if found is None or _MORE_THAN_PLAIN.search(found[2]) or found[1] in fields:
            return None
        fields[found[1]] = found[2]
    return fields, body
