"""Connecting a model line by line: the offer where nothing is configured, and the guided dialogue of `models add`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers
from quintet.app.model_setup import ConnectedModels, LocalModelSetup, WantedModel, connect, look, reach
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.models import connecting, presets
from quintet.domain.models.presets import Preset, host_of
from quintet.surfaces.tables import say, table
from quintet.surfaces.typed_line import typed_key, typed_line, typed_unseen

MOST_OFFERED = 9
MOST_LISTED = 40


async def offer_model(path: str, flags: Mapping[str, Any]) -> None:
    """Where no model is configured and one could be: offer it, one key for each. A no is remembered."""
    places = locate(path)
    if layers.load(places, flags).settings.routing.smart != "builtin":
        return
    setup = LocalModelSetup(places)
    offers = (await asyncio.to_thread(setup.new_offers))[:MOST_OFFERED]
    if not offers:
        return
    say(["No model is configured. Found here:"])
    say([f"  {number}  {offer.words}" for number, offer in enumerate(offers, 1)])
    which = "1" if len(offers) == 1 else f"1 to {len(offers)}"
    asked = f"Press {which} to use it; any other key continues with the offline rules. "
    key = typed_key(asked)
    if not (key.isdecimal() and 1 <= int(key) <= len(offers)):
        setup.decline([offer.name for offer in offers])
        say(["Offline rules. `quintet models` shows this again."])
        return
    try:
        say((await connect(places, WantedModel(presets.find(offers[int(key) - 1].name)), tell)).lines)
    except QuintetError as error:
        say([*str(error).split("\n"), "The session continues with the offline rules."])


def tell(text: str) -> None:
    """What is about to happen, at once."""
    say([f"  {text}"])
    sys.stdout.flush()


async def guided(places: Places, wanted: WantedModel | None = None) -> ConnectedModels:
    """Ask for what is not known yet: the provider, the key, the model, and whether it is to be used."""
    wanted = wanted or WantedModel(_asked_preset())
    wanted = with_key(wanted)
    try:
        reached = reach(wanted)
        tell(connecting.sends(reached.base_url, key=bool(reached.key)))
        listed = [model.id for model in await look(wanted, reached)]
    except UsageError as error:
        raise UsageError(error.message, hint=error.hint) from None
    if not wanted.model:
        wanted = structs.replace(wanted, model=_asked_model(wanted.preset, listed))
    return await connect(places, wanted)


def with_key(wanted: WantedModel) -> WantedModel:
    """With a key that is typed now, where one is needed and none is found."""
    try:
        reach(wanted)
        return wanted
    except UsageError:
        if wanted.key or wanted.key_command or wanted.key_env or not wanted.preset.key_needed:
            raise
    base_url = presets.base_url_of(wanted.preset, os.environ, wanted.base_url, wanted.region, wanted.resource)
    key = typed_unseen(
        f"Key for {wanted.preset.title} (stored with your secrets, sent to {host_of(base_url)}): "
    ).strip()
    if not key:
        raise UsageError("no key was typed", hint=connecting.no_key(wanted.preset))
    return structs.replace(wanted, key=key)


def _asked_preset() -> Preset:
    rows = [(str(number), one.name, one.title, one.needs) for number, one in enumerate(presets.PRESETS, 1)]
    say(table(rows))
    answer = typed_line("Which one? Number, name, or the address of your own server (http://HOST:PORT/v1): ")
    known = presets.PRESETS
    return known[int(answer) - 1] if answer.isdecimal() and 1 <= int(answer) <= len(known) else presets.find(answer)


def _asked_model(preset: Preset, listed: Sequence[str]) -> str:
    if not listed:
        return typed_line("Model name at the provider (empty for a suggestion): ")
    shown = listed[:MOST_LISTED]
    say([f"  {number:>3}  {visible(name)}" for number, name in enumerate(shown, 1)])
    if len(listed) > len(shown):
        say([f"  … {len(listed) - len(shown)} more; you can name any of them"])
    answer = typed_line("Which one? Number or name; empty for a suggestion for fast, smart and deep: ")
    return shown[int(answer) - 1] if answer.isdecimal() and 1 <= int(answer) <= len(shown) else answer
