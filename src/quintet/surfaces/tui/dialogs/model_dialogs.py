"""Connecting a model on the screen: what is here on one key, the model picker, and the dialogue that adds one.

A key is typed unseen, and where it will be sent is said first. What was connected holds at once: the session is taken
up again with the new settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from quintet.domain.base.errors import QuintetError
from quintet.domain.journal.protocol import Choice
from quintet.domain.models.connecting import ModelOffer
from quintet.domain.ports.prompt import ModelSetup, PresetChoice, PromptSources
from quintet.domain.settings.settings import Settings
from quintet.surfaces.tui.chrome.status_line import StatusLine
from quintet.surfaces.tui.dialogs.ask import AskScreen
from quintet.surfaces.tui.dialogs.ask_text import AskText
from quintet.surfaces.tui.dialogs.picker import Picker, PickRow

if TYPE_CHECKING:
    from quintet.surfaces.tui.keys import KeyedUi

AUTO = "auto"
ADD = "(add)"
USE = "use:"
PROPOSED = "(proposed)"
OWN_SERVER = "(own)"
MOST_MODELS = 12  # of one server on this machine


class ModelPicker(Picker):
    heading = "model of this session"
    verb = "uses it"

    def __init__(self, at_hand: PromptSources, chosen: str) -> None:
        super().__init__()
        self._at_hand = at_hand
        self._chosen = chosen  # the one that /model named; empty if the model mode chooses

    async def rows(self) -> list[PickRow]:
        models = await asyncio.to_thread(self._at_hand.models)
        auto = PickRow(
            AUTO,
            (AUTO, "chosen by model mode", ""),
            "The model mode chooses the model, by [routing] in your settings.",
            here=not self._chosen,
        )
        configured = [
            PickRow(
                model.name,
                (model.name, model.about, " ".join(model.routed)),
                model.problem or (f"routed by {', '.join(model.routed)}" if model.routed else "no model mode uses it"),
                here=model.name == self._chosen,
            )
            for model in models
        ]
        if self._at_hand.setup is None:
            return [auto, *configured]
        offers = await asyncio.to_thread(self._at_hand.setup.offers)
        known = [model.about for model in models]
        found = [row for offer in offers for row in offered(offer, known)]
        adds = PickRow(ADD, ("add a model…", "a provider, or your own server", ""), "asks for the key and the model")
        return [auto, *configured, *found, adds]

    async def note(self) -> str:
        alone = [row.cells[1] for row in (self._rows or ())[1:2]] == ["offline rules"]  # the configured ones are first
        return "No model is configured. Choose one that was found, or add one." if alone else ""


def offered(offer: ModelOffer, known: Sequence[str]) -> list[PickRow]:
    """Rows for what could be connected; what is configured already has a row of its own."""
    if offer.models:
        here = [name for name in offer.models if f"{name}  {offer.base_url}" not in known]
        return [
            PickRow(f"{USE}{offer.name}/{name}", (f"{offer.name}/{name}", "found here", ""), f"connects {offer.words}")
            for name in here[:MOST_MODELS]
        ]
    if any(about.endswith(offer.base_url) for about in known):
        return []
    return [PickRow(f"{USE}{offer.name}", (offer.name, f"found: {offer.how}", ""), f"connects {offer.words}")]


class PresetPicker(Picker):
    heading = "add a model"
    verb = "continues"

    def __init__(self, shown: Sequence[PresetChoice]) -> None:
        super().__init__()
        self._presets = shown

    async def rows(self) -> list[PickRow]:
        shown = [PickRow(one.name, (one.name, one.title, one.about), one.needs) for one in self._presets]
        return [*shown, PickRow(OWN_SERVER, ("your own server…", "by its address", ""), "asks for the address")]


class ListedPicker(Picker):
    """The models that a provider lists."""

    heading: ClassVar[str] = "models there"
    verb = "connects it"

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names

    async def rows(self) -> list[PickRow]:
        proposed = PickRow(PROPOSED, ("as proposed", "one each for fast, smart and deep"), "the newest of each kind")
        return [proposed, *(PickRow(name, (name, "")) for name in self._names)]


class Connecting:
    """Carries a choice out, and says on the screen what happens."""

    def __init__(self, ui: KeyedUi, setup: ModelSetup) -> None:
        self._ui = ui
        self._setup = setup

    async def first(self, offers: Sequence[ModelOffer]) -> None:
        """Ask which of what was found is to be used, and use it."""
        few = offers[:9]
        choices = [Choice(str(number), f"use {offer.title}") for number, offer in enumerate(few, 1)]
        asked = AskScreen(
            "model",
            "No model is configured. Found here:",
            [*choices, Choice("n", "continue with the offline rules")],
            [f"  {number}  {offer.words}" for number, offer in enumerate(few, 1)],
        )
        answer = await self._ui.push_screen_wait(asked)
        if answer == "n":
            await asyncio.to_thread(self._setup.decline, [offer.name for offer in offers])
            return
        await self.use(few[int(answer) - 1].name)
        if self._ui.context.settings.routing.smart == "builtin":
            self._ui.note("The session continues with the offline rules.", "dim")

    async def use(self, name: str, model: str = "", key: str = "") -> None:
        """Connect a provider, and take the session up again with it."""
        ui, here = self._ui, self._ui.session
        try:
            said = await self._setup.connect(name, model, key, tell=self._tell)
            settings = self._setup.settings()
        except QuintetError as error:
            ui.note(str(error), "error")
            return
        self._take(settings)
        if here is None or ui.state.busy or not here.owned_here:
            ui.note("\n".join([*said, "It is used from the next start of this session."]), "success")
            return
        await ui.attach(here.id)
        ui.note("\n".join(said), "success")

    async def add(self) -> None:
        """The dialogue: which provider, its key, which model."""
        shown = await asyncio.to_thread(self._setup.presets)
        picked = await self._ui.push_screen_wait(PresetPicker(shown))
        if picked and picked.id == OWN_SERVER:
            about = "Its address, up to and including /v1: http://HOST:PORT/v1"
            if address := await self._ui.push_screen_wait(AskText("your own server", about)):
                await self._chosen(address if "://" in address else f"http://{address}", "", address)
            return
        preset = next((one for one in shown if picked and one.name == picked.id), None)
        if preset is None:
            return
        key = ""
        if preset.asks_key:
            about = f"Sends your key to {preset.host}.\nThe key is stored with your secrets, never in a project's file."
            key = await self._ui.push_screen_wait(AskText(f"key for {preset.title}", about, hidden=True))
            if not key:
                return
        await self._chosen(preset.name, key, preset.title)

    async def _chosen(self, name: str, key: str, title: str) -> None:
        """Which model of a provider, and connect it."""
        try:
            names, host = await self._setup.models(name, key)
        except QuintetError as error:
            self._ui.note(str(error), "error")
            return
        if names:
            chosen = await self._ui.push_screen_wait(ListedPicker(names))
            if chosen is None:
                return
            model = "" if chosen.id == PROPOSED else chosen.id
        else:
            about = f"The model's name at {host or title}; leave empty for the usual models."
            model = await self._ui.push_screen_wait(AskText("model", about))
        await self.use(name, model, key)

    def _take(self, settings: Settings) -> None:
        self._ui.context.settings = settings
        self._ui.query_one(StatusLine).use_settings(settings)

    def _tell(self, text: str) -> None:
        self._ui.query_one(StatusLine).say(text)
