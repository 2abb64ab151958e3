"""The map of a project: its files by rank, each with what it declares, cut to a budget of tokens. Pure.

A file that ranks higher shows more of its symbols. Tests, and what only a file itself uses, come last or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quintet.features.index.entries import FoundSymbol

CHARACTERS = 4  # of a token, about
MOST_SYMBOLS = 24  # of the first file; each one after shows fewer
LEAST_SYMBOLS = 4
_SHOWN = {"class": 0, "interface": 0, "struct": 0, "enum": 1, "type": 1, "module": 1, "function": 2, "macro": 3}
_MEMBERS = {"method": 3, "constant": 4}


def drawn_map(files: Sequence[str], outline: Callable[[str], Sequence[FoundSymbol]], tokens: int) -> tuple[str, int]:
    """The map, and how many files are on it."""
    left = tokens * CHARACTERS
    blocks: list[str] = []
    for place, path in enumerate(files):
        most = max(LEAST_SYMBOLS, MOST_SYMBOLS - place)
        block = _block(path, outline(path), most)
        if len(block) + 1 > left:
            block = _block(path, (), 0)
            if len(block) + 1 > left:
                break
        blocks.append(block)
        left -= len(block) + 1
    return "\n".join(blocks), len(blocks)


def _block(path: str, symbols: Sequence[FoundSymbol], most: int) -> str:
    weighed = [(weight, symbol) for symbol in symbols if (weight := _weight(symbol)) is not None]
    kept = sorted(sorted(weighed, key=lambda one: one[0])[:most], key=lambda one: one[1].line)
    lines = [path]
    for _, symbol in kept:
        depth = 1 + (symbol.container.count(".") + 1 if symbol.container else 0)
        lines.append(f"{'  ' * min(depth, 3)}{symbol.line}: {_signature(symbol)}")
    if len(weighed) > len(kept) and most:
        lines.append(f"  … {len(weighed) - len(kept)} more")
    return "\n".join(lines)


def _weight(symbol: FoundSymbol) -> int | None:
    hidden = 3 if symbol.name.startswith("_") else 0
    if symbol.kind in _SHOWN and symbol.kind != "function":
        return _SHOWN[symbol.kind] + hidden
    if symbol.kind == "function":
        return None if symbol.container else _SHOWN["function"] + hidden
    if symbol.kind in _MEMBERS and not symbol.name.startswith("__"):
        return _MEMBERS[symbol.kind] + hidden
    return None


def _signature(symbol: FoundSymbol) -> str:
    text = symbol.text.rstrip("{:= ").strip()
    return text if len(text) <= 100 else f"{text[:99]}…"
