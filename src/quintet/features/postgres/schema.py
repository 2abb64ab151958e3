"""The tables of Quintet in a database, by version: made by `init`, brought up by `migrate`, looked at by all else.

A schema that this program does not know is refused before anything is read or written.
"""

from __future__ import annotations

import os

from quintet import __version__
from quintet.domain.base.errors import StoreError, StoreNewer, StoreOlder
from quintet.features.postgres.link import SQL_FOLDER, ServerLink, statements
from quintet.features.postgres.queue_schema import bring_up

SQL = statements("database.sql")


def migrations() -> list[str]:
    """Migration files in order; the n-th takes a database from version n-1 to n."""
    return sorted(name for name in os.listdir(SQL_FOLDER) if name[0].isdigit())


def version_of(link: ServerLink) -> int:
    """The version of the schema that is there; 0 if there is none."""
    if not _value(link, "has_schema"):
        return 0
    return int(_value(link, "version"))


def checked(link: ServerLink, *, again: bool = False) -> ServerLink:
    """The same, if its schema is the one that this program knows; else an error that says what to do.

    `again`: it was there before, so its version alone is asked.
    """
    version, known = int(_value(link, "version")) if again else version_of(link), len(migrations())
    if version > known:
        raise newer(link, version)
    if not version:
        raise StoreOlder(f"{link.shown}: there are no tables of Quintet's", hint="`quintet database init` makes them.")
    if version < known:
        raise StoreOlder(
            f"{link.shown}: schema version {version}, this Quintet needs {known}",
            hint="Close every session on it, then `quintet database migrate`.",
        )
    return link


def newer(link: ServerLink, version: int) -> StoreNewer:
    return StoreNewer(
        f"{link.shown}: schema version {version}, this Quintet supports {len(migrations())}; it was not changed",
        hint="Update Quintet on this machine.",
    )


def migrate(link: ServerLink, *, init: bool) -> tuple[int, int]:
    """Bring the schema up in one transaction; returns the versions before and after."""
    link.execute("BEGIN")
    try:
        link.execute(SQL["migrating"])
        before, names = version_of(link), migrations()
        if before > len(names):
            raise newer(link, before)
        if not before and not init:
            raise StoreOlder(
                f"{link.shown}: there are no tables of Quintet's", hint="`quintet database init` makes them."
            )
        if 0 < before < len(names):
            _refuse_live(link)
        for number in range(before, len(names)):
            with open(os.path.join(SQL_FOLDER, names[number]), encoding="utf-8") as file:
                link.execute(file.read())
            link.execute(SQL["set_version"], (number + 1, __version__))
        bring_up(link)
        link.execute("COMMIT")
    except BaseException:
        if not link.lost:
            link.execute("ROLLBACK")
        raise
    return before, len(names)


def _refuse_live(link: ServerLink) -> None:
    """An older Quintet that is still at work knows nothing of a newer schema: it is let finish first."""
    for project, session, machine, pid in link.execute(SQL["live_owners"]).fetchall():
        raise StoreError(
            f"{link.shown}: session {session} of {project} is still open on {machine}",
            hint=f"Close it there (process {pid}), then try again.",
        )


def project_number(link: ServerLink, name: str, *, make: bool = False) -> int:
    """The number of a project; 0 if it is not there and is not to be made."""
    found = link.execute(SQL["project"], (name,)).fetchone()
    if found is None and make:
        link.execute(SQL["add_project"], (name,))
        found = link.execute(SQL["project"], (name,)).fetchone()
    return int(found[0]) if found else 0


def _value(link: ServerLink, name: str) -> int:
    row = link.execute(SQL[name]).fetchone()
    assert row
    return int(row[0])
