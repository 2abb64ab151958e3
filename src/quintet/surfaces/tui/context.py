"""What the screen knows about the place where it is opened, and the few things it may ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from quintet.domain.ports.prompt import PromptSources
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import UnderWay
from quintet.engine.session.session import Session


async def _no_branch() -> str:
    return ""


class TrustAsked(Protocol):
    """The question whether a folder is trusted, to be answered before anything is opened."""

    @property
    def about(self) -> str: ...

    @property
    def listed(self) -> tuple[str, ...]:
        """The pieces it is about."""

    @property
    def changed(self) -> tuple[str, ...]:
        """How they have changed."""

    @property
    def decide(self) -> Callable[[bool], None]: ...


class TuiContext(Struct):
    name: str  # the project's
    sandbox: str
    settings: Settings
    open: Callable[[str], AbstractAsyncContextManager[Session]]  # a session by its id; what was asked for if empty
    theme: str = "dark"
    branch: Callable[[], Awaitable[str]] = _no_branch  # of the repository, with a star where something is changed
    found: Callable[[], list[str]] = list  # what on this machine could answer as a model
    first_time: Callable[[], bool] = lambda: False  # whether nobody has been welcomed yet; asked once
    tour: tuple[str, ...] = ()  # the command that shows it
    under_way: Callable[[], UnderWay] = UnderWay  # what is stored of the project's work
    at_hand: PromptSources | None = None  # files, past inputs and the like for the prompt and the pickers
    trust: TrustAsked | None = None
    at_terminal: bool = False  # keys come from this process's own terminal
    first: str = ""  # the input that the session begins with, if it was opened with one
    log_crash: Callable[[BaseException], None] = lambda error: None
