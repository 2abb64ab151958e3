"""Regular expressions at the top of a module, compiled when first used: a start imports many of them and uses few."""

from __future__ import annotations

import re
from typing import Any, cast


class LazyRegex:
    def __init__(self, text: str, flags: int) -> None:
        self._written = text, flags

    def __getattr__(self, name: str) -> Any:
        """Asked once for each name: what is found stays, so that later uses cost no more than those of a pattern."""
        found = getattr(re.compile(*self._written), name)
        setattr(self, name, found)
        return found


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, for its methods; the functions of `re` do not take it."""
    return cast("re.Pattern[str]", LazyRegex(text, flags))
