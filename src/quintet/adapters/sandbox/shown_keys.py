"""The user's own keys that a grant names, as files and a socket to be shown read-only in the sandbox.

Nothing that lies in the project or is Quintet's own is among them, whatever a link or `~/.ssh/config` says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from quintet.adapters.sandbox.host_mounts import below, home
from quintet.domain.permission.user_keys import AGENT, KEYS, PRIVATE

AGENT_INSIDE = "/run/ssh-agent"
MOST_CONFIG = 262_144
_NAMES_KEYS = ("identityfile", "certificatefile")


def shown_keys(names: Sequence[str], root: str, own: Sequence[str]) -> list[tuple[str, str]]:
    """Where each is, links followed, and where it is shown; `own` are Quintet's folders."""
    found: dict[str, str] = {}
    for name in names:
        paths = [os.path.join(home(), path) for path in KEYS[name].paths] if name in KEYS else []
        for place in (*paths, *(_named_in_config() if name == PRIVATE else ())):
            real = os.path.realpath(place)
            apart = not any(below(one, other) or below(other, one) for one in (real, place) for other in own)
            if apart and os.path.exists(real) and not below(place, root) and not below(real, root):
                found[place] = real
    return [(real, place) for place, real in found.items()]


def _named_in_config() -> Iterator[str]:
    """The keys that ~/.ssh/config names, where they lie in the home."""
    try:
        with open(os.path.join(home(), ".ssh", "config"), encoding="utf-8", errors="replace") as file:
            lines = file.read(MOST_CONFIG).splitlines()
    except OSError:
        return
    for line in lines:
        word, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if word.lower() in _NAMES_KEYS:
            value = value.strip().strip('"').replace("%d", home())
            path = os.path.normpath(os.path.join(home(), value[2:] if value[:2] == "~/" else value))
            if below(path, home()) and os.path.isfile(path):
                yield from (path, *filter(os.path.isfile, (f"{path}.pub",)))


def agent(names: Sequence[str]) -> str:
    """The socket of the user's ssh agent, if the grant has it and there is one."""
    path = os.environ.get("SSH_AUTH_SOCK", "") if AGENT in names else ""
    try:
        return os.path.realpath(path) if os.path.isabs(path) and stat.S_ISSOCK(os.stat(path).st_mode) else ""
    except OSError:
        return ""
