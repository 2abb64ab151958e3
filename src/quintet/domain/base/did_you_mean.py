"""What the person probably meant: the closest names to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str], most: int = 3) -> list[str]:
    from difflib import get_close_matches

    folded = {name.lower(): name for name in names}
    return [folded[match] for match in get_close_matches(word.lower(), folded, n=most, cutoff=0.6)]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """A sentence to append to an error, or nothing."""
    close = nearest(word, names, most=1)
    return f" Did you mean {close[0]}?" if close else ""
