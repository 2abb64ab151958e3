"""Walking through what was typed before: up to older inputs, down to newer ones and at last to one's own draft."""

from __future__ import annotations

from collections.abc import Sequence


class Recall:
    def __init__(self, past: Sequence[str] = ()) -> None:
        self._past = list(past)
        self._at = len(self._past)
        self._draft = ""

    @property
    def past(self) -> list[str]:
        return list(self._past)

    def add(self, text: str) -> None:
        """Something was submitted: it is the newest now, and the walk begins anew."""
        if text and self._past[-1:] != [text]:
            self._past.append(text)
        self._at, self._draft = len(self._past), ""

    def fill(self, past: Sequence[str]) -> None:
        """What was typed before this program began, found only now."""
        typed_since = self._past
        self._past = list(past)
        for text in typed_since:
            self.add(text)
        self._at = len(self._past)

    def older(self, current: str) -> str | None:
        """The input before the one that is shown; None at the oldest. What was not submitted is kept."""
        if self._at == len(self._past):
            self._draft = current
        if self._at == 0:
            return None
        self._at -= 1
        return self._past[self._at]

    def newer(self) -> str | None:
        if self._at >= len(self._past):
            return None
        self._at += 1
        return self._draft if self._at == len(self._past) else self._past[self._at]
