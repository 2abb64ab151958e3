"""Quintet's own code: run as a script in a process apart, and kept from being changed where it lies in the project.

An environment that Quintet runs from is read-only for commands, and file tools ask. Its own source tree is there to be
worked on, so all of it is loaded at the start: what a call changes there is not run by this session.
"""

from __future__ import annotations

import asyncio
import os
import pkgutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from quintet.adapters.processes.processes import own_environment
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.base.errors import ToolFailed
from quintet.package import FOLDER, INSTALLED

MOST_BYTES = 50_000_000  # of an answer
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")


@cache
def source(script: str) -> str:
    """The script as it was when it was first asked for: where Quintet lies in a project, calls can write it."""
    with open(script, encoding="utf-8") as file:
        return file.read()


async def apart(script: str, request: Mapping[str, Any], body: bytes, seconds: float, *, online: bool = False) -> Any:
    """What a script makes of a request and a body; `online` tells it the proxies of this machine.

    It runs in a process apart: what it reads is hostile, what it imports is heavy, and it can be ended at any moment.
    It gets bytes, and gives JSON.
    """
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


def run_from(root: str) -> tuple[str, ...]:
    """The folders in the project that Quintet runs from and that nobody works on."""
    installed = (FOLDER,) if INSTALLED else ()
    prefix = (sys.prefix,) if sys.prefix != sys.base_prefix else ()
    found = (path for place in (*prefix, *installed) for path in (place, os.path.realpath(place)))
    return tuple(dict.fromkeys(path for path in found if path != root and below(path, root)))


def load_all(root: str) -> None:
    """Load what Quintet would import later, if its source tree lies in the project."""
    if INSTALLED or not below(FOLDER, root):
        return
    for module in pkgutil.walk_packages([FOLDER], "quintet."):
        if module.name.endswith("_child"):
            source(os.path.join(FOLDER, *module.name.split(".")[1:]) + ".py")
        elif not module.name.endswith("__main__"):
            with suppress(ImportError):  # of an extra that is not installed
                import_module(module.name)
