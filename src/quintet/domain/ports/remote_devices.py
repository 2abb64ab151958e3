"""Paired accounts, as a surface lists and revokes them. Pairing itself is done at the user's own terminal."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class RemoteDevice(Struct, frozen=True):
    """An account that gets messages, and whose texts are heard."""

    channel: str
    account: str
    name: str = ""  # anybody can call themselves anything
    paired: str = ""  # when

    @property
    def id(self) -> str:
        return f"{self.channel}/{self.account}"


class RemoteUse(Struct, frozen=True):
    """A session with remote on, in whatever process."""

    tag: str  # as messages name it
    session: str
    project: str


class RemoteDevices(Protocol):
    def paired(self) -> list[RemoteDevice]: ...

    def sessions(self) -> list[RemoteUse]: ...

    def revoke(self, id: str) -> bool:
        """Whether there was such an account."""

    def close(self) -> None: ...
