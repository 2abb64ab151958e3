"""What the screen is told about the place it is opened in, and the few things it may ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from quintet.domain.prompt_ports import AtHand
from quintet.domain.settings import Settings
from quintet.engine.session import Session


async def _no_branch() -> str:
    return ""


class Surroundings(Struct):
    name: str  # the project's
    root: str
    sandbox: str
    settings: Settings
    open: Callable[[str], AbstractAsyncContextManager[Session]]  # a session by its id; what was asked for if empty
    theme: str = "dark"
    branch: Callable[[], Awaitable[str]] = _no_branch  # of the repository, with a star where something is changed
    found: Callable[[], list[str]] = list  # what on this machine could answer as a model
    at_hand: AtHand | None = None  # files, past inputs and the like for the prompt and the pickers
    trust_question: str = ""  # to be answered before anything is opened
    decide_trust: Callable[[bool], None] = lambda trusted: None
