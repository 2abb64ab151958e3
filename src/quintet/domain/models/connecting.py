"""What a person is told while a model is connected: what was found, where a key goes, and what to do when it fails."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.errors import (
    ModelAuthFailed,
    ModelBadResponse,
    ModelError,
    ModelHttpError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
)
from quintet.domain.base.wording import few, nearest
from quintet.domain.models.presets import Preset, ProposedModels, host_of, is_loopback

MOST_NAMED = 5


class ModelOffer(Struct, frozen=True):
    """A model that could be used at once: its key or its server is here."""

    name: str  # what `quintet models use` takes
    title: str
    how: str  # what gave it away
    base_url: str = ""
    key: bool = False  # a key is sent there
    models: tuple[str, ...] = ()  # of a server on this machine

    @property
    def command(self) -> str:
        return f"quintet models use {self.name}"

    @property
    def words(self) -> str:
        sent = f"; {sends(self.base_url, key=True)}" if self.key else ""
        return f"{self.title}: {self.how}{sent}"


def sends(base_url: str, *, key: bool) -> str:
    """Said before anything goes there."""
    host = host_of(base_url)
    if key:
        return f"sends your key to {host}"
    return f"sends a request to {host}, on this machine" if is_loopback(base_url) else f"sends a request to {host}"


def no_key(preset: Preset) -> str:
    """What to do where a provider's key is nowhere."""
    variable = preset.keys[0] if preset.keys else ""
    return (
        f"Export it: export {variable}=…   or store it with Quintet: quintet models use {preset.name} "
        "--key-stdin < FILE   or name a command that prints it: --key-command '…'"
    )


def chosen(choice: ProposedModels) -> str:
    """The models of a choice, as a line: those that are the same are said once."""
    if choice.fast == choice.smart == choice.deep:
        return f"{choice.smart} for fast, smart and deep"
    return f"fast {choice.fast} · smart {choice.smart} · deep {choice.deep}"


def unknown_model(preset: Preset, model: str, listed: Sequence[str]) -> str:
    """What to do where a provider does not know a model."""
    close = nearest(model, listed, most=MOST_NAMED) or [name for name in listed if model.lower() in name.lower()]
    if close:
        return f"Did you mean {few(close, MOST_NAMED)}?"
    if preset.name == "ollama":
        here = f" Here: {few(listed, MOST_NAMED)}." if listed else ""
        return f"Get it with `ollama pull {model}`.{here}"
    return f"It has {few(listed, MOST_NAMED)}." if listed else f"See the names of its models at {preset.account}."


def advice(
    preset: Preset, error: ModelError, *, base_url: str, key_from: str, model: str, listed: Sequence[str]
) -> str:
    """What to do about a provider's refusal, for somebody who has no settings to look into yet."""
    host, where = host_of(base_url), preset.account or preset.title
    address = f"{preset.urls[0]} or --base-url" if preset.urls else "--base-url"
    status = error.status if isinstance(error, ModelHttpError) else 0
    if isinstance(error, ModelAuthFailed):
        if not key_from:
            return f"{host} needs a key. {no_key(preset)}"
        return f"{host} refuses the key from {key_from}. Make a new one at {where}, then try again."
    if isinstance(error, ModelRateLimited) or status == 402:
        spent = status == 402 or not error.retryable
        todo = f"Add credit at {where}" if spent else f"Wait a moment, or check your limits at {where}"
        return f"{todo}, or use another model. The key itself is valid."
    if status in (400, 404) and model:
        return unknown_model(preset, model, listed)
    if isinstance(error, ModelUnreachable | ModelTimeout):
        if preset.local or is_loopback(base_url):
            start = preset.server.starts if preset.server else preset.title
            return f"Start the server ({start}), or give its address: {address}."
        return f"Check your network and the proxy variables, or give its address: {address}."
    if isinstance(error, ModelBadResponse) or 300 <= status < 400 or status in (404, 405):
        return f"Something else answers at {host}: a sign-in page, a proxy or another server. Check {address}."
    return "Try again later, or use another model."
