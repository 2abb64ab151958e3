"""What a session reaches outside with, beside files and processes: models, library, web, forge, secrets, browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quintet.adapters.files.paths import Places
from quintet.adapters.models.redacted import RedactedModel
from quintet.adapters.models.registry import Models, RoutedModels
from quintet.adapters.secrets.vault import Vault
from quintet.app.web_wiring import make_forge, make_web
from quintet.domain.ports.ports import Files, Model
from quintet.domain.settings.settings import Settings
from quintet.features.browser.browser import LocalBrowser
from quintet.features.deploy.local import LocalDeployments
from quintet.features.library.library import LocalLibrary


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
        self.vault = Vault(places, settings)
        self._models = Models(settings)
        self._get: Callable[[str], Model] = (lambda name: model) if model else self._models.get
        self._told: dict[str, Model] = {}
        self._library = LocalLibrary(places.library, settings, self.vault.text)
        self._web = make_web(settings)
        self.forge = make_forge(settings, self.vault.learn)
        self._advisers = RoutedModels(self.get_model, settings, page)
        self._deployments = LocalDeployments(settings.deploy)
        self._browser = LocalBrowser(files, places.outputs, settings, own_code=own_code, served=self._deployments.ports)

    def get_model(self, name: str) -> Model:
        """A model by its name, which is told no secrets."""
        if name not in self._told:
            self._told[name] = RedactedModel(self._get(name), self.vault)
        return self._told[name]

    def at_hand(self) -> dict[str, Any]:
        """Fields of the workbench."""
        return {
            "library": self._library,
            "web": self._web,
            "forge": self.forge,
            "secrets": self.vault,
            "advisers": self._advisers,
            "deployments": self._deployments,
            "browser": self._browser,
        }

    async def close(self) -> None:
        await self._browser.close()
        await self._library.close()
        await self._models.close()
