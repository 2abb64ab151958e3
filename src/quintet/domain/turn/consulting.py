"""Asking another model a question from within a call: by which route, who answered, and what that took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from quintet.domain.turn.messages import Finish, Image, Usage

Route = Literal["smart", "deep", "vision"]  # of [routing]
Purpose = Literal["friend", "vision", "library"]  # the page in prompts/advice that the model is told


class Consulted(Struct, frozen=True):
    """A model that a call asked."""

    route: str
    model: str  # its name in the settings
    usage: Usage = Usage()


class Advice(Struct, frozen=True):
    text: str
    finish: Finish
    consulted: Consulted


class Advisers(Protocol):
    """The models that a tool may ask. Raises ToolFailed, with the fix, where there is no answer."""

    def ready(self, route: Route) -> bool:
        """Whether a language model answers there; the offline rules are none."""

    async def ask(
        self,
        purpose: Purpose,
        route: Route,
        question: str,
        images: Sequence[Image] = (),
        tell: Callable[[str], None] = lambda text: None,
    ) -> Advice:
        """One question, one answer; `tell` hears the answer as it comes."""
