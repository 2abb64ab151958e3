"""The palette: every key's action and every slash command, found by words."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.input.slash_line import CommandUsage
from quintet.surfaces.tui.dialogs.picker import Picker, PickRow

KEY = "key "  # before the name of an action; anything else is a command's usage


class Palette(Picker):
    heading = "keys and commands"
    verb = "does it"

    def __init__(
        self, keys: Sequence[tuple[str, str, str]], themes: Sequence[str], commands: Sequence[CommandUsage]
    ) -> None:
        super().__init__()
        self._keys = keys
        self._themes = themes
        self._commands = commands

    async def rows(self) -> list[PickRow]:
        rows = [PickRow(f"{KEY}{name}", (keys or "no key", about), about) for name, keys, about in self._keys]
        rows += [PickRow(f"/theme {name}", (f"/theme {name}", "the colours of this screen")) for name in self._themes]
        return rows + [
            PickRow(one.usage, (f"/{one.name}", one.help), f"{one.usage}\n{one.help}") for one in self._commands
        ]
