"""The agent on this process's own stdin and stdout, until they close or it is told to end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from acp.agent.connection import AgentSideConnection

from quintet.domain.dials.axes import AxesChange
from quintet.features.acp.agent import EditorAgent
from quintet.features.acp.wire import LineTransport
from quintet.surfaces.terminal import told_to_end


async def serve(directory: str, dials: AxesChange) -> int:
    """`dials` are where new sessions begin."""
    logging.getLogger().addHandler(logging.NullHandler())  # what the SDK reports goes back as an error, or is ours
    transport = await LineTransport.opened(*_own_ends())
    agent = EditorAgent(directory, dials)
    with told_to_end(signal.SIGINT) as told:
        connection = AgentSideConnection(agent, transport, listening=False, use_unstable_protocol=True)
        listening = asyncio.create_task(connection.listen())
        ending = asyncio.create_task(told.wait())
        await asyncio.wait((listening, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        try:
            await agent.close()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await connection.close()
    return 0


def _own_ends() -> tuple[int, int]:
    """Our input and output. No command or hook can read the one, and nothing that is printed reaches the other."""
    reads, writes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return reads, writes
