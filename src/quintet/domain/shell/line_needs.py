"""What the commands of one line need beyond the project, and why some of them must not share it.

A line has one grant, so what one of its commands needs (a network, the repository) all of them get. Commands that need
the same may stand together, with others that only read beside them; anything else is to be run apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.permission.effects import NETWORKED, Effect

_DOES = {  # the first that fits
    Effect.PUBLISH: "publishes",
    Effect.INSTALL: "installs",
    Effect.NETWORK: "uses the network",
    Effect.COMMIT: "changes the repository",
}
_COULD = {
    Effect.NETWORK: "could send anything with the network",
    Effect.COMMIT: "could change what git runs with .git writable",
}
_WRITES = frozenset([">", ">>", ">|", "&>", "&>>", "<>"])
_NEED = tuple(_COULD)


class LinePart(Struct, frozen=True, gc=False):
    """One command of a line that is more than plain reading: how it is called, and what it does."""

    name: str
    effects: frozenset[Effect]
    place: int = 0  # of the command in the line; what one command does in several ways has one place


def needs(effects: frozenset[Effect]) -> frozenset[Effect]:
    """What of the effects opens something beyond the project: `network`, `commit` for the repository."""
    network = {Effect.NETWORK} if effects & NETWORKED else set()
    return frozenset(network | (effects & {Effect.COMMIT}))


def apart(parts: Sequence[LinePart]) -> str:
    """Why the commands of a line are to be run apart; empty if they may share one grant."""
    wants = [needs(part.effects) for part in parts]
    if not any(wants) or len(set(wants)) == 1:
        return ""
    widest = max(range(len(parts)), key=lambda place: len(wants[place]))
    others = [part for part, want in zip(parts, wants, strict=True) if want != wants[widest]]
    strangers = [part for part in others if part.name != parts[widest].name or part.effects - {Effect.READ}]
    if not strangers:  # a program that reads runs nothing that the same program beside it would not run
        return ""
    opened = [need for need in _NEED if need in wants[widest]]
    does = next(does for effect, does in _DOES.items() if effect in parts[widest].effects)
    does = f"{parts[widest].name} {does}"
    other = next((part for part in strangers if part.place != parts[widest].place), None)
    if other:
        return f"{does}, and {other.name} runs in the same line: they {_COULD[opened[0]]}; run them apart"
    same = "the same command writes a file" if strangers[0].name in _WRITES else f"it also runs {strangers[0].name}"
    return f"{does}, and {same}: it {_COULD[opened[0]]}"
