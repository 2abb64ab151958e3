"""Each rule of the simulation broken in one way, and what has to be found wrong then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from quintet.domain.workers import fencing
from quintet.domain.workers.claims import PathClaims
from quintet.domain.workers.dispatch import Dependencies
from quintet.domain.workers.fencing import Holder
from quintet.domain.workers.integration import AfterRebase, Rebased, RebaseKind
from tests.domain.workers.simulator import Rules


def _same_number(held: Holder | None, owner: str, newest: int, *, carried: int = 0, gone: str = "") -> int:
    """The number does not rise when a task is taken from a lost worker."""
    number = fencing.number_for(held, owner, newest, carried=carried, gone=gone)
    return newest if held and number > newest else number


def _any_number_keeps(held: Holder | None, owner: str, newest: int, *, carried: int = 0, gone: str = "") -> int:
    """A heartbeat revives a lease that is not there any more."""
    return (
        newest + 1 if carried and held is None else fencing.number_for(held, owner, newest, carried=carried, gone=gone)
    )


def _never_gone(held: Holder | None, owner: str, newest: int, *, carried: int = 0, gone: str = "") -> int:
    """A lost worker's task is given to nobody."""
    return fencing.number_for(held, owner, newest, carried=carried)


def _only_same_lines(claims: PathClaims, task: str, wanted: Any) -> Any:
    """A folder and what is below it do not count as the same."""
    return PathClaims.in_the_way(claims, task, [one for one in wanted if not one.path.endswith("/")])


def _lines_of_any_content(claims: PathClaims, task: str, wanted: Any) -> Any:
    """Lines that the index gave for one content of a file are compared with those of another."""
    plain = {other: [structs.replace(one, content="") for one in held] for other, held in claims._of.items()}
    return PathClaims(plain).in_the_way(task, [structs.replace(one, content="") for one in wanted])


def _unverified(rebased: Rebased) -> AfterRebase:
    """Work that was put onto a target that moved lands as it is."""
    return AfterRebase.LAND if rebased.kind is RebaseKind.MOVED else AfterRebase.SEND_BACK


def _with_conflicts(rebased: Rebased) -> AfterRebase:
    """What does not fit lands all the same."""
    return AfterRebase.VERIFY if rebased.kind is RebaseKind.MOVED else AfterRebase.LAND


def _after_any(dependencies: Dependencies, task: str) -> list[str]:
    """One dependency of several is enough."""
    found = dependencies.done(task)
    return [*found, *(one for one in dependencies._after.get(task, ()) if one not in found)]


MUTANTS: dict[str, Callable[[], Rules]] = {
    "every write is made": lambda: Rules(may_write=lambda newest, carried: True, holds=lambda held, owner: True),
    "who holds a task is not asked": lambda: Rules(holds=lambda held, owner: True),
    "the number does not rise": lambda: Rules(number_for=_same_number),
    "a heartbeat revives a lease": lambda: Rules(number_for=_any_number_keeps),
    "a lost worker keeps its task": lambda: Rules(number_for=_never_gone),
    "leases never lapse": lambda: Rules(may_be_taken=lambda held, now, skew: False),
    "a lease is taken early": lambda: Rules(may_be_taken=lambda held, now, skew: now > held.until - 6 * skew),
    "a worker never stops by itself": lambda: Rules(must_stop=lambda until, now, skew: False),
    "claims are not looked at": lambda: Rules(in_the_way=lambda claims, task, wanted: []),
    "a folder is not claimed with its files": lambda: Rules(in_the_way=_only_same_lines),
    "lines of two contents are compared": lambda: Rules(in_the_way=_lines_of_any_content),
    "nobody gives way": lambda: Rules(gives_way=lambda task, waits_for, place: False),
    "no second verification": lambda: Rules(after_rebase=_unverified),
    "conflicts land": lambda: Rules(after_rebase=_with_conflicts),
    "whoever comes first integrates": lambda: Rules(goes_first=lambda task, waiting: True),
    "one dependency is enough": lambda: Rules(newly_ready=_after_any),
    "what depends on a task is forgotten": lambda: Rules(newly_ready=lambda dependencies, task: []),
}
