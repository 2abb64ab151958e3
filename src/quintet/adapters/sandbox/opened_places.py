"""The places that `sandbox.show` and `sandbox.give` open on this machine, and what of them is covered all the same."""

from __future__ import annotations

import os
import stat

from quintet.adapters.files.paths import Places, own_paths
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes import host_programs
from quintet.adapters.sandbox.host_mounts import ALIASES, SYSTEM, home, toolchains
from quintet.domain.permission.judged_places import Around, Kind, judged
from quintet.domain.permission.opened_places import OpenedPlaces
from quintet.domain.permission.protected_paths import Protection
from quintet.domain.settings.settings import SandboxSettings

MOST_ENTRIES = 20_000  # of a shown folder that are looked at for secrets


def opened_here(wanted: SandboxSettings, places: Places, protection: Protection) -> OpenedPlaces:
    if not (wanted.show or wanted.give):
        return OpenedPlaces()
    own = tuple(own_paths(places))
    around = Around(
        root=places.root,
        home=home(),
        own=own,
        programs=tuple(dict.fromkeys((*host_programs.folders(), *toolchains(protection, own)))),
        system=(*SYSTEM, *ALIASES),
        protection=protection,
    )
    return judged(wanted.show, wanted.give, around, _look)


def _look(path: str) -> tuple[str, Kind]:
    real = real_path(path)
    try:
        kind = os.stat(real).st_mode
    except OSError:
        return real, "nothing"
    return real, "folder" if stat.S_ISDIR(kind) else "file" if stat.S_ISREG(kind) else "other"


def secrets_in(folder: str, protection: Protection) -> tuple[str, ...]:
    """Files and folders in a shown folder that may hold secrets, as far as one looks."""
    found: list[str] = []
    left = MOST_ENTRIES
    for above, folders, names in os.walk(folder):
        left -= len(folders) + len(names)
        for name in (*folders, *names):
            path = os.path.join(above, name)
            if protection.is_secret(path) and not os.path.islink(path):
                found.append(path)
        folders[:] = [name for name in folders if os.path.join(above, name) not in found]
        if left < 0:
            break
    return tuple(found)
