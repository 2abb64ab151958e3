"""Effects, the grant that an allowed call carries, and why some commands of a line must not share one.

A grant is all a call may do: its effects, the folders it may write, what it may read outside the project, and whether
it has a network. Whatever contains the call is built from its grant and from nothing else.

A line has one grant, so what one of its commands needs (a network, the repository) all of them get. Commands that need
the same may stand together, with others that only read beside them; anything else is to be run apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache

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
    keys: tuple[str, ...] = ()  # of the user's own, by their names in exposure.KEYS; shown in the sandbox only


class Sandbox(StrEnum):
    """What contains a call."""

    BWRAP = "bwrap"
    PARTIAL = "partial"
    NONE = "none"


# Of the kernel's own what tells about the machine and nothing else: a whole sandbox shows it as it is.
MACHINE_FACTS = frozenset(
    f"/proc/{name}" for name in ("cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "stat", "uptime", "version")
)
# What a partial sandbox cannot close to a command that may write, for status and questions.
PARTIAL_LEAVES = "outside the project it can change the modes, times and attributes of files, and write to /dev/shm"
READING = frozenset({Effect.READ, Effect.FETCH})
NETWORKED = frozenset({Effect.NETWORK, Effect.INSTALL, Effect.PUBLISH})  # effects that come with a network
CONTAINMENT_EFFECTS = frozenset(
    {Effect.COMMIT, Effect.OUTSIDE, Effect.PUBLISH}
)  # effects that a containment is built by


def exceeds(wanted: Grant, held: Grant) -> bool:
    """Whether something may do more by `wanted` than the sandbox that was built from `held` lets it.

    Keys are not counted: what lacks them fails by itself, and an approval that had them is not taken back by a dial.
    """
    return bool(
        set(wanted.write_roots) - set(held.write_roots)
        or set(wanted.read_roots) - set(held.read_roots)
        or (CONTAINMENT_EFFECTS & set(wanted.effects)) - set(held.effects)
        or (wanted.network and not held.network)
    )


_PLACE = {effect: place for place, effect in enumerate(EFFECT_ORDER)}


@cache  # a few sets come again and again
def ordered(effects: frozenset[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(effects, key=_PLACE.__getitem__))


_DOES = {  # the first that fits
    Effect.PUBLISH: "publishes",
    Effect.INSTALL: "installs",
    Effect.NETWORK: "uses the network",
    Effect.COMMIT: "changes the repository",
}
_COULD = {
    Effect.NETWORK: "could send anything over the network",
    Effect.COMMIT: "could change what git runs, because .git is writable",
}
_WRITES = frozenset([">", ">>", ">|", "&>", "&>>", "<>"])
_NEED = tuple(_COULD)
# Programs that change the files they name and nothing else: with a network they can do no more than without.
_FILE_PROGRAMS = frozenset(["rm", "rmdir", "unlink", "mkdir", "touch", "cp", "mv", "ln"]) | _WRITES
_CHANGES_FILES = frozenset({Effect.READ, Effect.EDIT, Effect.DESTROY})


class LinePart(Struct, frozen=True, gc=False):
    """One command of a line that is more than plain reading: how it is called, and what it does."""

    name: str
    effects: frozenset[Effect]
    place: int = 0  # of the command in the line; what one command does in several ways has one place


class JudgedLines(Struct, frozen=True, gc=False):
    """What the shell lines of a call mean, beside the effects and paths that they add to it."""

    commands: tuple[str, ...] = ()  # those in the lines, and those that these run in turn
    parts: tuple[LinePart, ...] = ()  # those of them that are more than plain reading
    plain: bool = False  # the lines are all in the closed table of what reads: see shell.read_only_commands
    named: tuple[str, ...] = ()  # of what they read, the files that they only look for: `ls -l .env`
    simple: tuple[str, ...] = ()  # the words of a line that is one plain command and nothing else
    # Of programs that are not known, where a deny rule could be meant:
    hides: bool = False  # one is given a word that may be code for it to run
    handed_on: tuple[str, ...] = ()  # commands that they may run, as their words end with them
    # Why they count as `destroy`: each of these can be less in a sandbox, or with a snapshot.
    opaque: bool = False  # there is code in them that nobody read
    deletes: tuple[str, ...] = ()  # files, folders and patterns that they lose, and nothing else by deleting
    destroys: bool = False  # there is something else in them
    kept: bool = False  # all that they delete was kept just now
    unkept: str = ""  # why it could not be


NO_LINES = JudgedLines()


@cache
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
    if wants[widest] == {Effect.NETWORK}:
        strangers = [part for part in strangers if part.name not in _FILE_PROGRAMS or part.effects - _CHANGES_FILES]
    if not strangers:  # a program that reads runs nothing that the same program beside it would not run
        return ""
    opened = [need for need in _NEED if need in wants[widest]]
    does = next(does for effect, does in _DOES.items() if effect in parts[widest].effects)
    does = f"{parts[widest].name} {does}"
    other = next((part for part in strangers if part.place != parts[widest].place), None)
    if other:
        return f"{does}, and {other.name} runs in the same line: together they {_COULD[opened[0]]}; run them separately"
    same = "the same command writes a file" if strangers[0].name in _WRITES else f"it also runs {strangers[0].name}"
    return f"{does}, and {same}: it {_COULD[opened[0]]}"
