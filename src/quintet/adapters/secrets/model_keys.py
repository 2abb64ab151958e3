"""Where a model's key is kept: a variable of the environment, the user's own secrets, or the keyring.

A key goes to the server that the settings name and nowhere else: never into a file of a project, nor the journal.
"""

from __future__ import annotations

import os

from quintet.adapters.files.paths import Places, config_home
from quintet.adapters.secrets import store


def kept_key(variable: str) -> tuple[str, str]:
    """The value of a variable and where it is from: the environment, then the user's file, then the keyring."""
    if value := os.environ.get(variable, "").strip():
        return value, variable
    places = _own_places()
    if value := store.kept(places).get(variable, "").strip():
        return value, store.file_of(places)
    if variable in store.keyring_names(places) and (value := store.in_keyring(places).get(variable, "").strip()):
        return value, "your keyring"
    return "", ""


def has_key(variable: str) -> bool:
    """Whether a variable has a value somewhere; a keyring is taken at the word of its list."""
    places = _own_places()
    named = (*store.kept(places), *store.keyring_names(places))
    return bool(os.environ.get(variable, "").strip()) or variable in named


def _own_places() -> Places:
    """Where the user's secrets are, whichever project this is."""
    return Places("", "", os.path.join(config_home(), "quintet"))
