"""Runs a script of Quintet's own in a process apart: what it reads is hostile, what it imports is heavy, and it can be
ended at any moment. It gets bytes, and gives JSON."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from quintet.adapters.processes.processes import own_environment
from quintet.domain.base.errors import ToolFailed

MOST_BYTES = 50_000_000  # of an answer
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")


@cache
def source(script: str) -> str:
    """The script as it was when it was first asked for: where Quintet lies in a project, calls can write it."""
    with open(script, encoding="utf-8") as file:
        return file.read()


async def apart(script: str, request: Mapping[str, Any], body: bytes, seconds: float, *, online: bool = False) -> Any:
    """What the script makes of a request and a body; `online` tells it the proxies of this machine."""
    environment = own_environment()
    if online:
        environment |= {key: value for key, value in os.environ.items() if key in PROXIES or key.lower() in PROXIES}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-c",
        source(script),
        env=environment,
        cwd="/",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=MOST_BYTES,
    )
    try:
        async with asyncio.timeout(seconds or None):
            out, err = await process.communicate(msgspec.json.encode(request) + b"\n" + body)
    except TimeoutError:
        raise ToolFailed(f"given up after {seconds:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    if process.returncode or not out:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"it ended with {process.returncode}"]
        raise ToolFailed(f"it could not be read: {last[0][:300]}")
    answer = msgspec.json.decode(out)
    if problem := answer.get("problem"):
        raise ToolFailed(problem)
    return answer
