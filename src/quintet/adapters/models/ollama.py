"""What an Ollama server says of its models beyond the list: how much of a conversation it holds, tools, sight.

Asked are `/api/ps`, which knows what a model is loaded with, and `/api/show`, which knows the model. Each is quick and
bounded; a server that is none, or says nothing, leaves things as they are.
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct, structs

from quintet.adapters.files.loose_json import as_count, as_dict, as_list, as_text
from quintet.adapters.models.discovery import address_of, ask
from quintet.domain.models.presets import BY_NAME, is_loopback
from quintet.domain.settings.settings import ROUTES, Settings

SECONDS, ELSEWHERE_SECONDS = 1.0, 3.0
PRESET = BY_NAME["ollama"]


class LocalModelFacts(Struct, frozen=True):
    """0 and None are what the server does not say."""

    window: int = 0  # tokens that it holds of a conversation
    tools: bool | None = None
    vision: bool | None = None

    @property
    def table(self) -> dict[str, Any]:
        """How [models.NAME] says it."""
        said = {"context_window": self.window or None, "vision": self.vision}
        return {name: value for name, value in said.items() if value is not None}


def model_facts(base_url: str, model: str, key: str = "") -> LocalModelFacts:
    """What the server at `base_url` says of a model."""
    root = base_url.rstrip("/").removesuffix("/v1")
    seconds = SECONDS if is_loopback(base_url) else ELSEWHERE_SECONDS
    shown = as_dict(ask(root, "/api/show", seconds, {"model": model}, key))
    if not shown:
        return LocalModelFacts()
    able = shown.get("capabilities")
    words = {as_text(word) for word in as_list(able)} if isinstance(able, list) else None
    return LocalModelFacts(
        _loaded(root, model, seconds, key) or _parameter(shown) or _trained(shown),
        None if words is None else "tools" in words,
        None if words is None else "vision" in words,
    )


def is_usual(base_url: str) -> bool:
    """Whether Ollama is expected at an address: where it usually is on this machine, or where OLLAMA_HOST says."""
    return is_loopback(base_url) and base_url.rstrip("/") == address_of(PRESET, os.environ).rstrip("/")


def filled(settings: Settings) -> Settings:
    """Settings whose routed models of an Ollama here hold what it says of them, where the user has not said it."""
    asked = {
        name: model
        for name in {settings.routing.model(use) for use in ROUTES}
        if (model := settings.models.get(name)) and not model.context_window and is_usual(model.base_url)
    }
    more = {name: model_facts(model.base_url, model.model).table for name, model in asked.items()}
    known = {name: {k: v for k, v in table.items() if not getattr(asked[name], k)} for name, table in more.items()}
    if not any(known.values()):
        return settings
    models = {name: structs.replace(model, **known.get(name, {})) for name, model in settings.models.items()}
    return structs.replace(settings, models=models)


def _loaded(root: str, model: str, seconds: float, key: str) -> int:
    """Tokens that a model holds as it is loaded now, which may be far fewer than it could."""
    rows = map(as_dict, as_list(as_dict(ask(root, "/api/ps", seconds, None, key)).get("models")))
    names = (model, f"{model}:latest")
    return next((as_count(row.get("context_length")) for row in rows if as_text(row.get("name")) in names), 0)


def _parameter(shown: dict[str, Any]) -> int:
    """`num_ctx` among the parameters of its Modelfile."""
    for line in as_text(shown.get("parameters")).splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal():
            return int(words[1])
    return 0


def _trained(shown: dict[str, Any]) -> int:
    """What the model was made to read."""
    facts = as_dict(shown.get("model_info"))
    return max((as_count(value) for name, value in facts.items() if name.endswith(".context_length")), default=0)
