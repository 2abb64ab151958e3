"""The branch a repository is on, with a star where something is changed: for people to see, never to decide by."""

from __future__ import annotations

import asyncio
import os

from quintet.adapters.processes import own_environment

SECONDS = 5.0
_STATUS = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all")
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")


async def branch(root: str) -> str:
    """For example `main*`; empty outside a repository, or where git does not answer."""
    if not os.path.exists(os.path.join(root, ".git")):
        return ""
    try:
        git = await asyncio.create_subprocess_exec(
            *_GIT,
            "-C",
            root,
            *_STATUS,
            env=own_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(SECONDS):
            out, _ = await git.communicate()
    except TimeoutError:
        return ""
    finally:
        if git.returncode is None:
            git.kill()
            await git.wait()
    lines = out.decode("utf-8", "replace").splitlines()
    name = next((line.split(" ", 2)[2] for line in lines if line.startswith("# branch.head ")), "")
    changed = any(not line.startswith("#") for line in lines)
    return f"{name}{'*' if changed else ''}" if name else ""
