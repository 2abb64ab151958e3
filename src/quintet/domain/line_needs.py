"""What the commands of one line need beyond the project, and why some of them must not share it.

A line has one grant, so what one of its commands needs (a network, the repository) all of them get. Commands that need
the same may stand together, with others that only read beside them; anything else is to be run apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.grants import NETWORKED, Effect

_DOES = {  # the first that fits
    Effect.PUBLISH: "publishes",
    Effect.INSTALL: "installs",
    Effect.NETWORK: "uses the network",
    Effect.COMMIT: "changes the repository",
}
_COULD = {
    Effect.NETWORK: "with the network they could send anything",
    Effect.COMMIT: "with .git writable they could change what git runs",
}
_NEED = tuple(_COULD)


class Part(Struct, frozen=True, gc=False):
    """One command of a line that is more than plain reading: how it is called, and what it does."""

    name: str
    effects: frozenset[Effect]


def needs(effects: frozenset[Effect]) -> frozenset[Effect]:
    """What of the effects opens something beyond the project: `network`, `commit` for the repository."""
    network = {Effect.NETWORK} if effects & NETWORKED else set()
    return frozenset(network | (effects & {Effect.COMMIT}))


def apart(parts: Sequence[Part]) -> str:
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
    both = f"{parts[widest].name} {does}, and {strangers[0].name} runs in the same line"
    return f"{both}: {_COULD[opened[0]]}; run them apart"
