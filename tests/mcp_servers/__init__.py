"""MCP servers that tests start, and the one of the SDK's at an address."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SERVERS = Path(__file__).parent


@contextlib.contextmanager
def listening(*how: str) -> Iterator[int]:
    """good.py at a port: on streamable HTTP or, with `sse`, the transport before it."""
    with socket.create_server(("127.0.0.1", 0)) as line:  # whoever connects waits until the server is up
        child = subprocess.Popen(
            [sys.executable, SERVERS / "good.py", str(line.fileno()), *how],
            pass_fds=(line.fileno(),),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        number = line.getsockname()[1]
    try:
        yield number
    finally:
        child.kill()
        child.wait()
