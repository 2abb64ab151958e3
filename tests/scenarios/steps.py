"""A scenario: what a person does, step by step, written once for every surface.

A surface with nobody at it (headless) is not asked. There an `Answer` is what `alone` says, a line or nothing: the flag
of the same choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.adapters.model_server import Reply

CHAT = ("chat", "assisted", "normal", "smart")
DIALS = ("mode", "control", "permission-profile", "model-mode")


@dataclass(frozen=True)
class Say:
    """Type a line and send it: words for the model, or a slash command."""

    text: str
    waits: bool = True  # until control is with the person again, or a question is
    alone: str | None = None  # the line where nobody can be asked; None: the same


@dataclass(frozen=True)
class Turn:
    """Turn a dial to its next value: by its key on the screen, by a flag headless, by its command elsewhere."""

    dial: str
    value: str


@dataclass(frozen=True)
class Answer:
    """Answer the question that waits, by the key of a choice, with words where it takes some."""

    key: str
    alone: str = ""
    words: str = ""


@dataclass(frozen=True)
class Until:
    """Wait for the next event of a kind, since the last step began."""

    kind: str


@dataclass(frozen=True)
class ModelGoesOn:
    """The model gives the answer that it held."""


@dataclass(frozen=True)
class Interrupt:
    """Ctrl+C, while something runs."""


@dataclass(frozen=True)
class Kill:
    """End the process as `kill -9` does, and come back to the session."""


Step = Say | Turn | Answer | Until | ModelGoesOn | Interrupt | Kill


@dataclass(frozen=True)
class Scenario:
    steps: Sequence[Step]
    replies: Sequence[Reply] = ()  # of the model; none: the offline rules are asked
    dials: tuple[str, str, str, str] = CHAT
    settings: str = ""
    clis: bool = False  # AI CLIs are installed, fake ones
    resumed: bool = False  # the session is there already, of another surface
    first: Callable[[Path], object] = lambda root: None  # done to the project before it is opened

    @property
    def flags(self) -> list[str]:
        """The dials, for the command line."""
        return [word for dial, value in zip(DIALS, self.dials, strict=True) for word in (f"--{dial}", value)]
