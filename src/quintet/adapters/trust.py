"""Which folders the user trusts, or has said no to: a file in the user's configuration, never in the project."""

from __future__ import annotations

import json
import os

from quintet.domain.errors import SettingsError, StoreUnwritable


def _decisions(path: str) -> dict[str, bool]:
    try:
        with open(path, encoding="utf-8") as file:
            folders = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path}: cannot be read ({error})", hint="Mend or delete it; no folder is trusted until then."
        ) from error
    if not isinstance(folders, dict) or not all(isinstance(value, bool) for value in folders.values()):
        raise SettingsError(f"{path}: folders with true or false are wanted", hint="Mend or delete it.")
    return folders


def trusted_folders(path: str) -> list[str]:
    return sorted(folder for folder, trusted in _decisions(path).items() if trusted)


def is_trusted(path: str, root: str) -> bool:
    return _decisions(path).get(root, False)


def decided(path: str, root: str) -> bool:
    """Whether the user has said anything about this folder."""
    return root in _decisions(path)


def set_trust(path: str, root: str, trusted: bool) -> bool:
    """Trust or distrust a folder; returns whether that changed anything."""
    folders = _decisions(path)
    if folders.get(root) is trusted:
        return False
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({**folders, root: trusted}, file, indent=1, sort_keys=True)
        os.replace(temporary, path)
    except OSError as error:
        raise StoreUnwritable(
            f"{path}: cannot be written ({error.strerror})", hint="Set XDG_CONFIG_HOME to a folder you can write."
        ) from error
    return True
