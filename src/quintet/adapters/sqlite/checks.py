"""For the doctor: the search index of the journal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import apsw

from quintet.adapters.sqlite.journal_search import forget
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

HISTORY_DAMAGED = FindingKind(
    "HISTORY_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "The file with which sessions are searched is damaged.",
    "remove it; the next search makes it again",
    fixable=True,
)
KINDS = (HISTORY_DAMAGED,)


def history_is_whole(checkup: Checkup) -> Iterator[Finding]:
    """Only a thorough look reads the file."""
    if checkup.thorough and (damage := _damage(checkup.places.history)):
        yield HISTORY_DAMAGED.of(os.path.basename(checkup.places.history), f"the search index is damaged: {damage}")


def remove_history(checkup: Checkup) -> list[str]:
    if not _damage(checkup.places.history):
        return []
    forget(checkup.places.history)
    return ["removed the damaged search index"]


def _damage(path: str) -> str:
    if not os.path.exists(path):
        return ""
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.CantOpenError as error:
        return str(error)
    try:
        said = str(connection.pragma("quick_check"))
    except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError) as error:
        return str(error)
    except apsw.Error:  # somebody writes it now
        return ""
    finally:
        connection.close()
    return "" if said == "ok" else said
