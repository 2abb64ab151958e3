"""Settings of AI CLIs, each under its name."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, setting
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.executors import AI_CLIS


class ExecutorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """An AI CLI: codex, claude or gemini, or an ACP agent under a name that you choose."""

    command: Annotated[
        str,
        setting("how to start it: a program, or for an ACP agent its command line; empty: found on PATH", TRUSTED),
    ] = ""
    home: Annotated[str, setting("the folder of its login and settings; empty: the usual one", TRUSTED)] = ""
    folders: Annotated[tuple[str, ...], setting("additional folders that it uses for login and settings", TRUSTED)] = ()
    model: Annotated[str, setting("model to use; empty: its own setting", TRUSTED)] = ""
    pass_env: Annotated[
        tuple[str, ...], setting("additional environment variables that it gets, by name", TRUSTED)
    ] = ()

    def problem(self, at: str, settings: Settings) -> str:
        named = at.partition(".")[2]
        return (
            ""
            if named in AI_CLIS or self.command
            else f"{at} has no command: set the command that starts this ACP agent"
        )
