"""The picker of settings: every one with its value and source, and a change of the user's own file.

A value is checked before it is written; what is wrong with it is said below it, and what was typed stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar

from textual import events, on
from textual.widget import Widget
from textual.widgets import Input, Static

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import visible
from quintet.domain.ports.prompt import SettingChoice, SettingsBook
from quintet.surfaces.tui.dialogs.picker import TAKE, Picker, PickRow

UNSET = "unset"
OWN_FILE = "your file"
WRITTEN = "written to {path}; used from the next start"
IN_USE = "written to {path}, and used from now on"
ROLES = {f"cycle.{role}": role for role in ("planner", "executor", "verifier")}  # settings a session can follow at once
ACP = "acp:"  # the command line of an agent is nobody's to list


class SettingsPicker(Picker):
    DEFAULT_CSS = """
    SettingsPicker {
        & #value { display: none; margin-top: 1; }
        & .said { height: auto; display: none; color: $success; }
        & .said.-wrong { color: $error; }
    }
    """
    heading = "settings"
    verb = "changes it"
    others: ClassVar[dict[str, tuple[str, str]]] = {"ctrl+x": (UNSET, "resets it to the default")}

    def __init__(self, book: SettingsBook, follow: Callable[[str, str], Awaitable[None]]) -> None:
        """`follow` has the session take up a changed role: its name, and who has it now."""
        super().__init__()
        self._book = book
        self._follow = follow
        self._settings: dict[str, SettingChoice] = {}
        self._changing = ""  # the key whose value is being typed

    def below(self) -> Iterable[Widget]:
        yield Input(id="value", compact=True)
        yield Static(classes="said", markup=False)

    async def rows(self) -> list[PickRow]:
        found = await asyncio.to_thread(self._book.rows)
        self._settings = {one.key: one for one in found}
        return [PickRow(one.key, (one.key, one.value, self._source(one)), here=one.own) for one in found]

    def _source(self, one: SettingChoice) -> str:
        """In few columns; the explanation has all of it."""
        return OWN_FILE if one.source == self._book.path else "/".join(one.source.split("/")[-2:])

    async def detail(self, row: PickRow) -> str:
        one = self._settings[row.id]
        lines = [one.about]
        if one.choices:
            lines.append(f"one of {', '.join(one.choices)}")
        if one.source == self._book.path:
            lines.append("set in your own file")
        elif one.source == "default":
            lines.append(f"default: {one.value}" if one.value else "default")
        else:
            lines.append(f"set by {one.source}, which overrides your own file")
        return "\n".join(lines)

    # ── changing one

    def take(self, action: str = TAKE) -> None:
        row = self.highlighted
        if row is None:
            return
        if action == UNSET:
            self.run_worker(self._write(row.id, None), exit_on_error=False)
            return
        one = self._settings[row.id]
        self._changing = row.id
        value = self.query_one("#value", Input)
        value.display = True
        value.value = "" if one.unset else self._word(row.id) if one.choices else one.value
        value.placeholder = f"{row.id} = …   Up, Down: choices" if one.choices else f"{row.id} = …"
        value.focus()
        value.cursor_position = len(value.value)
        self._say("")

    @on(Input.Submitted, "#value")
    def _changed(self, event: Input.Submitted) -> None:
        event.stop()
        self.run_worker(self._write(self._changing, event.value), exit_on_error=False)

    async def _write(self, key: str, text: str | None) -> None:
        if wrong := self._missing(key, text):
            self._say(wrong, wrong=True)
            return
        try:
            if text is None:
                await asyncio.to_thread(self._book.unset, key)
            else:
                await asyncio.to_thread(self._book.change, key, text)
        except QuintetError as error:
            self._say(str(error), wrong=True)
            return
        self._done_changing()
        await self.reload(key)
        if key in ROLES:
            await self._follow(ROLES[key], self._word(key) or self._word("cycle.planner"))
        self._say((IN_USE if key in ROLES else WRITTEN).format(path=self._book.path))

    def _word(self, key: str) -> str:
        return self._settings[key].value.strip('"')

    def _missing(self, key: str, text: str | None) -> str:
        """Why what was typed cannot be taken: it is nothing that this machine has."""
        one, word = self._settings[key], (text or "").strip().strip('"')
        if not (one.offered and word) or word in one.choices or word.startswith(ACP):
            return ""
        return f"{word} is not installed; installed: {', '.join(one.choices)}, or use {ACP}COMMAND"

    def _done_changing(self) -> None:
        self._changing = ""
        self.query_one("#value", Input).display = False
        self.query_one("#filter", Input).focus()

    def _say(self, text: str, *, wrong: bool = False) -> None:
        said = self.query_one(".said", Static)
        said.set_class(wrong, "-wrong")
        said.update(visible(text))
        said.display = bool(text)

    # ── keys

    def action_close(self) -> None:
        if self._changing:
            self._done_changing()
            self._say("")
        else:
            super().action_close()

    def action_move(self, by: int) -> None:
        choices = self._settings[self._changing].choices if self._changing else ()
        if choices:
            value = self.query_one("#value", Input)
            at = choices.index(value.value.strip('"')) if value.value.strip('"') in choices else -1
            value.value = choices[(at + by) % len(choices)] if at >= 0 or by > 0 else choices[-1]
            value.cursor_position = len(value.value)
        elif not self._changing:
            super().action_move(by)

    def on_key(self, event: events.Key) -> None:
        if not self._changing:
            super().on_key(event)

    @on(Input.Changed, "#value")
    def _typing(self, event: Input.Changed) -> None:
        event.stop()
