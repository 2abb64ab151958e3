"""The dialogs over the screen, and what follows from a choice there: mostly the slash command that a person would have
typed, logged like one. This module is loaded when the first dialog opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import exactly as shown
from quintet.domain.input.own_lines import ASKED
from quintet.domain.input.provenance import Provenance, TextSource
from quintet.domain.input.slash_line import CommandLine, CommandUsage, format_command
from quintet.domain.journal.protocol import Choice, CommandRan, Say
from quintet.domain.models.connecting import ModelOffer
from quintet.domain.ports.prompt import ModelSetup
from quintet.domain.settings.screen import THEMES
from quintet.surfaces.tui.context import TrustAsked
from quintet.surfaces.tui.dialogs import pickers
from quintet.surfaces.tui.dialogs.ask import AskScreen
from quintet.surfaces.tui.dialogs.keys_and_commands import KEY, KeySheet, Palette
from quintet.surfaces.tui.dialogs.model_dialogs import ADD, USE, Connecting, ModelPicker
from quintet.surfaces.tui.dialogs.picker import TAKE, Picked, Picker
from quintet.surfaces.tui.dialogs.settings_picker import SettingsPicker
from quintet.surfaces.tui.dialogs.task_board import TaskBoard
from quintet.surfaces.tui.prompt.question_panel import QuestionPanel

if TYPE_CHECKING:
    from quintet.surfaces.tui.keys import KeyedUi

OWN_LINE = (Choice("y", "yes"), Choice("s", "in the sandbox"), Choice("n", "no"))
TRUST = (Choice("y", "trust this folder"), Choice("n", "not now"))


class Dialogs:
    def __init__(self, ui: KeyedUi) -> None:
        self._ui = ui

    async def trust(self, asked: TrustAsked) -> None:
        answer = await self._ui.push_screen_wait(AskScreen("trust", asked.about, TRUST, asked.listed, asked.changed))
        asked.decide(answer == "y")

    async def own_line(self, text: str, provenance: Provenance) -> None:
        """A line that was not typed here: with the user's rights, in the sandbox, or not at all."""
        about = f"{ASKED}\nIt was {provenance.described()}, not typed here key by key."
        asking = AskScreen("your own line", about, OWN_LINE, [shown(line) for line in text.split("\n")], settles=True)
        match await self._ui.push_screen_wait(asking):
            case "y":
                await self._ui.send(text, typed=True)
            case "s":
                await self._ui.send(text)
            case _:
                self._ui.prompt.give_back(text)

    def keys(self) -> None:
        self._ui.push_screen(KeySheet([(keys, about) for _, keys, about in self._ui.key_list() if keys]))

    async def palette(self) -> None:
        """What any key does, or any command."""
        commands = self._ui.session.commands if self._ui.session else ()
        if picked := await self._picked(Palette(self._ui.key_list(), THEMES, commands)):
            if picked.id.startswith(KEY):
                await self._ui.act(picked.id.removeprefix(KEY))
            else:
                await self._ui.begin_command(picked.id)

    async def tasks(self) -> None:
        ui, here = self._ui, self._ui.session
        printed = here.shell_log if here else lambda name: ""
        chosen = await ui.push_screen_wait(TaskBoard(ui.look_at_board, self._carried_out, printed, ui.theme_name))
        match chosen.split(" ", 1):
            case [""]:
                pass
            case ["question"]:
                self._ui.query_one(QuestionPanel).focus()
            case ["session", session]:
                await self.switch_session(session)
            case _:
                await self._ui.submit(Say(text=chosen))

    async def _carried_out(self, line: str) -> str:
        """What a command that the board gives answers; the board stays open meanwhile."""
        session, submission = self._ui.session, await self._ui.submit(Say(text=line))
        if session is None or not submission:
            return ""
        ended = (await session.follow(submission).end()).event
        return ended.text if isinstance(ended, CommandRan) else ""

    async def settings(self) -> None:
        if at_hand := self._ui.context.at_hand:
            await self._picked(SettingsPicker(at_hand.settings, self._enter))

    async def first_model(self, setup: ModelSetup, offers: list[ModelOffer]) -> None:
        await Connecting(self._ui, setup).first(offers)

    async def model(self) -> None:
        at_hand = self._ui.context.at_hand
        picked = await self._picked(ModelPicker(at_hand, self._ui.state.dials.model)) if at_hand else None
        if at_hand is None or picked is None:
            return
        if at_hand.setup and picked.id == ADD:
            await Connecting(self._ui, at_hand.setup).add()
        elif at_hand.setup and picked.id.startswith(USE):
            name, _, model = picked.id.removeprefix(USE).partition("/")
            await Connecting(self._ui, at_hand.setup).use(name, model)
        else:
            await self._enter("model", picked.id)

    async def agent(self) -> None:
        at_hand, agent = self._ui.context.at_hand, self._ui.state.runs.agent
        if at_hand and (picked := await self._picked(pickers.AgentPicker(at_hand, agent.id if agent else ""))):
            await (self._enter("dismiss") if picked.id == pickers.LEAVE else self._enter("agents", picked.id))

    async def skill(self, found: Sequence[CommandUsage]) -> None:
        """A skill by its name, to be typed on."""
        if picked := await self._picked(pickers.SkillPicker(found)):
            await self._ui.begin_command(f"{picked.id} WORDS")

    async def menu_item(self, why: str, items: list[tuple[str, str]]) -> None:
        """Which item of the agent's menu an input means; its number is what a person would type."""
        if picked := await self._picked(pickers.MenuPicker(why, items)):
            await self._ui.submit(Say(text=picked.id))

    async def session(self) -> None:
        """Continue another session, or a copy of one."""
        at_hand, here = self._ui.context.at_hand, self._ui.session
        if at_hand is None or here is None:
            return
        picked = await self._picked(pickers.SessionPicker(at_hand, here.id))
        if picked is None or (picked.id == here.id and picked.action != pickers.FORK):
            return
        try:
            wanted = await at_hand.fork(picked.id) if picked.action == pickers.FORK else picked.id
        except QuintetError as error:
            self._ui.note(str(error), "error")
            return
        await self.switch_session(wanted)

    async def switch_session(self, wanted: str) -> None:
        """Open another session in place of this one, unless a turn of this one runs in this process."""
        ui, here = self._ui, self._ui.session
        if here is None:
            return
        if ui.state.busy and here.owned_here:
            ui.note(
                ("a turn is running here: interrupt it (Esc) or wait until it ends before you open another session"),
                "warning",
            )
            return
        try:
            await ui.attach(wanted)
        except QuintetError as error:
            await ui.attach(here.id)
            ui.note(str(error), "error")

    async def rewind(self) -> None:
        session = self._ui.session
        if session and (picked := await self._picked(pickers.RewindPicker(session))):
            await self._enter("rewind", picked.id, "both" if picked.action == TAKE else picked.action)

    async def past_input(self, past: list[str], typed: str) -> None:
        if picked := await self._picked(pickers.HistoryPicker(past, typed)):
            self._ui.prompt.give_back(picked.id, TextSource.RECALLED)

    async def _enter(self, command: str, *words: str) -> None:
        await self._ui.submit(Say(text=format_command(CommandLine(command, words))))

    async def _picked(self, picker: Picker) -> Picked | None:
        return await self._ui.push_screen_wait(picker)
