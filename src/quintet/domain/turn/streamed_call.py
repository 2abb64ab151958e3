"""A tool call while its arguments stream: which tool, and what it is about as soon as that is known.

Only a whole value, or its first whole line, is told: half a secret could not be recognised.
"""

from __future__ import annotations

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wire_json import decode
from quintet.domain.turn.messages import CallBegunPart

MOST = 4_000  # characters in which what a call is about has to begin
_ABOUT = regex(r'"(?:command|file_path|pattern|path)"\s*:\s*"((?:[^"\\]|\\[^n])*)(?:"|\\n)')


class StreamedCall:
    """Two parts at most, however many pieces come."""

    def __init__(self, place: int) -> None:
        self._place = place
        self._name = ""
        self._arguments = ""
        self._told_about = False

    def add(self, name: str, piece: str) -> list[CallBegunPart]:
        told: list[CallBegunPart] = []
        if name and not self._name:
            self._name = name
            told.append(CallBegunPart(self._place, name))
        if self._name and not self._told_about:
            self._arguments += piece
            if found := _ABOUT.search(self._arguments):
                told.append(CallBegunPart(self._place, self._name, _text(found[1])))
            self._told_about = found is not None or len(self._arguments) > MOST
        return told


def _text(escaped: str) -> str:
    try:
        return str(decode(f'"{escaped}"'))
    except ValueError:
        return escaped
