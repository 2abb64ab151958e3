"""Which folders the user trusts, or has said no to: a file in the user's configuration, never in the project."""

from __future__ import annotations

from quintet.adapters import user_files
from quintet.domain.errors import SettingsError


def _decisions(path: str) -> dict[str, bool]:
    folders = user_files.read(path, "no folder is trusted until then")
    if folders is None:
        return {}
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
    with user_files.locked(path):
        folders = _decisions(path)
        if folders.get(root) is trusted:
            return False
        user_files.write(path, {**folders, root: trusted})
        return True
