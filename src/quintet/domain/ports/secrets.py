"""The secrets of a session, by their names."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class SecretName(Struct, frozen=True):
    """A secret there is, but for its value."""

    name: str
    source: str  # environment, the file it is in, or keyring
    exposed: tuple[str, ...] = ()  # the commands that get it
    redacted: bool = True  # too short a value is not


class Secrets(Protocol):
    def names(self) -> list[SecretName]: ...

    def text(self, text: str) -> str:
        """The text without them."""
