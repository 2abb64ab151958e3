"""For the doctor: the tokens of the web surface."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import state_folder
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.web_ui.access import VisitorRole

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

LEAST = 32  # characters of a token
WEB_TOKEN_READABLE = FindingKind(
    "WEB_TOKEN_READABLE",
    Severity.WARNING,
    HealthScope.STATE,
    "Other users of this machine can read a token of the web surface.",
    "remove all access for other users; quintet web --new-token makes new ones",
    fixable=True,
)
WEB_TOKEN_DAMAGED = FindingKind(
    "WEB_TOKEN_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "The file of a token of the web surface is empty or incomplete.",
    "remove it; the next quintet web makes a new one",
    fixable=True,
)
KINDS = (WEB_TOKEN_READABLE, WEB_TOKEN_DAMAGED)


def tokens_are_safe(checkup: Checkup) -> Iterator[Finding]:
    for name, path in _readable():
        yield WEB_TOKEN_READABLE.of(name, f"{path}: others may read the {name}'s token")
    for name, path in _damaged():
        yield WEB_TOKEN_DAMAGED.of(name, f"{path}: the {name}'s token is incomplete")


def make_safe(checkup: Checkup) -> list[str]:
    done = []
    for name, path in _readable():
        os.chmod(path, 0o600)
        done.append(f"removed other users' access to the {name}'s token of the web surface")
    for name, path in _damaged():
        os.unlink(path)
        done.append(f"removed the {name}'s damaged token of the web surface")
    return done


def _readable() -> list[tuple[str, str]]:
    return [(name, path) for name, path in _tokens() if stat.S_IMODE(os.lstat(path).st_mode) & 0o077]


def _damaged() -> list[tuple[str, str]]:
    found = []
    for name, path in _tokens():
        with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
            if len(file.read(1_000).strip()) < LEAST:
                found.append((name, path))
    return found


def _tokens() -> list[tuple[str, str]]:
    paths = [(str(role), os.path.join(state_folder(), "web", role)) for role in VisitorRole]
    return [(name, path) for name, path in paths if os.path.isfile(path) and not os.path.islink(path)]
