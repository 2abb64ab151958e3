"""What a program of the offline rules is made of.

A program is a generator: it yields steps of tool calls, is sent their results as texts, and returns what it has to
say, with the evidence. It holds no state: the same results give the same next step, so a run can be resumed anywhere.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect

FEW = 4  # calls made one by one, each seen before the next; more go in one step, for a turn has only so many
MOST_SHOWN = 40
_WHOLE = 1_000_000
_CUT = regex(r"… \(\d+ characters\)$", re.M)
_NUMBERED = regex(r"\d+\t")
_MORE = regex(r"^\(\d+ more\)$")
_UNSEARCHED = regex(r"(?:\A|\n)(\(not searched: .*\))\Z")


class PlannedCall(Struct, frozen=True):
    tool: str
    arguments: dict[str, Any]


class Step(Struct, frozen=True):
    """Calls to make. With `only_unasked`, they are skipped, without a result, where that effect needs approval."""

    calls: tuple[PlannedCall, ...]
    only_unasked: Effect | None = None


class SayStep(Struct, frozen=True):
    text: str
    done: bool = True
    already: bool = (
        False  # not done, and what is there is what was asked for; done where an earlier attempt was cut short
    )
    failed: bool = False  # not done, though it was tried: what is missing is work, not a person's word
    tests: SayStep | None = None  # of a change: what the tests said that the request wants run after it


Result = TypeVar("Result")
Steps = Generator[Step, list[str], Result]
Program = Steps[SayStep]


class ShownFile(Struct, frozen=True):
    """A file as Read showed it."""

    path: str
    text: str = ""
    whole: bool = True  # every line was shown to its end
    problem: str = ""
    missing: bool = False


def ask(tool: str, arguments: dict[str, Any] | None = None) -> Steps[str]:
    results = yield Step((PlannedCall(tool, arguments or {}),))
    return results[0]


def ask_all(calls: Sequence[PlannedCall]) -> Steps[list[str]]:
    if len(calls) > FEW:
        return (yield Step(tuple(calls)))
    results: list[str] = []
    for call in calls:
        results += yield Step((call,))
    return results


def ask_if_unasked(effect: Effect, tool: str, arguments: dict[str, Any]) -> Steps[str | None]:
    """The call's result; None where doing what follows from it would have to be asked."""
    results = yield Step((PlannedCall(tool, arguments),), only_unasked=effect)
    return results[0] if results else None


def read_all(paths: Sequence[str]) -> Steps[list[ShownFile]]:
    results = yield from ask_all([PlannedCall("Read", {"file_path": path, "limit": _WHOLE}) for path in paths])
    return [_as_shown(path, result) for path, result in zip(paths, results, strict=True)]


def _as_shown(path: str, result: str) -> ShownFile:
    if result == "(an empty file)":
        return ShownFile(path)
    if refused(result) or not _NUMBERED.match(result):
        return ShownFile(path, problem=result, missing="No such file or directory" in result)
    text = "\n".join(line.partition("\t")[2] for line in result.split("\n"))
    return ShownFile(path, text, whole=not _CUT.search(result))


def listed(result: str, none: str = "no matches") -> tuple[list[str], bool]:
    """The lines of a search, and whether they are all there are of the places that could be read."""
    if note := unsearched(result):
        result = result.removesuffix(note).removesuffix("\n")
    if result == none:
        return [], True
    lines = result.splitlines()
    if lines and _MORE.match(lines[-1]):
        return lines[:-1], False
    return lines, True


def unsearched(result: str) -> str:
    """What a search says of places that it could not read."""
    found = _UNSEARCHED.search(result)
    return found[1] if found else ""


def refused(output: str) -> bool:
    return output.startswith(("not run", "interrupted", "fatal: "))


def parsed(source: str) -> ast.Module | None:
    """The syntax tree; None if Python would not compile the source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the source's own making, an odd escape for one
            tree = ast.parse(source)
            compile(source, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return tree


def shown_lines(lines: Sequence[str], most: int = MOST_SHOWN) -> str:
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])
