"""Models by their name in the settings: which adapter speaks to which, made when it is first asked."""

from __future__ import annotations

import os

from quintet.domain.base.errors import SettingsError
from quintet.domain.ports.ports import Model
from quintet.domain.settings.settings import REPLAYED, Settings


class Models:
    """Models by their name in the settings, made when first used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, Model] = {}

    def get(self, name: str) -> Model:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def close(self) -> None:
        for model in self._made.values():
            await model.close()

    def _make(self, name: str) -> Model:
        if name == "builtin":
            from quintet.adapters.models.discovery import found_here
            from quintet.adapters.offline_rules.model import OfflineRules

            return OfflineRules(found_here)
        if name.startswith(REPLAYED):
            from quintet.adapters.models.replayed import ReplayedModel

            return ReplayedModel(name.removeprefix(REPLAYED))
        configured = self._settings.models[name]
        key = os.environ.get(configured.api_key_env, "") if configured.api_key_env else ""
        if configured.api_key_env and not key:
            raise SettingsError(
                f"models.{name}: the variable {configured.api_key_env} is not set",
                hint="Export the key, then try again.",
            )
        if configured.wire == "anthropic":
            from quintet.adapters.models.anthropic import AnthropicMessages

            return AnthropicMessages(configured, key, name)
        if configured.wire == "pydantic-ai":
            from quintet.adapters.models.pydantic_ai import OtherProvider

            return OtherProvider(configured, key, name)
        from quintet.adapters.models.chat_completions import ChatCompletions

        return ChatCompletions(configured, key, name)
