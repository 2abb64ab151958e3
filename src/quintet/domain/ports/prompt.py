"""The ports of whoever types: files to name, what was typed before, the draft, and what there is to choose from.

Only surfaces at which somebody types need them. Calls that are not `async` may take a moment: a surface makes them in a
thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from quintet.domain.models.connecting import ModelOffer
from quintet.domain.settings.settings import Settings


class FileFinder(Protocol):
    def prepare(self) -> None:
        """Get ready, in the background, for a search that may come."""

    async def find(self, query: str, most: int) -> list[str]:
        """The files that a few letters may mean, best first."""

    async def renewed(self) -> bool:
        """Look whether files came or went; whether another search may find others."""


class Drafts(Protocol):
    """What is being written, kept over a crash or a quit. Raises StoreError where it cannot be kept."""

    def save(self, text: str) -> None: ...

    def restore(self) -> str:
        """What was saved last; empty if there is nothing."""

    def clear(self) -> None: ...


class PastInputs(Protocol):
    """What was submitted in this project, oldest first and not without end."""

    def all(self) -> list[str]: ...

    def add(self, text: str) -> None: ...


class SettingChoice(Struct, frozen=True):
    key: str
    value: str  # as it is written in the file; where nothing is, what holds then
    source: str
    about: str
    choices: tuple[str, ...] = ()
    offered: bool = False  # the choices are what this machine has
    own: bool = False  # whether the user's file sets it
    unset: bool = False  # nothing sets it, and it has no value of its own


class SettingsBook(Protocol):
    """Every setting, and the user's own file, which can be changed. Raises SettingsError for what is no value of it."""

    path: str

    def rows(self) -> list[SettingChoice]: ...

    def change(self, key: str, text: str) -> None: ...

    def unset(self, key: str) -> None:
        """Take a setting out of the user's file."""


class ModelChoice(Struct, frozen=True):
    name: str
    about: str
    routed: tuple[str, ...] = ()  # the model modes that use it
    problem: str = ""  # why it would not answer


class PresetChoice(Struct, frozen=True):
    """A provider that can be connected."""

    name: str
    title: str
    asks_key: bool  # it needs one, and there is none yet
    about: str
    needs: str = ""
    host: str = ""  # where its key goes


class ModelSetup(Protocol):
    """What could be a model, and how it becomes one of the user's. Raises QuintetError with what to do."""

    def offers(self) -> list[ModelOffer]:
        """What is here and could be used at once."""

    def new_offers(self) -> list[ModelOffer]:
        """Those of them that nobody has said no to."""

    def decline(self, names: list[str]) -> None:
        """Do not offer these again unasked."""

    def presets(self) -> list[PresetChoice]: ...

    async def models(self, preset: str, key: str = "") -> tuple[list[str], str]:
        """What a provider has, and the host that was asked."""

    async def connect(
        self, preset: str, model: str = "", key: str = "", tell: Callable[[str], None] = lambda text: None
    ) -> list[str]:
        """Try a provider's models and write them into the user's settings; `tell` hears where a key goes, first."""

    def settings(self) -> Settings:
        """The settings as they are now."""


class SessionChoice(Struct, frozen=True):
    id: str
    updated: str
    status: str
    live: bool  # whether a process runs it
    badge: str
    turns: int
    title: str
    by_person: bool = True  # it began at a terminal or in a browser


class AgentChoice(Struct, frozen=True):
    id: str
    title: str
    origin: str


class PromptSources(Struct):
    """What a prompt and its pickers get to know of the project and the user."""

    finder: FileFinder
    drafts: Drafts
    past: PastInputs
    settings: SettingsBook
    models: Callable[[], list[ModelChoice]]
    found_models: Callable[[], list[str]]  # what on this machine could be one
    sessions: Callable[[], list[SessionChoice]]
    agents: Callable[[], list[AgentChoice]]
    fork: Callable[[str], Awaitable[str]]  # a session by its id; the copy's id
    setup: ModelSetup | None = None
    edited: Callable[[str], str] | None = None  # a text in the user's editor, which has the terminal meanwhile
