"""What was deployed on this machine, and the ports of loopback."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from quintet.domain.base.errors import ToolFailed
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.features.deploy.settings import DeploySettings

if TYPE_CHECKING:
    from quintet.app.services import Opening

HOST = "127.0.0.1"
CONNECT_SECONDS = 1.0


class Deployed(Struct, frozen=True):
    """Something that is up on this machine."""

    name: str  # of its background shell
    url: str
    folder: str


class LocalDeployments:
    """What was deployed in this session, and where to."""

    def __init__(self, targets: Mapping[str, DeploySettings]) -> None:
        self.targets = targets
        self.up: dict[str, Deployed] = {}

    def free_port(self, wanted: int) -> int:
        """That port of loopback, or any for 0. Raises ToolFailed if it is taken."""
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((HOST, wanted))
            except OSError as error:
                raise ToolFailed(f"port {wanted}: {error.strerror}; choose another, or 0 for any") from None
            return int(tried.getsockname()[1])

    def ports(self) -> list[int]:
        """Of loopback, those that something of this session's is up on."""
        return [port for one in self.up.values() if (port := urlsplit(one.url).port)]

    def serves(self, one: Deployed) -> bool:
        """Whether somebody has its port; it is not connected to."""
        try:
            self.free_port(urlsplit(one.url).port or 0)
        except ToolFailed:
            return True
        return False

    async def answers(self, port: int) -> bool:
        """Whether somebody listens there."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(HOST, port)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return True
        return False


def open_deployments(opening: Opening) -> LocalDeployments:
    return LocalDeployments(opening.settings.named("deploy", DeploySettings))


def board_rows(deployments: LocalDeployments) -> list[BoardEntry]:
    """What is up on this machine."""
    return [
        BoardEntry(BoardKind.FEATURE, one.name, "↑", f"{one.name} {one.url}", f"deployed from {one.folder}", "success")
        for one in deployments.up.values()
        if deployments.serves(one)
    ]
