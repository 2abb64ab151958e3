"""The pickers of what a session is: its model, its agent, another session, a turn to go back to, an input of before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from quintet.domain.base.wording import counted
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.ports.prompt import PromptSources, SessionChoice
from quintet.engine.session.session import Session
from quintet.surfaces.tui.dialogs.picker import Picker, PickRow

LEAVE = "(leave)"  # the row that dismisses an agent
FORK, FILES, CONVERSATION = "fork", "files", "conversation"


class AgentPicker(Picker):
    heading = "agents"
    verb = "enters"
    nothing = "no agents found; `quintet agents new NAME` writes an example"

    def __init__(self, at_hand: PromptSources, current: str) -> None:
        super().__init__()
        self._at_hand = at_hand
        self._current = current

    async def rows(self) -> list[PickRow]:
        agents = await asyncio.to_thread(self._at_hand.agents)
        rows = [
            PickRow(one.id, (one.id, one.title, one.origin), f"/agents {one.id}", here=one.id == self._current)
            for one in agents
        ]
        if self._current:
            rows.append(PickRow(LEAVE, (LEAVE, f"dismiss {self._current}", ""), "/dismiss; its run can be resumed"))
        return rows


class SkillPicker(Picker):
    heading = "skills"
    verb = "begins with"
    nothing = "no skills found; `quintet skills new NAME` writes one"

    def __init__(self, found: Sequence[CommandUsage]) -> None:
        super().__init__()
        self._found = found

    async def rows(self) -> list[PickRow]:
        return [PickRow(f"/{one.name}", (one.name, one.help), one.usage) for one in self._found]


class SessionPicker(Picker):
    heading = "sessions of this project"
    verb = "opens it"
    others: ClassVar[dict[str, tuple[str, str]]] = {"ctrl+f": (FORK, "opens a copy")}
    nothing = "no session in this project yet"

    def __init__(self, at_hand: PromptSources, current: str) -> None:
        super().__init__()
        self._at_hand = at_hand
        self._current = current

    async def rows(self) -> list[PickRow]:
        sessions = await asyncio.to_thread(self._at_hand.sessions)
        return [self._row(one) for one in sorted(sessions, key=lambda one: not one.by_person)]  # runs come last

    def _row(self, one: SessionChoice) -> PickRow:
        when, turns = one.updated[5:16].replace("T", " "), counted(one.turns, "turn")
        detail = f"{one.id}   {one.badge}" + ("" if one.by_person else "   a run")
        if one.live and one.id != self._current:
            detail += "\nanother process runs it; you can follow and steer it there"
        title = one.title or "(no input yet)"
        cells = (when, f"{one.status} (live)" if one.live else one.status, turns, title)
        return PickRow(one.id, cells, detail, here=one.id == self._current)


class RewindPicker(Picker):
    heading = "rewind to before a turn"
    verb = "both"
    others: ClassVar[dict[str, tuple[str, str]]] = {
        "ctrl+f": (FILES, "files"),
        "ctrl+o": (CONVERSATION, "conversation"),
    }
    nothing = "there is no turn to rewind yet"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    async def rows(self) -> list[PickRow]:
        points = await self._session.points()
        return [PickRow(str(p.number), (str(p.number), p.at[5:], p.about, p.title)) for p in reversed(points)]

    async def detail(self, row: PickRow) -> str:
        return "\n".join(await self._session.rewind_preview(row.id))


class HistoryPicker(Picker):
    heading = "History"
    verb = "inserts it into the prompt"
    nothing = "no inputs in this project yet"

    def __init__(self, past: list[str], typed: str) -> None:
        super().__init__(typed if len(typed) < 40 and "\n" not in typed else "")
        self._past = past

    async def rows(self) -> list[PickRow]:
        different = dict.fromkeys(self._past)
        return [PickRow(text, (text,), text if "\n" in text or len(text) > 60 else "") for text in different]


class MenuPicker(Picker):
    """The items of an agent's menu that an input may mean."""

    heading = "which of these?"
    verb = "runs it"

    def __init__(self, why: str, items: list[tuple[str, str]]) -> None:
        super().__init__()
        self._why = why
        self._items = items

    async def rows(self) -> list[PickRow]:
        return [PickRow(number, (f"{number}.", label)) for number, label in self._items]

    async def note(self) -> str:
        return self._why
