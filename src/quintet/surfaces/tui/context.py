"""What the screen is told about the place it is opened in, and the few things it may ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from quintet.domain.ports.prompt import AtHand
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import UnderWay
from quintet.engine.session.session import Session


async def _no_branch() -> str:
    return ""


class TuiContext(Struct):
    name: str  # the project's
    root: str
    sandbox: str
    settings: Settings
    open: Callable[[str], AbstractAsyncContextManager[Session]]  # a session by its id; what was asked for if empty
    theme: str = "dark"
    branch: Callable[[], Awaitable[str]] = _no_branch  # of the repository, with a star where something is changed
    found: Callable[[], list[str]] = list  # what on this machine could answer as a model
    first_time: Callable[[], bool] = lambda: False  # whether nobody has been welcomed yet; asked once
    tour: tuple[str, ...] = ()  # the command that shows it
    under_way: Callable[[], UnderWay] = UnderWay  # what is stored of the project's work
    at_hand: AtHand | None = None  # files, past inputs and the like for the prompt and the pickers
    trust_question: str = ""  # to be answered before anything is opened
    trust_listed: tuple[str, ...] = ()  # the pieces it is about
    trust_changed: tuple[str, ...] = ()  # and how they have changed
    decide_trust: Callable[[bool], None] = lambda trusted: None
    log_crash: Callable[[BaseException], None] = lambda error: None
