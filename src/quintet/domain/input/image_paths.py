"""The pictures that an input brings along: `@shot.png`, or a whole path, as a terminal types one that is dropped on it.

A bare name is a word like any other.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from quintet.domain.base.lazy_regex import regex
from quintet.domain.input.at_file import SIGN

MOST_IMAGES = 8  # of one input
_NAMED = regex(
    r"""(?:(?<=\s)|^)@?(?:"([^"\n]+?)"|'([^'\n]+?)'|((?:[^\s\\"']|\\.)+))""",
)
_IMAGE = regex(r".+\.(png|jpe?g|gif|webp)", re.I)
_ESCAPE = regex(r"\\(.)")


def is_image(path: str) -> bool:
    return _IMAGE.fullmatch(path) is not None


def image_paths(text: str) -> tuple[str, ...]:
    """Each once, in their order; whether there is such a file is for others to see."""
    found: dict[str, None] = {}
    for named in _NAMED.finditer(text):
        path = named[1] or named[2] or _ESCAPE.sub(r"\1", named[3] or "")
        path = _local(path.removeprefix(SIGN)).rstrip(",;:!?)").rstrip(".")
        meant = named[0].startswith(SIGN) or path.startswith(("/", "~/"))
        if meant and is_image(path):
            found[path] = None
    return tuple(found)[:MOST_IMAGES]


def _local(path: str) -> str:
    """A path that a terminal wrote as an address of a file, as a path."""
    return unquote(path.removeprefix("file://")) if path.startswith("file:///") else path
