"""What a session holds of its features: opened when first asked for, closed with the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import LoadedSettings
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.dials.axes import Surface
from quintet.domain.helpers.bounds import Bounds, no_bounds
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.memory.remarks import Remark
from quintet.domain.memory.shown import Lesson, RewoundLesson, RunShown
from quintet.domain.permission.gate import Terms
from quintet.domain.ports.offers import SkillNames
from quintet.domain.settings.settings import Settings
from quintet.domain.skills.use import BegunBySkill
from quintet.engine.commands.table import known
from quintet.engine.session.core import FeatureCommands
from quintet.features.feature import Feature
from quintet.features.registry import LESSONS, RECALL, SESSION, SKILL_NAMES, features, offering

if TYPE_CHECKING:
    from quintet.app.session_orders import NestedOrder
    from quintet.engine.session.session import Session


Nest = Callable[["NestedOrder"], AbstractAsyncContextManager["Session"]]


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
    attach: Callable[[Surface], Session]  # to the session that this process owns, as a surface of its own is
    bounds: Callable[[], Bounds | None]  # what this session may do at most, if it is a helper's
    nest: Nest  # opens a helper's session in this process

    @property
    def settings(self) -> Settings:
        return self.loaded.settings


def _nobody(surface: Surface) -> Session:
    raise UsageError("there is no session here")


def _no_nest(order: NestedOrder) -> AbstractAsyncContextManager[Session]:
    raise UsageError("no session can be opened here")


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
        bounds: Callable[[], Bounds | None] = no_bounds,
        nest: Nest = _no_nest,
    ) -> None:
        self.opening = Opening(
            places, loaded, terms, files, processes, containment, vault, self, self._attach, bounds, nest
        )
        self._features = {feature.name: feature for feature in features() if feature.service}
        self._open: dict[str, Any] = {}
        self._attached: Callable[[Surface], Session] = _nobody

    def served(self, attached: Callable[[Surface], Session], *, nested: bool = False) -> None:
        """The session has its owner: what features open with it is opened, where something is set in their tables.

        A nested one tells nobody but its parent.
        """
        self._attached = attached
        for feature in () if nested else features():
            begin = feature.offers.get(SESSION)
            if begin and any(table in self.opening.settings.features for table in feature.settings):
                feature.load(begin)(self.opening)

    def _attach(self, surface: Surface) -> Session:
        return self._attached(surface)

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


class Recollections:
    """What features know that fits an input, each within its share. What one raises does not reach the turn."""

    def __init__(self, opening: Opening, crashed: Callable[[BaseException], None]) -> None:
        self._opening = opening
        self._crashed = crashed
        self._makers = [(one, one.offers[RECALL]) for one in features() if RECALL in one.offers]

    async def relevant(self, text: str, budget: int) -> tuple[Remark, ...]:
        found: list[Remark] = []
        for place, (feature, name) in enumerate(self._makers):
            left = budget - sum(len(one.line.encode()) + 1 for one in found)
            share = left // (len(self._makers) - place)
            try:
                found += await feature.load(name)(self._opening).relevant(text, share)
            except Exception as error:  # its own code
                self._crashed(error)
        return tuple(found)


class KeptLessons:
    """What features keep of a run. What one raises does not reach the turn."""

    def __init__(self, opening: Opening, crashed: Callable[[BaseException], None]) -> None:
        self._opening = opening
        self._crashed = crashed

    async def learn(self, shown: RunShown) -> tuple[Lesson, ...]:
        found: list[Lesson] = []
        for feature in features():
            if LESSONS in feature.offers:
                try:
                    found += await feature.load(feature.offers[LESSONS])(self._opening).learn(shown)
                except Exception as error:  # its own code
                    self._crashed(error)
        return tuple(found)

    async def rewound(self, taken: Sequence[str], given: Sequence[str]) -> tuple[RewoundLesson, ...]:
        left: list[RewoundLesson] = []
        for feature in features():
            if LESSONS in feature.offers:
                try:
                    left += await feature.load(feature.offers[LESSONS])(self._opening).rewound(taken, given)
                except Exception as error:  # its own code
                    self._crashed(error)
        return tuple(left)


COMMAND_SECONDS = 30.0  # that a feature's slash command may take: nothing else is taken from the inbox meanwhile


def feature_commands(opening: Opening) -> FeatureCommands:
    """The slash commands of features. Whatever one raises is told as its answer; the session goes on."""
    found = {one.name: (feature, one) for feature in features() for one in feature.slash if not known(one.name)}

    naming: tuple[Callable[[Opening], SkillNames], ...] = offering(SKILL_NAMES)
    begins = next((name for name, (_, one) in found.items() if one.begins), "")

    async def run(name: str, words: tuple[str, ...]) -> str:
        feature, command = found[name]
        return str(await carried_out(name, feature.name, feature.load(command.run)(opening, words)))

    async def start(name: str, words: tuple[str, ...]) -> str:
        feature, command = found[begins]
        return str(await carried_out(name, feature.name, feature.load(command.run)(opening, name, words)))

    def more() -> tuple[CommandUsage, ...]:
        skills = naming[0](opening).usages() if naming else ()
        if not begins:
            return tuple(skills)
        feature, _ = found[begins]
        service = opening.services.open_one(feature.name) if isinstance(opening.services, Services) else None
        return (*skills, *(service.commands() if service else ()))

    def named(name: str) -> CommandUsage | None:
        return naming[0](opening).usage(name) if naming else None

    async def use(name: str, text: str) -> BegunBySkill:
        begun: BegunBySkill = await carried_out(name, "skills", naming[0](opening).begin(name, text))
        return begun

    async def carried_out(name: str, feature: str, running: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                return await running
        except QuintetError as error:
            raise UsageError(f"/{name}: {error.message}", hint=error.hint) from error
        except TimeoutError:
            raise UsageError(f"/{name}: it took more than {COMMAND_SECONDS:g} s and was stopped") from None
        except Exception as error:
            raise UsageError(f"/{name} of {feature} failed: {type(error).__name__}: {error}") from error

    usages = tuple(CommandUsage(one.name, one.usage, one.help, one.begins, one.own_flags) for _, one in found.values())
    return FeatureCommands(usages, run, start, more, named, use)
