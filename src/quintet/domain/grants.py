"""Effects, and the grant that an allowed call carries.

A grant is all a call may do: its effects, the folders it may write, and whether it has a network. Whatever contains
the call is built from its grant and from nothing else.
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


def ordered(effects: frozenset[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(effects, key=EFFECT_ORDER.index))


def grant_for(effects: frozenset[Effect], root: str) -> Grant:
    writes = bool(effects - {Effect.READ, Effect.FETCH})
    network = bool(effects & {Effect.NETWORK, Effect.INSTALL, Effect.PUBLISH})
    return Grant(ordered(effects), (root,) if writes else (), network)
