"""For the doctor: a damaged file, and memories that no longer hold. Nothing is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.settings.gate_terms import make_terms
from quintet.domain.base.errors import StoreError
from quintet.domain.base.wording import few
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.memory.holding import stale
from quintet.features.memory.store import INDEX, MemoryStore, database

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

T = TypeVar("T")
FILE = "memory.db"
MOST_NAMED = 5


MEMORY_DAMAGED = FindingKind(
    "MEMORY_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "The file of the memory is damaged, or cannot be opened.",
    "Move memory.db away. A page from quintet memory export can be imported again.",
)
MEMORY_INDEX = FindingKind(
    "MEMORY_INDEX",
    Severity.WARNING,
    HealthScope.STATE,
    "The index of words of the memory is damaged.",
    "rebuild it",
    fixable=True,
)
MEMORY_STALE = FindingKind(
    "MEMORY_STALE",
    Severity.WARNING,
    HealthScope.PROJECT,
    "What was remembered names files or commands that the project no longer has.",
    "mark them, so that they are not recalled; quintet memory forget ID deletes one",
    fixable=True,
)
KINDS = (MEMORY_DAMAGED, MEMORY_INDEX, MEMORY_STALE)


def store_is_whole(checkup: Checkup) -> Iterator[Finding]:
    """A look opens the file; a thorough one reads all of it."""
    path = database(checkup.places.state)
    if not os.path.exists(path):
        return
    try:
        damage = _opened(checkup, MemoryStore.damage if checkup.thorough else _nothing)
    except StoreError as error:
        yield MEMORY_DAMAGED.of(FILE, error.message, error.hint)
        return
    if damage and all(INDEX in line for line in damage):
        problem = f"the memory's index of words is damaged: {damage[0]}"
        yield MEMORY_INDEX.of(FILE, problem)
    elif damage:
        advice = f"Move {path} away. A page from quintet memory export can be imported again."
        yield MEMORY_DAMAGED.of(FILE, f"{path}: {damage[0]}", advice)


def mend_index(checkup: Checkup) -> list[str]:
    if not any(finding.fixable for finding in store_is_whole(checkup)):
        return []
    _opened(checkup, MemoryStore.index_again)
    return ["rebuilt the memory's index of words"]


def memories_hold(checkup: Checkup) -> Iterator[Finding]:
    if not (found := _unmarked(checkup)):
        return
    told = few([f"{id} ({why})" for id, why in found.items()], MOST_NAMED)
    yield MEMORY_STALE.of(next(iter(found)), f"no longer true: {told}")


def mark_stale(checkup: Checkup) -> list[str]:
    found = _unmarked(checkup)
    if found:
        _opened(checkup, lambda store: store.mark(found.items()))
    return [f"marked memory {id}: {why}" for id, why in found.items()]


def _unmarked(checkup: Checkup) -> dict[str, str]:
    """Those that do not hold, and are not marked for it."""
    if not os.path.exists(database(checkup.places.state)):
        return {}
    files = ProjectFiles(checkup.places.root, make_terms(checkup.places, checkup.settings).protection)
    entries = _opened(checkup, lambda store: store.entries())
    why = stale(entries, files)
    return {one.id: why[one.id] for one in entries if one.id in why and one.stale != why[one.id]}


def _nothing(store: MemoryStore) -> list[str]:
    return []


def _opened(checkup: Checkup, do: Callable[[MemoryStore], T]) -> T:
    with closing(MemoryStore(database(checkup.places.state))) as store:
        return do(store)
