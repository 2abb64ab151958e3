"""Parts that most sessions never ask for: imported and made when something of them is first wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """What "module:name" stands for, below `quintet`."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"quintet.{module}"), attribute)


class Late:
    """Stands for what `load(name)(*words, **named)` makes."""

    def __init__(self, name: str, *words: Any, **named: Any) -> None:
        self._name = name
        self._words = words
        self._named = named
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = load(self._name)(*self._words, **self._named)
        return getattr(self._made, name)
