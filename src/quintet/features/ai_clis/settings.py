"""Settings of AI CLIs, each under its name."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, setting
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.executors import AI_CLIS


class ExecutorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """An AI CLI: codex, claude or gemini as it is here, or under a name of yours an agent that speaks ACP."""

    command: Annotated[
        str,
        setting("how it is started: a program, or for an ACP agent its command line; empty finds it on PATH", TRUSTED),
    ] = ""
    home: Annotated[str, setting("the folder it keeps its login and settings in; empty for its usual one", TRUSTED)] = (
        ""
    )
    folders: Annotated[
        tuple[str, ...], setting("more folders of its own, where it keeps its things in several", TRUSTED)
    ] = ()
    model: Annotated[str, setting("model it is to use; empty for the one it is set to", TRUSTED)] = ""
    pass_env: Annotated[
        tuple[str, ...], setting("more environment variables that are passed on to it, by name", TRUSTED)
    ] = ()

    def problem(self, at: str, settings: Settings) -> str:
        named = at.partition(".")[2]
        return (
            ""
            if named in AI_CLIS or self.command
            else f"{at} has no command: set the command that starts this ACP agent"
        )
