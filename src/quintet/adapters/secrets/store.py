"""Where the user's own secrets are kept: the system's keyring, else a file that only the user may read.

A keyring cannot be asked what it holds, so the names in it are kept beside.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from quintet.adapters.files import private_files
from quintet.adapters.files.paths import Places
from quintet.domain.base.env_file import changed_env, read_env
from quintet.domain.base.errors import NotFound, SettingsError, UsageError

SERVICE = "quintet"


def file_of(places: Places) -> str:
    return os.path.join(places.config, ".env")  # a name that no call may read


def index_of(places: Places) -> str:
    return os.path.join(places.config, "keyring.json")


def kept(places: Places) -> dict[str, str]:
    """What is in the file; of one that cannot be read, nothing is known."""
    try:
        return read_env(_text(places))
    except SettingsError:
        return {}


def in_keyring(places: Places) -> dict[str, str]:
    """What the keyring gives; a secret that it does not give now is not available here."""
    found: dict[str, str] = {}
    if names := keyring_names(places):
        with suppress(Exception):  # every keyring fails in its own way
            keyring = _keyring()
            for name in names:
                if value := keyring.get_password(SERVICE, name):
                    found[name] = value
    return found


def _keyring() -> Any:
    """The library, imported where a keyring is used; ImportError where it is not installed."""
    import keyring.backends.fail

    return keyring


def keyring_names(places: Places) -> list[str]:
    try:
        names = private_files.read_json(index_of(places), "until then the keyring's secrets are not known")
    except SettingsError:
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def has_keyring() -> str:
    """Why there is no keyring here; empty if there is one."""
    try:
        keyring = _keyring()
    except ImportError:
        return "the keyring library is not installed: quintet install keyring"
    try:
        has_none = isinstance(keyring.get_keyring(), keyring.backends.fail.Keyring)
        return "this machine has no keyring" if has_none else ""
    except Exception as error:
        return f"the keyring cannot be used: {error}"


def keep(places: Places, name: str, value: str, where: str) -> str:
    """Keep a secret in `file`, `keyring`, or (auto) the best there is; returns where it is."""
    missing = has_keyring() if where != "file" else "not used"
    if where == "keyring" and missing:
        raise UsageError(missing, hint="--file keeps it in a file that only you may read")
    if missing:
        with private_files.locked(file_of(places)):
            private_files.write_text(file_of(places), changed_env(_text(places), name, value))
        return file_of(places)
    try:
        _keyring().set_password(SERVICE, name, value)
    except Exception as error:
        raise UsageError(
            f"the keyring does not accept it: {error}", hint="--file keeps it in a file of yours"
        ) from None
    with private_files.locked(index_of(places)):
        private_files.write_json(index_of(places), sorted({*keyring_names(places), name}))
        _forget_in_file(places, name)
    return "keyring"


def forget(places: Places, name: str) -> str:
    """Take a secret out of file and keyring; returns where it was."""
    with private_files.locked(file_of(places)):
        places_found = [file_of(places)] if _forget_in_file(places, name) else []
        names = keyring_names(places)
        if name in names:
            _delete(_keyring(), name)
            private_files.write_json(index_of(places), [other for other in names if other != name])
            places_found.append("keyring")
    if not places_found:
        raise NotFound(f"no secret {name} is stored here; `quintet secrets list` shows where each one is from")
    return " and ".join(places_found)


def _delete(keyring: Any, name: str) -> None:
    try:
        keyring.delete_password(SERVICE, name)
    except keyring.errors.PasswordDeleteError:
        pass  # it was gone already
    except Exception as error:
        raise UsageError(f"the keyring did not return it: {error}") from None


def _forget_in_file(places: Places, name: str) -> bool:
    text = _text(places)
    if name not in read_env(text):
        return False
    private_files.write_text(file_of(places), changed_env(text, name, None))
    return True


def _text(places: Places) -> str:
    """The file as it is; a change must not take a file that cannot be read for an empty one."""
    path = file_of(places)
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read ({error.strerror})", hint="Fix or delete it; it contains secrets."
        ) from error
