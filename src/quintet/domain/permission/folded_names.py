"""Names as the most forgiving file system takes them: case, ignorable letters, trailing dots, streams, short names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache


def folded_path(path: str) -> list[str]:
    return [folded(part) for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


@lru_cache(4096)
def folded(part: str) -> str:
    """A name as the most forgiving file system takes it: some leave letters, dots or what follows a colon out."""
    if not part.isascii():
        part = unicodedata.normalize("NFKC", part)
        part = "".join(sign for sign in part if unicodedata.category(sign) not in ("Cf", "Mn"))
    return part.casefold().partition(":")[0].rstrip(". ") or part


def short_names(patterns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The beginning of a short name of Windows → the names in these patterns that it may be short for."""
    found: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(part for pattern in patterns for part in pattern.strip("/").split("/")):
        stem = name.lstrip(".").partition(".")[0][:6]
        found[stem] = (*found.get(stem, ()), name)
    return found


def long_names(name: str, short: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What a folded name may stand for: itself, and if it is a short one (`QUINTE~1`) every name that begins so."""
    stem, tilde, number = name.partition("~")
    return (name, *short.get(stem, ())) if tilde and number[:1].isdigit() else (name,)
