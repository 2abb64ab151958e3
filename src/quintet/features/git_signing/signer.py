"""Makes signatures outside the sandbox: the user's own gpg or ssh-keygen, in their home folder, with their rights.

It is given the bytes to sign and nothing of the repository: no hook, filter or configuration of it runs here.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
from contextlib import ExitStack
from shutil import rmtree
from typing import TYPE_CHECKING

from msgspec import structs

from quintet.adapters.files.real_path import real_path
from quintet.adapters.files.temporary_folders import temporary_folder
from quintet.adapters.git.git_folders import git_folders, read_plain
from quintet.adapters.git.run_git import settings_in, user_config
from quintet.adapters.processes.host_programs import host_path, program
from quintet.adapters.sandbox.host_mounts import home
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.opened_places import OpenedPlaces, opened
from quintet.domain.permission.protected_paths import inside
from quintet.domain.turn.tool_spec import Touch
from quintet.features.git_signing.signing import SigningPlan, armored, planned

if TYPE_CHECKING:
    from quintet.app.services import Opening

SECONDS = 120.0  # a passphrase may have to be typed
_TAKEN = ("gpg.format", "user.signingkey", "user.name", "user.email")  # of a repository's configuration


class CommitSigner:
    def __init__(self, root: str, places: OpenedPlaces) -> None:
        self._root = root
        self._places = places

    def touched(self, touch: Touch) -> Touch:
        """With what exactly runs outside, for the question; refused where nothing could."""
        try:
            plan = self._plan()
        except ToolFailed as error:
            return structs.replace(touch, refused=str(error))
        words = shlex.join((plan.program, *(plan.literal if word == "{key}" else word for word in plan.words)))
        return structs.replace(
            touch, why=f"outside the sandbox, only this runs: {words}; git and its hooks stay in the sandbox"
        )

    def contained(self, grant: Grant) -> Grant:
        """The grant for git itself: the sandbox's, as if nothing ran outside."""
        inside = tuple(effect for effect in grant.effects if effect is not Effect.OUTSIDE)
        return opened(structs.replace(grant, effects=inside), self._places, writes=True)

    async def sign(self, payload: bytes) -> bytes:
        return await asyncio.to_thread(self._sign, self._plan(), payload)

    async def close(self) -> None:
        """Nothing is kept."""

    def _plan(self) -> SigningPlan:
        found = git_folders(self._root)
        config = settings_in(read_plain(os.path.join(found.common, "config"))) if found else None
        theirs = [(name, value) for name, value in config or () if name in _TAKEN]
        plan = planned(user_config(), theirs, self._root, home())
        where = program(os.path.expanduser(plan.program))
        if not where:
            raise ToolFailed(f"{plan.program} is not installed here, or is in the project")
        key = plan.words[-1]
        if os.path.isabs(key) and inside(real_path(key), self._root) is not None:
            raise ToolFailed(f"{key}: this key is in the project; only the user's own keys can sign")
        return structs.replace(plan, program=where)

    def _sign(self, plan: SigningPlan, payload: bytes) -> bytes:
        with ExitStack() as kept:
            words = list(plan.words)
            if plan.literal:
                folder = temporary_folder()
                kept.callback(rmtree, folder, ignore_errors=True)
                path = os.path.join(folder, "key.pub")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"{plan.literal}\n")
                words = [path if word == "{key}" else word for word in words]
            try:
                done = subprocess.run(
                    (plan.program, *words),
                    input=payload,
                    capture_output=True,
                    cwd=home(),
                    env={**os.environ, "PATH": host_path()},
                    timeout=SECONDS,
                    check=False,
                    start_new_session=True,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ToolFailed(f"{plan.program}: {error}") from None
        signature = armored(done.stdout)
        if done.returncode or not signature:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit {done.returncode}"]
            raise ToolFailed(f"{os.path.basename(plan.program)} made no signature: {last[0][:300]}")
        return signature


def open_signer(opening: Opening) -> CommitSigner:
    return CommitSigner(opening.places.root, opening.terms.places)
