"""What a session's tools reach outside with, beside files and processes: models, library, web, forge and browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quintet.adapters.browser.local_browser import LocalBrowser
from quintet.adapters.local_deployments import LocalDeployments
from quintet.adapters.local_library import LocalLibrary
from quintet.adapters.places import Places
from quintet.adapters.routed_models import RoutedModels
from quintet.domain.ports import Files, Model
from quintet.domain.settings import Settings
from quintet.models import Models
from quintet.web_wiring import make_forge, make_web


class Outside:
    """`page` gives a prompt by its name, `model` stands in for every configured model.

    `own_code` says whether code of the project may run freely.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings,
        files: Files,
        page: Callable[[str], str],
        model: Model | None = None,
        *,
        own_code: bool = False,
    ) -> None:
        self._models = Models(settings)
        self.get_model: Callable[[str], Model] = (lambda name: model) if model else self._models.get
        self._library = LocalLibrary(places.library, settings)
        self._web = make_web(settings)
        self.forge = make_forge(settings)
        self._advisers = RoutedModels(self.get_model, settings, page)
        self._deployments = LocalDeployments(settings.deploy)
        self._browser = LocalBrowser(files, places.outputs, settings, own_code=own_code)

    def at_hand(self) -> dict[str, Any]:
        """Fields of the workbench."""
        return {
            "library": self._library,
            "web": self._web,
            "forge": self.forge,
            "advisers": self._advisers,
            "deployments": self._deployments,
            "browser": self._browser,
        }

    async def close(self) -> None:
        await self._browser.close()
        await self._library.close()
        await self._models.close()
