"""For the doctor: clock, time zone and language of this machine, and sandboxes whose Quintet is gone."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.processes.system import started_at
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.stores.chosen import stored_rows
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.package import FOLDER

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

ORPHAN_SECONDS = 60.0  # in which a sandbox notices that its Quintet is gone, and ends
BACK_SECONDS = 3600.0  # that machines which share a store may differ by
_OFFSET = regex(r"([A-Za-z]{3,}|<[^>]{3,}>)[+-]?\d")
ZONES = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
CLOCK_BACK = FindingKind(
    "CLOCK_BACK",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The clock of this machine was set back, or was wrong when the newest session was written.",
    "Set the clock, for example with timedatectl set-ntp true.",
)
CLOCK_ZONE_UNKNOWN = FindingKind(
    "CLOCK_ZONE_UNKNOWN",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`TZ` names a time zone that this machine does not know, so its times are those of UTC.",
    "Correct TZ, or install the system's tzdata.",
)
LOCALE_NOT_UTF8 = FindingKind(
    "LOCALE_NOT_UTF8",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The locale has an encoding other than UTF-8, so names of files and texts may be shown wrong.",
    "Set LC_ALL to C.UTF-8 or another locale with UTF-8.",
)
SANDBOX_ORPHAN = FindingKind(
    "SANDBOX_ORPHAN",
    Severity.WARNING,
    HealthScope.MACHINE,
    "A sandbox still runs, and the Quintet that started it was killed.",
    "End the process.",
)
KINDS = (CLOCK_BACK, CLOCK_ZONE_UNKNOWN, LOCALE_NOT_UTF8, SANDBOX_ORPHAN)


def clock_is_right(checkup: Checkup) -> Iterator[Finding]:
    with clear_errors(checkup.places.database):
        rows = stored_rows(checkup.places)
        newest = max((row.updated for row in rows.sessions(5)), default="") if rows else ""
        if rows:
            rows.close()
    limit = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + BACK_SECONDS))
    if newest[:19] > limit:
        problem = f"it is {limit[:10]} by the clock, and the newest session was written at {newest[:16]}Z"
        yield CLOCK_BACK.of("clock", problem)


def zone_is_known(checkup: Checkup) -> Iterator[Finding]:
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and not _is_zone(named):
        problem = f'TZ is "{on_one_line(named)}", which is not a time zone on this machine'
        yield CLOCK_ZONE_UNKNOWN.of(on_one_line(named), problem)


def _is_zone(named: str) -> bool:
    """A file of the system's, or offsets as POSIX spells them: `CET-1CEST`, `<+03>-3`."""
    if os.path.isabs(named):
        return os.path.isfile(named)
    if any(os.path.isfile(os.path.join(folder, named)) for folder in ZONES):
        return True
    return _OFFSET.match(named) is not None


def texts_are_utf8(checkup: Checkup) -> Iterator[Finding]:
    if (found := sys.getfilesystemencoding()) != "utf-8":
        yield LOCALE_NOT_UTF8.of(found, f"names of files are read as {found}")


def no_sandbox_is_left(checkup: Checkup, least_seconds: float = ORPHAN_SECONDS) -> Iterator[Finding]:
    """One whose parent is the first process, where that one is not Quintet itself, and that has not ended since."""
    scripts = os.fsencode(os.path.join(FOLDER, "adapters", "sandbox", ""))
    if b"quintet" in _words(1):
        return
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int) if os.path.isdir("/proc") else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            about = os.stat(f"/proc/{name}")
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            old = time.time() - started_at(int(name)) > least_seconds
            if about.st_uid == os.getuid() and parent == 1 and scripts in _words(int(name)) and old:
                problem = f"process {name} is a sandbox that lost its Quintet"
                yield SANDBOX_ORPHAN.of(name, problem, f"End it: kill {name}")


def _words(pid: int) -> bytes:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()
    return b""
