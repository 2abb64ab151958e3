"""Takes out of a text what is nobody else's business: secrets, and where things are on this machine.

A stand-in is as long as what it stands for, so that whatever counts characters counts the same, and a path stays one.
Where a secret stands as JSON in JSON, its stand-in is as long as the secret itself: that is what a reader gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

SHORTEST = 8  # characters of a value that is taken for a secret
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|DSN|_PAT$", re.I)
# What is a secret by its looks, whatever it is called.
_LOOKS = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"
    r"|(?<=Bearer )[\w.~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    re.S,
)


class Redaction:
    def __init__(self, secrets: Iterable[str], places: Mapping[str, str]) -> None:
        """`places` are paths with what stands for them."""
        known = [value for value in secrets if len(value) >= SHORTEST]
        words = {json.dumps(value)[1:-1]: "*" * len(value) for value in known}
        words.update({value: "*" * len(value) for value in known})
        self.secrets = frozenset(words)
        words.update({path: as_long_as(path, stand_in) for path, stand_in in places.items() if len(path) > 1})
        self._words = words
        longest_first = sorted(words, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if words else None

    def text(self, text: str) -> str:
        if self._pattern:
            text = self._pattern.sub(lambda found: self._words[found[0]], text)
        return _LOOKS.sub(lambda found: "*" * len(found[0]), text)

    def value(self, value: Any) -> Any:
        """Plain data with every text in it redacted."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.value(key): self.value(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.value(inner) for inner in value]
        return value

    def pieces(self, pieces: list[str]) -> list[str]:
        """A text that came in pieces: what stands across two of them is found too."""
        whole, redacted, at = self.text("".join(pieces)), [], 0
        if len(whole) != sum(map(len, pieces)):
            return [self.text(piece) for piece in pieces]
        for piece in pieces:
            redacted.append(whole[at : at + len(piece)])
            at += len(piece)
        return redacted


def as_long_as(text: str, stand_in: str) -> str:
    return (stand_in + "_" * len(text))[: len(text)]


def secrets_of(environment: Mapping[str, str], named: Iterable[str]) -> list[str]:
    """The values of variables that hold secrets: by their names, or because the settings say so."""
    wanted = set(named)
    return [value for name, value in environment.items() if name in wanted or _NAMES.search(name)]
