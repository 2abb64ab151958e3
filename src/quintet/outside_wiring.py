"""What a session's tools reach outside with, beside files and processes: models, the library, the web and the forge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quintet.adapters.local_deployments import LocalDeployments
from quintet.adapters.local_library import LocalLibrary
from quintet.adapters.places import Places
from quintet.adapters.routed_models import RoutedModels
from quintet.domain.ports import Model
from quintet.domain.settings import Settings
from quintet.models import Models
from quintet.web_wiring import make_forge, make_web


class Outside:
    """`page` gives a prompt by its name, `model` stands in for every configured model."""

    def __init__(
        self, places: Places, settings: Settings, page: Callable[[str], str], model: Model | None = None
    ) -> None:
        self._models = Models(settings)
        self.get_model: Callable[[str], Model] = (lambda name: model) if model else self._models.get
        self._library = LocalLibrary(places.library, settings)
        self._web = make_web(settings)
        self.forge = make_forge(settings)
        self._advisers = RoutedModels(self.get_model, settings, page)
        self._deployments = LocalDeployments(settings.deploy)

    def at_hand(self) -> dict[str, Any]:
        """Fields of the workbench."""
        return {
            "library": self._library,
            "web": self._web,
            "forge": self.forge,
            "advisers": self._advisers,
            "deployments": self._deployments,
        }

    async def close(self) -> None:
        await self._library.close()
        await self._models.close()
