"""The models of a session: told no secrets, made when first asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from quintet.adapters.models.kept_images import ModelWithImages
from quintet.adapters.models.registry import Models, RedactedModel, RoutedModels
from quintet.adapters.secrets.vault import Vault
from quintet.domain.ports.ports import Model
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.messages import Part, Request

Watch = Callable[[Request], None]  # is told of each request to a model, as it is sent


class SessionModels:
    """`page` gives a prompt by its name, `model` stands in for every configured model, `images` is their folder."""

    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        page: Callable[[str], str],
        model: Model | None = None,
        images: str = "",
        watch: Watch | None = None,
    ) -> None:
        self._images = images
        self._watch = watch
        self._vault = vault
        self._models = Models(settings, vault.learn)
        self._get: Callable[[str], Model] = (lambda name: model) if model else self._models.get
        self._made: dict[str, Model] = {}
        self.advisers = RoutedModels(self.get, settings, page)

    def get(self, name: str) -> Model:
        if name not in self._made:
            model = WatchedModel(self._get(name), self._watch) if self._watch else self._get(name)
            self._made[name] = RedactedModel(ModelWithImages(model, self._images), self._vault)
        return self._made[name]

    async def close(self) -> None:
        await self._models.close()


class WatchedModel:
    def __init__(self, model: Model, watch: Watch) -> None:
        self.name = model.name
        self._model = model
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def stream(self, request: Request) -> AsyncIterator[Part]:
        self._watch(request)
        return self._model.stream(request)

    async def close(self) -> None:
        await self._model.close()
