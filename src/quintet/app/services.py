"""What a session holds of its features: opened when first asked for, closed with the session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import LoadedSettings
from quintet.domain.permission.gate import Terms
from quintet.domain.settings.settings import Settings
from quintet.features.registry import features


class Opening(Struct, frozen=True):
    """What a feature may build its service on."""

    places: Places
    loaded: LoadedSettings
    terms: Terms
    files: ProjectFiles
    processes: LocalProcesses
    containment: Containment
    vault: Vault
    services: Mapping[str, Any]  # of the other features: each may be absent

    @property
    def settings(self) -> Settings:
        return self.loaded.settings


class Services(Mapping[str, Any]):
    """By the name of the feature."""

    def __init__(
        self,
        places: Places,
        loaded: LoadedSettings,
        terms: Terms,
        files: ProjectFiles,
        processes: LocalProcesses,
        containment: Containment,
        vault: Vault,
    ) -> None:
        self.opening = Opening(places, loaded, terms, files, processes, containment, vault, self)
        self._features = {feature.name: feature for feature in features() if feature.service}
        self._open: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._open:
            feature = self._features[name]
            self._open[name] = feature.load(feature.service)(self.opening)
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)

    async def close(self) -> None:
        """Close those that were opened, the last one first."""
        for service in reversed(list(self._open.values())):
            if close := getattr(service, "close", None):
                await close()
