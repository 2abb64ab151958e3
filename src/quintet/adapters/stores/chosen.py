"""Where a project's state is: in a file of its own, or in the database that the user chose by its URL.

The URL comes from the environment (`--database` sets that), else from the user's own settings, never from a project's.
Its scheme finds the feature that opens it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.sqlite.database import clear_errors, open_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.database_url import VARIABLE, scheme_of
from quintet.domain.base.errors import StoreDamaged, StoreError, UsageError
from quintet.features.registry import store_kind
from quintet.package import load

if TYPE_CHECKING:
    from quintet.domain.ports.ports import Clock
    from quintet.domain.ports.stores import (
        Hits,
        Progress,
        ProjectStore,
        SharedTables,
        StoredRows,
        StoredTasks,
        StoredWorkers,
        StoreKind,
    )

PROJECT_VARIABLE = "QUINTET_DATABASE_PROJECT"
ROOT = "root"  # the file in a project's state folder that says where the project is


def database_url(places: Places) -> str:
    """The database that the user chose; empty: the project's own file."""
    return os.environ.get(VARIABLE) or os.environ.get(f"{VARIABLE}_URL") or _setting(places, "url")


def project_name(places: Places) -> str:
    """What the project is called in a database that several machines share: the same for every clone of it."""
    named = os.environ.get(PROJECT_VARIABLE) or _setting(places, "project")
    return named or _origin(places.root) or f"{os.uname().nodename}:{places.tasks_root}"


def _setting(places: Places, name: str) -> str:
    """One of the user's own settings of the database; most have none, and their file is not parsed for it."""
    try:
        with open(places.user_settings, "rb") as file:
            data = file.read()
    except OSError:
        return ""
    if b"database" not in data:
        return ""
    settings = load("adapters.settings.layers:load")(places).settings.database
    return str(getattr(settings, name))


def _origin(root: str) -> str:
    """The address a repository was cloned from, without user, password and ending, so that clones agree on it."""
    found = load("adapters.git.git_folders:git_folders")(root)
    if found is None:
        return ""
    try:
        with open(os.path.join(found.common, "config"), encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
    except OSError:
        return ""
    section = address = ""
    for line in lines:
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and line.partition("=")[0].strip() == "url" and not address:
            address = line.partition("=")[2].strip()
    return plain_address(address)


def plain_address(address: str) -> str:
    """`git@host:team/app.git` and `https://user:key@host/team/app` as `host/team/app`."""
    scheme, found, rest = address.partition("://")
    if not found:
        host, colon, path = address.partition(":")
        if not colon or "/" in host:
            return address.rstrip("/").removesuffix(".git")  # a path of this machine's
        rest = f"{host}/{path.lstrip('/')}"
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].lower()
    if scheme == "file":
        host = ""
    return f"{host}{slash}{path}".rstrip("/").removesuffix(".git")


def chosen_kind(url: str) -> StoreKind:
    """What opens databases of this URL."""
    kind = store_kind(scheme_of(url))
    if kind is None:
        known = "postgresql://USER@HOST/NAME"
        raise UsageError(f"the database URL does not begin with a kind that is known here; use {known}")
    return kind


def open_store(places: Places, clock: Clock | None = None) -> ProjectStore:
    """The project's store, to write."""
    if url := database_url(places):
        kind = chosen_kind(url)
        _remember_root(places)
        return kind.open(url, project_name(places), clock or SystemClock())
    made: ProjectStore = load("adapters.sqlite.store:SqliteStore")(places.database)
    with contextlib.suppress(StoreError):  # sessions name the folder, too, once there are some
        _remember_root(places)
    return made


def _remember_root(places: Places) -> None:
    """Where no session says it, this says which project a state folder is of."""
    try:
        private_folder(places.state)
        if not remembered_root(places.state):
            with open(os.path.join(places.state, ROOT), "w", encoding="utf-8", opener=private) as file:
                file.write(places.tasks_root)
    except OSError as error:
        hint = "Quintet keeps what belongs to this machine there. Set XDG_STATE_HOME to a folder you can write."
        raise StoreError(f"{places.state}: cannot be created ({error.strerror})", hint=hint) from error


def remembered_root(state: str) -> str:
    """The project that a state folder is of, as it was noted there."""
    try:
        with open(os.path.join(state, ROOT), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError):
        return ""


def stored_rows(places: Places) -> StoredRows | None:
    """What is stored of the project's sessions; None if there is nothing yet."""
    if url := database_url(places):
        return chosen_kind(url).rows(url, project_name(places))
    return file_rows(places)


def file_rows(places: Places) -> Rows | None:
    """What the project's own file holds."""
    connection = open_to_read(places.database)
    return Rows(connection, places.database) if connection else None


def stored_tasks(places: Places) -> StoredTasks | None:
    if url := database_url(places):
        return chosen_kind(url).tasks(url, project_name(places))
    connection = open_to_read(places.database)
    return (
        cast("StoredTasks", load("adapters.sqlite.task_rows:TaskRows")(connection, places.database))
        if connection
        else None
    )


def stored_workers(places: Places) -> StoredWorkers | None:
    if url := database_url(places):
        return chosen_kind(url).workers(url, project_name(places))
    connection = open_to_read(places.database)
    return cast("StoredWorkers", load("adapters.sqlite.worker_rows:WorkerRows")(connection)) if connection else None


def shared_tables(places: Places, *, make: bool = False) -> SharedTables | None:
    """What features keep in the database that several machines share; None where there is none."""
    url = database_url(places)
    return chosen_kind(url).tables(url, project_name(places), make=make) if url else None


def search_journal(places: Places, words: Sequence[str], limit: int, progress: Progress) -> Hits:
    """The newest events that have all the words."""
    if url := database_url(places):
        return chosen_kind(url).search(url, project_name(places), words, limit, progress)
    rows = file_rows(places)
    if rows is None:
        none: Hits = load("domain.ports.stores:Hits")(0, [])
        return none
    with clear_errors(places.database):
        found: Hits = load("adapters.sqlite.journal_search:search")(places.history, rows, words, limit, progress)
        return found


def store_problem(places: Places, thorough: bool) -> StoreError | None:
    """What is wrong with the project's store; None if nothing is, or if there is none yet."""
    try:
        with clear_errors(places.database):
            said = _said_of_it(places, thorough)
            rows, tasks = stored_rows(places), stored_tasks(places)
            if rows is None or tasks is None:
                return None
            rows.sessions(1)
            tasks.tasks()
            if thorough and not said:
                rows.read_through()
        return StoreDamaged(f"{rows.path}: {said}") if said else None
    except StoreError as error:
        return error


def _said_of_it(places: Places, thorough: bool) -> str:
    if url := database_url(places):
        return chosen_kind(url).problem(url, thorough)
    connection = open_to_read(places.database) if thorough else None
    said = str(connection.pragma("quick_check")) if connection else "ok"
    return "" if said == "ok" else said
