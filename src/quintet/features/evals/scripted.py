"""The scripted model: does each task as its page says, or, at a rate that is given, says that it is done and does not.

It shows that a suite's tasks can be done and are graded right, at no cost; and since its true rate is known, what a
report says of it can be held to that.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256

from quintet.domain.base.errors import UsageError
from quintet.domain.turn.messages import CallPart, EndPart, Finish, Part, Request, TextPart, ToolCall, Usage
from quintet.features.evals.tasks import Solution

SCRIPT = "script"
DONE = "Done."
TOOLSET = "swe"  # where the tools are that it calls
_CHARACTERS = 4  # of a token, about


def rate_of(name: str) -> float | None:
    """How often `script` or `script:RATE` does a task; None for the name of another model."""
    word, _, rate = name.partition(":")
    if word != SCRIPT:
        return None
    try:
        value = float(rate or 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f'"{name}": the rate of script is from 0 to 1, as in script:0.7')
    return value


def does(seed: int, task: str, arm: str, number: int, rate: float) -> bool:
    """Whether a trial is one that does its task: the same for the same seed, on every machine."""
    digest = sha256(f"{seed}/{task}/{arm}/{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < rate


class SolutionModel:
    """Port Model, for one trial."""

    def __init__(self, solution: Solution | None) -> None:
        self.name = SCRIPT
        self._calls = list(_calls(solution)) if solution else []
        self._made = 0
        self._entered = False

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        shown = {tool.name for tool in request.tools}
        if self._entered and self._calls and self._calls[0][0] not in shown:
            self._calls.clear()  # the tool is not to be had
        said, finish = DONE, Finish.STOP
        if self._calls and request.tool_choice != "none":
            name, arguments = self._calls[0]
            self._entered = name not in shown
            if self._entered:
                name, arguments = "menu_enter", {"mode": TOOLSET}
            else:
                self._calls.pop(0)
            self._made += 1
            said, finish = json.dumps(arguments), Finish.TOOL_CALLS
            yield CallPart(ToolCall(f"call-{self._made}", name, said))
        else:
            yield TextPart(said)
        # Only its own words count: what it is told has times and places in it, which are not the same each time.
        yield EndPart(finish, Usage(0, len(said) // _CHARACTERS))

    async def close(self) -> None:
        """Nothing is held open."""


def _calls(solution: Solution) -> Iterator[tuple[str, dict[str, str]]]:
    yield from (("bash", {"command": line}) for line in solution.first)
    yield from (("Write", {"file_path": path, "content": text}) for path, text in solution.files.items())
    yield from (("bash", {"command": line}) for line in solution.run)
