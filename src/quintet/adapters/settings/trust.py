"""Which folders the user trusts, with what in them, or has said no to: a file in the user's configuration.

A folder stands there with true or false, or with the digests of what its yes covers. What was covered is kept in
Quintet's state, for a later diff.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import msgspec

from quintet.adapters.files import private_files
from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private, private_folder
from quintet.domain.base.errors import SettingsError
from quintet.domain.permission.trusted_content import Pieces, Trust, digest


class _Yes(msgspec.Struct, omit_defaults=True):
    content: dict[str, str] = {}
    declined: dict[str, str] = {}


def _decisions(path: str) -> dict[str, bool | _Yes]:
    folders = private_files.read_json(path, "no folder is trusted until then")
    if folders is None:
        return {}
    try:
        return msgspec.convert(folders, dict[str, bool | _Yes])
    except msgspec.ValidationError:
        raise SettingsError(
            f"{path}: folders with true, false or what they had are wanted", hint="Mend or delete it."
        ) from None


def trusted_folders(path: str) -> list[str]:
    return sorted(folder for folder, said in _decisions(path).items() if said is not False)


def trust_of(path: str, root: str) -> Trust:
    said = _decisions(path).get(root)
    if isinstance(said, _Yes):
        return Trust(True, True, said.content, said.declined)
    return Trust(said is not None, bool(said), None if said else {})


def set_trust(path: str, root: str, trusted: bool, content: dict[str, str] | None = None) -> bool:
    """Trust a folder with this content, or distrust it; returns whether that changed anything."""
    said: Any = _Yes(content or {}) if trusted else False
    return _record(path, root, said)


def accept(places: Places, pieces: Pieces) -> bool:
    """Trust the folder with these pieces, as they were shown; returns whether that changed anything."""
    changed = set_trust(places.trust_file, places.root, True, {name: digest(data) for name, data in pieces.items()})
    with contextlib.suppress(OSError):  # without its copy a piece is shown whole
        _keep(_copies(places), pieces)
    return changed


def _keep(folder: str, pieces: Pieces) -> None:
    private_folder(folder)
    for data in pieces.values():
        path = os.path.join(folder, digest(data))
        if not os.path.exists(path):
            with open(f"{path}.{os.getpid()}", "wb", opener=private) as file:
                file.write(data)
            os.replace(f"{path}.{os.getpid()}", path)


def decline(places: Places, pieces: Pieces) -> None:
    """Leave what is new or changed out, and do not ask about it again as it is."""
    trust = trust_of(places.trust_file, places.root)
    left = {name: digest(data) for name, data in pieces.items() if not trust.covers(name, data)}
    _record(places.trust_file, places.root, _Yes(trust.content or {}, {**trust.declined, **left}))


def former(places: Places, trust: Trust, name: str) -> bytes | None:
    """A piece as it was trusted; None if it was not, or is no longer known."""
    known = (trust.content or {}).get(name)
    if known:
        with contextlib.suppress(OSError), open(os.path.join(_copies(places), os.path.basename(known)), "rb") as file:
            data = file.read()
            return data if digest(data) == known else None
    return None


def _record(path: str, root: str, said: bool | _Yes) -> bool:
    with private_files.locked(path):
        folders = _decisions(path)
        if folders.get(root) == said:
            return False
        private_files.write_json(path, msgspec.to_builtins({**folders, root: said}))
        return True


def _copies(places: Places) -> str:
    return os.path.join(places.state, "trusted")
