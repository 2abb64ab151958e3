"""The base of everything that crosses a Session as JSON."""

from __future__ import annotations

from msgspec import Struct


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Tagged(Struct, frozen=True, tag_field="type", tag=_snake, kw_only=True, gc=False):
    """Base of everything that crosses a Session. Values that hold no cycle need no garbage collector (`gc=False`)."""
