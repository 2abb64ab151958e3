"""Connects a model: finds its key, asks the provider what it has, tries it, and only then writes the user's settings.

Nothing is written unless everything went well: neither the key nor the settings.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.models import discovery, ollama, setup_state
from quintet.adapters.models.keys import Key
from quintet.adapters.models.model_list import listed_models
from quintet.adapters.models.registry import make_model
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.secrets import store
from quintet.adapters.secrets.model_keys import kept_key
from quintet.adapters.settings import layers
from quintet.adapters.settings.file import UserSettings
from quintet.adapters.settings.model_tables import check_name, put_models
from quintet.domain.base.errors import (
    ModelAuthFailed,
    ModelBadResponse,
    ModelError,
    ModelHttpError,
    QuintetError,
    UsageError,
)
from quintet.domain.models import connecting, presets
from quintet.domain.models.connecting import ModelOffer
from quintet.domain.models.presets import MODEL_MODES, ListedModel, Preset, ProposedModels
from quintet.domain.ports.ports import Model
from quintet.domain.ports.prompt import PresetChoice
from quintet.domain.settings.settings import ModelSettings, Settings
from quintet.domain.turn.messages import EndPart, Message, Request, Role, Usage

QUESTION = "Answer with the single word: ok"
SUFFIX = {"smart": "", "fast": "-fast", "deep": "-deep"}
Tell = Callable[[str], None]


class WantedModel(Struct, frozen=True):
    """What somebody wants to connect. `key` was typed or piped in, and is kept among the user's secrets."""

    preset: Preset
    model: str = ""  # one for every model mode; empty for a proposal
    name: str = ""  # in the settings; the preset's if empty
    base_url: str = ""
    region: str = ""
    resource: str = ""
    key: str = ""
    key_env: str = ""
    key_command: str = ""
    key_place: str = "auto"  # or file, or keyring
    test: bool = True
    routes: tuple[str, ...] = MODEL_MODES


class Reached(Struct, frozen=True):
    """Where a provider is, with the key for it."""

    base_url: str
    key: str = ""
    key_from: str = ""  # for a person
    table: dict[str, str] = {}  # how the settings say it


class ConnectedModels(Struct, frozen=True):
    """What was written, for a person and for a script."""

    names: dict[str, str]  # table → model
    routing: dict[str, str]  # model mode → table
    settings: str
    host: str
    key: str  # where it is from
    tests: list[dict[str, Any]]
    notes: list[str]

    @property
    def lines(self) -> list[str]:
        width = max(map(len, self.names))
        by = {name: [use for use, routed in self.routing.items() if routed == name] for name in self.names}
        seconds = {one["name"]: f"answered in {one['seconds']:.1f} s" for one in self.tests if one["ok"]}
        rows = [
            f"  {name:<{width}}  {model}  {' '.join(by[name]) or 'not routed'}  {seconds.get(name, 'not tested')}"
            for name, model in self.names.items()
        ]
        key = f"Key: {self.key}." if self.key else "No key."
        return [*self.notes, f"Connected {self.host}. {key} Written to {self.settings}:", *rows]


def reach(wanted: WantedModel) -> Reached:
    """Where the provider is, and its key; UsageError where something is missing, with what to do."""
    preset = wanted.preset
    base_url = presets.base_url_of(preset, os.environ, wanted.base_url, wanted.region, wanted.resource)
    if wanted.key:
        variable = wanted.key_env or (preset.keys[0] if preset.keys else f"{preset.name.upper()}_API_KEY")
        return Reached(base_url, wanted.key.strip(), "what you typed", {"api_key_env": variable})
    if wanted.key_command:
        key = _printed(wanted.key_command)
        return Reached(base_url, key, wanted.key_command, {"api_key_command": wanted.key_command})
    for variable in (wanted.key_env,) if wanted.key_env else preset.keys:
        key, source = kept_key(variable)
        if key:
            return Reached(base_url, key, source, {"api_key_env": variable})
    if wanted.key_env:
        raise UsageError(f"the variable {wanted.key_env} is not set", hint=f"Export it: export {wanted.key_env}=…")
    if preset.key_needed:
        raise UsageError(f"No key for {preset.title} was found.", hint=connecting.no_key(preset))
    return Reached(base_url)


def _printed(command: str) -> str:
    """The key that a command prints, whether an event loop runs here or not."""
    key = Key(ModelSettings("", "", api_key_command=command), "NAME")
    with ThreadPoolExecutor(1) as apart:
        try:
            return apart.submit(lambda: asyncio.run(key.value())).result()
        except ModelAuthFailed as error:
            raise UsageError(error.message.replace("models.NAME.api_key_command", "--key-command")) from None


async def look(wanted: WantedModel, reached: Reached) -> list[ListedModel]:
    """The provider's own list; empty where it gives none and a test will tell."""
    preset = wanted.preset
    if not preset.lists:
        return []
    try:
        return await listed_models(reached.base_url, preset.wire, reached.key, preset.name)
    except ModelError as error:
        if isinstance(error, ModelHttpError) and error.status in (404, 405, 501) and not preset.local:
            return []  # a server that has no list
        raise _advised(wanted, reached, error, "", ()) from error


def decide(wanted: WantedModel, listed: Sequence[ListedModel]) -> ProposedModels:
    preset = wanted.preset
    if wanted.model:
        return ProposedModels(wanted.model, wanted.model, wanted.model)
    choice = presets.choose(preset, listed)
    if choice is None:
        if preset.server:
            todo = "ollama pull qwen3-coder" if preset.name == "ollama" else f"load one there ({preset.server.starts})"
            raise UsageError(f"{preset.title} is running, but has no model.", hint=f"Get one first: {todo}")
        raise UsageError(
            f"Name the model: quintet models use {preset.name} MODEL",
            hint=f"{preset.title} needs {preset.needs}." if preset.needs else "",
        )
    return choice


async def connect(places: Places, wanted: WantedModel, tell: Tell = lambda text: None) -> ConnectedModels:
    """All of it. `tell` hears, before anything is sent, where it goes."""
    reached = await asyncio.to_thread(reach, wanted)
    if reached.base_url:
        tell(connecting.sends(reached.base_url, key=bool(reached.key)))
    listed = await look(wanted, reached)
    choice = decide(wanted, listed)
    tables, routing = _tables(wanted, reached, choice, listed)
    tests: list[dict[str, Any]] = []
    notes: list[str] = []
    if wanted.test:
        tell(f"testing {connecting.chosen(choice)}")
        tests, errors = await _tried(tables, reached.key)
        base = wanted.name or wanted.preset.name
        for name, error in errors.items():
            if name == base:
                raise _advised(wanted, reached, error, tables[name]["model"], [model.id for model in listed])
            notes.append(f"{tables[name]['model']} does not answer ({error.message}); {base} is used instead.")
            del tables[name]
            routing = {use: base if routed == name else routed for use, routed in routing.items()}
    elif wanted.model and listed and not presets.has_model(listed, wanted.model):
        close = connecting.unknown_model(wanted.preset, wanted.model, [model.id for model in listed])
        notes.append(f"{wanted.preset.title} does not list {wanted.model}. {close}")
    if wanted.preset.name == ollama.PRESET.name:
        notes += await asyncio.to_thread(_ask_ollama, reached, tables)
    where = await asyncio.to_thread(_written, places, wanted, reached, tables, routing)
    addresses = {name: str(table.get("base_url", "")) for name, table in tables.items()}
    setup_state.keep_tests([one for one in tests if one["name"] in tables], SystemClock().now(), addresses)
    key = where or reached.key_from
    names = {name: str(table["model"]) for name, table in tables.items()}
    routing = await asyncio.to_thread(_routes_to, places, names)
    host = presets.host_of(reached.base_url) or wanted.preset.title
    return ConnectedModels(names, routing, places.user_settings, host, key, tests, notes)


def _tables(
    wanted: WantedModel, reached: Reached, choice: ProposedModels, listed: Sequence[ListedModel]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """[models.NAME] for each model there is, the one for smart first, and the rows of [routing]."""
    base = check_name(wanted.name or wanted.preset.name)
    known = {model.id: model for model in listed}
    tables: dict[str, dict[str, Any]] = {}
    routing: dict[str, str] = {}
    for use in ("smart", "fast", "deep"):
        model = getattr(choice, use)
        name = next((name for name, table in tables.items() if table["model"] == model), f"{base}{SUFFIX[use]}")
        tables[name] = {
            **presets.model_table(wanted.preset, reached.base_url, model),
            **reached.table,
            **(_said(known[model]) if model in known else {}),
        }
        if use in wanted.routes:
            routing[use] = name
    return tables, {use: routing[use] for use in MODEL_MODES if use in routing}


def _ask_ollama(reached: Reached, tables: dict[str, dict[str, Any]]) -> list[str]:
    """Put what the server says of its models into their tables; what a person should know of them."""
    notes = []
    for table in tables.values():
        facts = ollama.model_facts(reached.base_url, table["model"], reached.key)
        table |= facts.table
        if facts.tools is False:
            notes.append(f"{table['model']} cannot call tools: it can answer questions but not change anything.")
    return notes


def _said(model: ListedModel) -> dict[str, Any]:
    """What the provider's list says of a model and the settings have a place for."""
    said = {name: getattr(model, name) for name in ("context_window", "price_input", "price_cached", "price_output")}
    return {name: value for name, value in said.items() if value and name in ModelSettings.__struct_fields__}


async def _tried(tables: dict[str, dict[str, Any]], key: str) -> tuple[list[dict[str, Any]], dict[str, QuintetError]]:
    made = {name: make_model(_model_settings(table), key, name) for name, table in tables.items()}
    try:
        results = await asyncio.gather(*(try_model(model, name) for name, model in made.items()))
    finally:
        for model in made.values():
            await model.close()
    return [row for row, _ in results], {row["name"]: error for row, error in results if error}


def _model_settings(table: dict[str, Any]) -> ModelSettings:
    return ModelSettings(**{"base_url": "", **table})


async def try_model(model: Model, name: str) -> tuple[dict[str, Any], QuintetError | None]:
    """One tiny request, and how it went."""
    began, usage = monotonic(), Usage()
    failed: QuintetError | None = ModelBadResponse("the reply ended before it was complete", hint="try again")
    row: dict[str, Any] = {"name": name, "ok": True, "code": "", "error": "", "hint": ""}
    try:
        async for part in model.stream(Request(model.name, (Message(Role.USER, QUESTION),))):
            if isinstance(part, EndPart):
                usage, failed = part.usage, None
    except QuintetError as error:
        failed = error
    except Exception as error:  # of one model: the others are still to have their rows
        failed = ModelError(f"{type(error).__name__}: {error}", hint=f"check models.{name} in your settings")
    if failed:
        row |= {"ok": False, "code": failed.code, "error": failed.message, "hint": failed.hint}
    counted = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return {**row, "seconds": round(monotonic() - began, 3), **counted}, failed


def _advised(
    wanted: WantedModel, reached: Reached, error: QuintetError, model: str, listed: Sequence[str]
) -> QuintetError:
    """The error with what to do about it now, and that nothing was written."""
    if isinstance(error, ModelError):
        error.hint = connecting.advice(
            wanted.preset, error, base_url=reached.base_url, key_from=reached.key_from, model=model, listed=listed
        )
    error.hint = f"{error.hint} Nothing was written.".strip()
    return error


def _written(
    places: Places,
    wanted: WantedModel,
    reached: Reached,
    tables: dict[str, dict[str, Any]],
    routing: dict[str, str],
) -> str:
    """Keep a typed key, then write the settings; the key goes again where they cannot be written. Where the key is."""
    book = UserSettings(places)
    unset = {use: routing.get(use, "") for use in wanted.routes}
    if routing.get("smart") and set(wanted.routes) == set(MODEL_MODES):  # what is the same follows smart
        unset |= {use: "" for use in ("fast", "deep") if routing.get(use) == routing["smart"]}
    if not wanted.key:
        put_models(book, tables, unset)
        return ""
    variable = reached.table["api_key_env"]
    before, _ = kept_key(variable)
    where = store.keep(places, variable, wanted.key.strip(), wanted.key_place)
    try:
        put_models(book, tables, unset)
    except QuintetError:
        if not before:
            store.forget(places, variable)
        raise
    return "your keyring" if where == "keyring" else where


def _routes_to(places: Places, names: Collection[str]) -> dict[str, str]:
    """Where the settings lead now, also by a route that was there before."""
    settings = layers.load(places).settings
    routed = {use: getattr(settings.routing, use) or settings.routing.smart for use in MODEL_MODES}
    return {use: name for use, name in routed.items() if name in names}


class LocalModelSetup:
    """Port `ModelSetup` over this machine."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def offers(self) -> list[ModelOffer]:
        return discovery.offers()

    def new_offers(self) -> list[ModelOffer]:
        known = setup_state.declined()
        return [offer for offer in discovery.offers() if offer.name not in known]

    def decline(self, names: list[str]) -> None:
        setup_state.decline(names)

    def presets(self) -> list[PresetChoice]:
        shown = []
        for preset in presets.PRESETS:
            source = next((source for name in preset.keys if (source := kept_key(name)[1])), "")
            key = f"key from {source}" if source else "needs a key" if preset.key_needed else "no key"
            asks = preset.key_needed and not source
            shown.append(PresetChoice(preset.name, preset.title, asks, key, preset.needs, discovery.host(preset)))
        return shown

    async def models(self, preset: str, key: str = "") -> tuple[list[str], str]:
        """What the provider has, and where it was asked."""
        wanted = WantedModel(presets.find(preset), key=key)
        reached = await asyncio.to_thread(reach, wanted)
        return [model.id for model in await look(wanted, reached)], presets.host_of(reached.base_url)

    async def connect(self, preset: str, model: str = "", key: str = "", tell: Tell = lambda text: None) -> list[str]:
        done = await connect(self._places, WantedModel(presets.find(preset), model, key=key), tell)
        return done.lines

    def settings(self) -> Settings:
        return layers.load(self._places).settings
