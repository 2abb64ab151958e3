"""Files and folders that only the user may read, whatever the umask: `open(path, "w", opener=private)`.

Small files of the user's configuration (trust, rules, secrets) are written atomically, and changed under a lock, so
that two processes lose nothing of each other's.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from typing import Any

from quintet.domain.base.errors import SettingsError, StoreUnwritable


def private(path: str, flags: int) -> int:
    """What `open` gets its handle from: a file that is made is 0600."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def private_folder(path: str) -> None:
    """Make a folder and those above it that are missing, all of them 0700; `os.makedirs` does so for the last alone."""
    if not os.path.isdir(path):
        if above := os.path.dirname(path):
            private_folder(above)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise


def listed(folder: str) -> list[str]:
    """The names in a folder; none if it does not exist."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def read_json(path: str, meanwhile: str) -> Any:
    """The file's content, None if there is none; `meanwhile` says what holds until a broken one is fixed."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read ({error})", hint=f"Fix or delete it; {meanwhile}.") from error


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """No other process changes the file meanwhile. Its folder is locked; the lock ends with its holder."""
    folder = os.path.dirname(path)
    with _writing(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _writing(path):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def alone(path: str) -> Iterator[bool]:
    """Whether this process is the one that holds the lock file, as long as this lasts; nobody waits for it."""
    with open(path, "a", opener=private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def write_json(path: str, content: Any) -> None:
    write_text(path, json.dumps(content, indent=1, sort_keys=True))


def write_text(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}"
    with _writing(path):
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape", newline="", opener=private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnwritable(
            f"{path}: cannot be written ({error.strerror})", hint="Set XDG_CONFIG_HOME to a folder you can write."
        ) from error
