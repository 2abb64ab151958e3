"""Effects, and the grant that an allowed call carries.

A grant is all a call may do: its effects, the folders it may write, what it may read outside the project, and whether
it has a network. Whatever contains the call is built from its grant and from nothing else.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Effect(StrEnum):
    READ = "read"
    EDIT = "edit"
    EXECUTE = "execute"
    BUILD = "build"  # build, test, lint
    INSTALL = "install"
    COMMIT = "commit"
    FETCH = "fetch"  # Quintet's own reading web tools
    NETWORK = "network"
    OUTSIDE = "outside"  # beyond the project: writes, privilege, other processes
    DESTROY = "destroy"
    PUBLISH = "publish"


EFFECT_ORDER = tuple(Effect)


class Grant(Struct, frozen=True, gc=False):
    effects: tuple[Effect, ...] = ()
    write_roots: tuple[str, ...] = ()
    network: bool = False
    read_roots: tuple[str, ...] = ()  # outside the project
    secrets: tuple[str, ...] = ()  # names of those in its environment
    keys: tuple[str, ...] = ()  # of the user's own, by their names in user_keys.KEYS; shown in the sandbox only


class Sandbox(StrEnum):
    """What contains a call."""

    BWRAP = "bwrap"
    PARTIAL = "partial"
    NONE = "none"


# What a partial sandbox cannot close to a command that may write, for status and questions.
PARTIAL_LEAVES = "outside the project it can change modes, times and attributes of files, and write /dev/shm"
NETWORKED = frozenset({Effect.NETWORK, Effect.INSTALL, Effect.PUBLISH})  # effects that come with a network
WALLS = frozenset({Effect.COMMIT, Effect.OUTSIDE, Effect.PUBLISH})  # effects that a containment is built by


def exceeds(wanted: Grant, held: Grant) -> bool:
    """Whether something may do more by `wanted` than the walls that were built from `held` let it.

    Keys are not counted: what lacks them fails by itself, and an approval that had them is not taken back by a dial.
    """
    return bool(
        set(wanted.write_roots) - set(held.write_roots)
        or set(wanted.read_roots) - set(held.read_roots)
        or (WALLS & set(wanted.effects)) - set(held.effects)
        or (wanted.network and not held.network)
    )


_PLACE = {effect: place for place, effect in enumerate(EFFECT_ORDER)}


def ordered(effects: frozenset[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(effects, key=_PLACE.__getitem__))
