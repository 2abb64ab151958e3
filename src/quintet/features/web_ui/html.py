"""Small pieces of HTML. Everything that came from a model, a tool, a file or a person passes `e`."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from quintet.domain.base.safe_text import visible

WIDE = '<div class="wide" tabindex="0" role="region" aria-label="Table">'  # around what may be broader than a page
COPY = '<button type="button" class="copy">Copy</button>'  # what is in the <pre> beside it


def e(text: object) -> str:
    """Text for a page: control characters visible, nothing of it markup."""
    return escape("\n".join(visible(line) for line in str(text).split("\n")))


def tag(name: str, *inside: str, **attributes: str | bool | None) -> str:
    """An element; `class_` and the like lose their underscore, `data_x` becomes `data-x`."""
    words = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(f" {key}" if value is True else f' {key}="{e(value)}"')
    return f"<{name}{''.join(words)}>{''.join(inside)}</{name}>"


def joined(pieces: Iterable[str]) -> str:
    return "".join(pieces)
