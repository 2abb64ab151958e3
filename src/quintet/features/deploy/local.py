"""What was deployed on this machine, and the ports of loopback."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.deploy import Deployed
from quintet.domain.settings.deploy_settings import DeploySettings

HOST = "127.0.0.1"
CONNECT_SECONDS = 1.0


class LocalDeployments:
    def __init__(self, targets: Mapping[str, DeploySettings]) -> None:
        self.targets = targets
        self.up: dict[str, Deployed] = {}

    def free_port(self, wanted: int) -> int:
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

    async def answers(self, port: int) -> bool:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(HOST, port)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return True
        return False
