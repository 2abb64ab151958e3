"""What a session holds of its features: opened when first asked for, closed with the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import LoadedSettings
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.permission.gate import Terms
from quintet.domain.settings.settings import Settings
from quintet.engine.commands.table import known
from quintet.engine.session.core import FeatureCommands
from quintet.features.feature import Feature
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


class Checkup(Struct, frozen=True):
    """What a feature's check looks at."""

    places: Places
    loaded: LoadedSettings
    thorough: bool = False  # whether it may read all that is stored

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

    def open_one(self, name: str) -> Any:
        """What was opened under a name; None if it was not asked for yet."""
        return self._open.get(name)

    def opened(self) -> Iterator[tuple[Feature, Any]]:
        """Those that were asked for so far."""
        for name, service in list(self._open.items()):
            yield self._features[name], service

    async def close(self) -> None:
        """Close those that were opened, the last one first."""
        for service in reversed(list(self._open.values())):
            if close := getattr(service, "close", None):
                await close()


COMMAND_SECONDS = 30.0  # that a feature's slash command may take: nothing else is taken from the inbox meanwhile


def feature_commands(opening: Opening) -> FeatureCommands:
    """The slash commands of features. Whatever one raises is told as its answer; the session goes on."""
    found = {one.name: (feature, one) for feature in features() for one in feature.slash if not known(one.name)}

    begins = next((name for name, (_, one) in found.items() if one.begins), "")

    async def run(name: str, words: tuple[str, ...]) -> str:
        feature, command = found[name]
        return await carried_out(name, feature, feature.load(command.run)(opening, words))

    async def start(name: str, words: tuple[str, ...]) -> str:
        feature, command = found[begins]
        return await carried_out(name, feature, feature.load(command.run)(opening, name, words))

    def more() -> tuple[CommandUsage, ...]:
        if not begins:
            return ()
        feature, _ = found[begins]
        service = opening.services.open_one(feature.name) if isinstance(opening.services, Services) else None
        return tuple(service.commands()) if service else ()

    async def carried_out(name: str, feature: Feature, running: Awaitable[Any]) -> str:
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                return str(await running)
        except QuintetError as error:
            raise UsageError(f"/{name}: {error.message}", hint=error.hint) from error
        except TimeoutError:
            raise UsageError(f"/{name}: it took more than {COMMAND_SECONDS:g} s and was stopped") from None
        except Exception as error:
            raise UsageError(f"/{name} of {feature.name} failed: {type(error).__name__}: {error}") from error

    usages = tuple(CommandUsage(one.name, one.usage, one.help, one.begins) for _, one in found.values())
    return FeatureCommands(usages, run, start, more)
