"""A model's key: from a variable, the user's own secrets, or a command of the user's that prints it.

A command is run when the first request is made, outside any shell, by the absolute path of its program and never by
one of a project's. Its key is kept for the session; a key that is refused is asked for once more, for tokens that run
out. What it prints is told to `learn`, so that it is known as a secret.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable

from quintet.adapters.processes.host_programs import host_path, is_apart, program
from quintet.domain.base.errors import ModelAuthFailed, SettingsError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.settings.settings import ModelSettings
from quintet.package import load

SECONDS = 60.0  # a password manager may ask its user first
MOST_BYTES = 65_536
MOST_SAID = 200  # characters of what a command complains of


def _in_a_variable(name: str) -> str:
    """From the environment; the user's own secrets and the keyring, which take longer, only where it is not there."""
    if value := os.environ.get(name, "").strip():
        return value
    key, _ = load("adapters.secrets.model_keys:kept_key")(name)
    return str(key)


def _unheard(secret: str) -> None:
    """Nobody is told."""


class Key:
    """The key of the model that the settings call `name`; empty where it has none."""

    def __init__(
        self, settings: ModelSettings, name: str, learn: Callable[[str], None] = _unheard, *, given: str = ""
    ) -> None:
        self._setting = f"models.{name}"
        command = settings.api_key_command
        self._command = tuple(shlex.split(command)) if isinstance(command, str) else command
        self._learn = learn
        self._lock = asyncio.Lock()
        self._kept = given
        if not given and not self._command and settings.api_key_env:
            self._kept = _in_a_variable(settings.api_key_env)
            if not self._kept:
                raise SettingsError(
                    f"models.{name}: the variable {settings.api_key_env} is not set",
                    hint=f"Export the key, or store it: quintet secrets set {settings.api_key_env}",
                )
        if self._kept:
            learn(self._kept)

    @property
    def at_hand(self) -> str:
        """The key as far as it is known without a command."""
        return self._kept

    @property
    def by_command(self) -> bool:
        return bool(self._command)

    async def value(self) -> str:
        if self._kept or not self._command:
            return self._kept
        async with self._lock:
            self._kept = self._kept or await self._printed()
        return self._kept

    def refused(self, key: str) -> bool:
        """Whether another may be had: then the next `value` asks for it."""
        if not self._command:
            return False
        self._kept = "" if self._kept == key else self._kept
        return True

    async def _printed(self) -> str:
        named, *words = self._command
        found = program(named)
        if not found or not is_apart(found):
            hint = f"Install it, or correct {self._setting}.api_key_command; programs in the project are not used."
            raise ModelAuthFailed(f"{self._setting}.api_key_command: {named} was not found", hint=hint)
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        environment = {**os.environ, "PATH": host_path()}
        child = await asyncio.create_subprocess_exec(
            found, *words, stdin=none, stdout=pipe, stderr=pipe, cwd="/", env=environment
        )
        try:
            async with asyncio.timeout(SECONDS):
                printed, complaint = await child.communicate()
        except TimeoutError:
            raise self._failed(named, f"took longer than {SECONDS:g} s") from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode:
            said = on_one_line(complaint.decode("utf-8", "replace").strip())[:MOST_SAID]
            raise self._failed(named, f"ended with exit code {child.returncode}{f' ({said})' if said else ''}")
        key = printed[:MOST_BYTES].decode("utf-8", "replace").strip()
        if not key:
            raise self._failed(named, "printed nothing")
        self._learn(key)
        return key

    def _failed(self, named: str, what: str) -> ModelAuthFailed:
        return ModelAuthFailed(
            f"{self._setting}.api_key_command: {named} {what}, so there is no key",
            hint="Run the command yourself to see why.",
        )
