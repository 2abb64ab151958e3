"""What becomes of what is picked: mostly the slash command that a person would have typed, logged like one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.domain.base.errors import QuintetError
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal.protocol import CommandRan, Say

if TYPE_CHECKING:
    from quintet.surfaces.tui.dialogs.picker import Picked, Picker
    from quintet.surfaces.tui.keys import KeyedUi


async def anything(ui: KeyedUi) -> None:
    """What any key does, or any command."""
    from quintet.domain.settings.screen import THEMES
    from quintet.surfaces.tui.dialogs.palette import KEY, Palette

    commands = ui.session.commands if ui.session else ()
    if picked := await _picked(ui, Palette(ui.key_list(), THEMES, commands)):
        if picked.id.startswith(KEY):
            await ui.act(picked.id.removeprefix(KEY))
        else:
            await ui.begin_command(picked.id)


async def settings(ui: KeyedUi) -> None:
    from quintet.surfaces.tui.dialogs.settings_picker import SettingsPicker

    if ui.around.at_hand:
        await _picked(ui, SettingsPicker(ui.around.at_hand.settings))


async def model(ui: KeyedUi) -> None:
    from quintet.surfaces.tui.dialogs.session_pickers import ModelPicker

    if ui.around.at_hand and (picked := await _picked(ui, ModelPicker(ui.around.at_hand, ui.state.dials.model))):
        await ui.submit(Say(text=format_command(CommandLine("model", (picked.id,)))))


async def agent(ui: KeyedUi) -> None:
    from quintet.surfaces.tui.dialogs.session_pickers import LEAVE, AgentPicker

    current = ui.state.runs.agent.id if ui.state.runs.agent else ""
    if ui.around.at_hand and (picked := await _picked(ui, AgentPicker(ui.around.at_hand, current))):
        entering = CommandLine("agents", (picked.id,))
        await ui.submit(Say(text=format_command(entering) if picked.id != LEAVE else "/dismiss"))


def unclear_choice(ran: CommandRan) -> tuple[str, list[tuple[str, str]]] | None:
    """Why an input was not clear to the agent's menu, and the items it may mean, if that is what answered it."""
    event = ran.data.get("event", {})
    if event.get("type") != "CLARIFY_CHOICE":
        return None
    command = event["command"]
    return f"{ran.line}: {command['reason']}", [(str(one["index"]), one["label"]) for one in command["candidates"]]


async def menu_item(ui: KeyedUi, why: str, items: list[tuple[str, str]]) -> None:
    """Which item of the agent's menu an input means; its number is what a person would type."""
    from quintet.surfaces.tui.dialogs.session_pickers import MenuPicker

    if picked := await _picked(ui, MenuPicker(why, items)):
        await ui.submit(Say(text=picked.id))


async def session(ui: KeyedUi) -> None:
    """Go on with another session, or in a copy of one."""
    from quintet.surfaces.tui.dialogs.session_pickers import FORK, SessionPicker

    at_hand = ui.around.at_hand
    if at_hand is None or ui.session is None:
        return
    here = ui.session
    picked = await _picked(ui, SessionPicker(at_hand, here.id))
    if picked is None or (picked.id == here.id and picked.action != FORK):
        return
    try:
        wanted = await at_hand.fork(picked.id) if picked.action == FORK else picked.id
    except QuintetError as error:
        ui.note(str(error), "error")
        return
    await go_over(ui, wanted)


async def go_over(ui: KeyedUi, wanted: str) -> None:
    """Open another session in the place of this one. One in the middle of a turn here is not left."""
    here = ui.session
    if here is None:
        return
    if ui.state.busy and here.owned_here:
        ui.note("a turn is running here: interrupt it (Esc) or let it end before you go to another session", "warning")
        return
    try:
        await ui.attach(wanted)
    except QuintetError as error:
        await ui.attach(here.id)
        ui.note(str(error), "error")


async def rewind(ui: KeyedUi) -> None:
    from quintet.surfaces.tui.dialogs.picker import TAKE
    from quintet.surfaces.tui.dialogs.session_pickers import RewindPicker

    if ui.session and (picked := await _picked(ui, RewindPicker(ui.session))):
        what = "both" if picked.action == TAKE else picked.action
        await ui.submit(Say(text=f"/rewind {picked.id} {what}"))


async def past_input(ui: KeyedUi, past: list[str], typed: str) -> None:
    from quintet.surfaces.tui.dialogs.session_pickers import HistoryPicker

    if picked := await _picked(ui, HistoryPicker(past, typed)):
        ui.prompt.give_back(picked.id)


async def _picked(ui: KeyedUi, picker: Picker) -> Picked | None:
    return await ui.push_screen_wait(picker)
