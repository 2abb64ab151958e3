"""For the doctor: the copy of Quintet that runs, the one that is installed, and a checkout of it, side by side."""

from __future__ import annotations

import base64
import contextlib
import glob
import os
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256

from quintet import __version__
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.system import started_at
from quintet.adapters.settings.checkup import Checkup
from quintet.adapters.settings.user_tools import SHIPPED
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import lives, stored
from quintet.domain.base.wording import counted, few
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.engine.commands.table import known
from quintet.features.registry import Plugin, plugin_tools, plugins
from quintet.package import FOLDER, changed_after

MOST_NAMED = 5
MARGIN_SECONDS = 2.0  # to which it is known when a process began
CHECKOUT = os.path.join("src", "quintet")
INSTALL_CHANGED = FindingKind(
    "INSTALL_CHANGED",
    Severity.WARNING,
    HealthScope.MACHINE,
    "Files of the installed Quintet are missing or were changed since it was installed.",
    "Install Quintet again, for example with pipx reinstall quintet.",
)
OWNER_OUTDATED = FindingKind(
    "OWNER_OUTDATED",
    Severity.WARNING,
    HealthScope.SESSION,
    "Quintet was upgraded while a session was open in another process, which still runs the old version.",
    "Leave that session and resume it: quintet --resume",
)
CHECKOUT_DIFFERS = FindingKind(
    "CHECKOUT_DIFFERS",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The project is a checkout of Quintet, and the Quintet that runs is a copy that differs from it.",
    "Run the checkout's own (scripts/run), or install it again.",
)
PLUGIN_UNUSABLE = FindingKind(
    "PLUGIN_UNUSABLE",
    Severity.WARNING,
    HealthScope.MACHINE,
    "A plugin cannot be loaded, or uses a name that is taken.",
    "quintet plugins says why; upgrade the plugin, or remove it.",
)
KINDS = (INSTALL_CHANGED, OWNER_OUTDATED, CHECKOUT_DIFFERS, PLUGIN_UNUSABLE)


def copy_is_whole(checkup: Checkup) -> Iterator[Finding]:
    """Against the record that the installer made of it. Only a thorough look reads every file."""
    beside = os.path.dirname(FOLDER)
    records = glob.glob(os.path.join(glob.escape(beside), "quintet-*.dist-info", "RECORD"))
    changed = [name for record in records[:1] if checkup.thorough for name in _changed(record, beside)]
    if changed:
        problem = f"{counted(len(changed), 'file')} of Quintet {__version__}: {few(changed, MOST_NAMED)}"
        yield INSTALL_CHANGED.of(FOLDER, f"missing or changed since it was installed: {problem}")


def _changed(record: str, beside: str) -> Iterator[str]:
    with open(record, encoding="utf-8") as file:
        lines = [line.strip().rsplit(",", 2) for line in file if line.startswith("quintet/")]
    for name, digest, _ in lines:
        expected = digest.removeprefix("sha256=")
        try:
            with open(os.path.join(beside, name), "rb") as file_of_ours:
                found = base64.urlsafe_b64encode(sha256(file_of_ours.read()).digest()).rstrip(b"=").decode()
        except OSError:
            found = ""
        if expected and found != expected:
            yield name


def owners_are_current(checkup: Checkup) -> Iterator[Finding]:
    """Where the project is Quintet's own source tree, that its files change is the work itself."""
    rows = None if _within(checkup.places.root) else stored(checkup.places)
    if rows is None:
        return
    with clear_errors(checkup.places.database), closing(rows):
        owned = [row for row in rows.sessions(50) if row.owner and row.owner_pid != os.getpid() and lives(row)]
    for row in owned:
        began = started_at(row.owner_pid)
        if began and (path := changed_after(began + MARGIN_SECONDS)):
            problem = f"session {row.id} is open in process {row.owner_pid}, which began before {path} changed"
            yield OWNER_OUTDATED.of(row.id, problem)


def checkout_is_the_same(checkup: Checkup) -> Iterator[Finding]:
    checkout = os.path.join(checkup.places.root, CHECKOUT)
    if not os.path.isfile(os.path.join(checkout, "package.py")) or _within(checkup.places.root):
        return
    differing = []
    for folder, below, names in os.walk(FOLDER):
        below[:] = [name for name in below if name != "__pycache__"]
        for name in names:
            path = os.path.join(folder, name)
            theirs = os.path.join(checkout, os.path.relpath(path, FOLDER))
            with contextlib.suppress(OSError):
                size = os.path.getsize(path)
                if not os.path.isfile(theirs) or os.path.getsize(theirs) != size:
                    differing.append(os.path.relpath(path, FOLDER))
    if differing:
        named = few(sorted(differing), MOST_NAMED)
        problem = f"{counted(len(differing), 'file')} of {FOLDER} and of {CHECKOUT} here differ: {named}"
        yield CHECKOUT_DIFFERS.of(FOLDER, problem)


def plugins_can_be_used(checkup: Checkup) -> Iterator[Finding]:
    for plugin in plugins():
        if problem := plugin.problem or _problem_in(plugin):
            yield PLUGIN_UNUSABLE.of(plugin.name, f"plugin {plugin.name} ({plugin.package}): {problem}")


def _problem_in(plugin: Plugin) -> str:
    """Tools that cannot be loaded, and names that are Quintet's own; `quintet plugins` says it of commands, too."""
    specs, problem = plugin_tools(plugin, Settings())
    taken = [spec.name for spec in specs if spec.name in SHIPPED]
    taken += [f"/{one.name}" for one in (plugin.feature.slash if plugin.feature else ()) if known(one.name)]
    return problem or (f"these names are already used: {', '.join(taken)}" if taken else "")


def _within(root: str) -> bool:
    return FOLDER.startswith(os.path.join(real_path(root), ""))
