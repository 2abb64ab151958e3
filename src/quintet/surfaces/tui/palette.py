"""The command palette: every key's action and every slash command, found by words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider

if TYPE_CHECKING:
    from quintet.surfaces.tui.terminal_ui import TerminalUi


class Everything(Provider):
    @property
    def _ui(self) -> TerminalUi:
        from quintet.surfaces.tui.terminal_ui import TerminalUi

        assert isinstance(self.app, TerminalUi)
        return self.app

    def _entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        from quintet.engine.commands import TABLE

        ui = self._ui
        for name, keys, about in ui.key_list():
            yield about, keys or "no key", partial(ui.act, name)
        for theme in ui.themes:
            yield f"theme {theme}", f"/theme {theme}", partial(ui.enter, f"/theme {theme}")
        for command in TABLE:
            line = f"/{command.name}"
            yield f"{line}  {command.help}", command.usage, partial(ui.begin_command, command.usage)

    async def discover(self) -> Hits:
        for text, about, act in self._entries():
            yield DiscoveryHit(text, act, help=about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, about, act in self._entries():
            score = matcher.match(f"{text} {about}")
            if score > 0:
                yield Hit(score, matcher.highlight(text), act, help=about)
