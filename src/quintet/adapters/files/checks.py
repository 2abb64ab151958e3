"""For the doctor: files of Quintet's own that others can read, and what killed processes left behind."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from shutil import rmtree
from typing import TYPE_CHECKING

from quintet.adapters.files.input_history import InputHistory
from quintet.adapters.files.paths import Places, state_folder
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.files.temporary_folders import left_folders
from quintet.adapters.files.write_record import WriteRecord
from quintet.adapters.settings.gate_terms import protection_of
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

OTHERS = 0o077
STATE_READABLE = FindingKind(
    "STATE_READABLE",
    Severity.WARNING,
    HealthScope.STATE,
    "The rights of Quintet's state, or of the file of rules, trust or secrets, were widened.",
    "remove all access for other users",
    fixable=True,
)
WRITE_LEFT = FindingKind(
    "WRITE_LEFT",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A process was killed while it wrote files of the project, and left half of one under a temporary name.",
    "remove the temporary files; the files themselves are whole",
    fixable=True,
)
TEMPORARY_LEFT = FindingKind(
    "TEMPORARY_LEFT",
    Severity.WARNING,
    HealthScope.STATE,
    "A process was killed, and the folder of its sandbox or of other temporary files is still there.",
    "remove it",
    fixable=True,
)
INPUTS_DAMAGED = FindingKind(
    "INPUTS_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "The file of past inputs has lines that cannot be read.",
    "remove those lines",
    fixable=True,
)
TMPDIR_MISSING = FindingKind(
    "TMPDIR_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`TMPDIR` names a folder that does not exist or cannot be written.",
    "Make the folder, or unset TMPDIR.",
)
KINDS = (STATE_READABLE, WRITE_LEFT, TEMPORARY_LEFT, INPUTS_DAMAGED, TMPDIR_MISSING)


def nobody_else_reads(checkup: Checkup) -> Iterator[Finding]:
    for path in _open_to_others(checkup.places):
        yield STATE_READABLE.of(on_one_line(path), f"{on_one_line(path)}: other users of this machine may open it")


def take_rights_away(checkup: Checkup) -> list[str]:
    done = []
    for path in _open_to_others(checkup.places):
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~OTHERS)
        done.append(f"{on_one_line(path)}: only you may open it now")
    return done


def _open_to_others(places: Places) -> list[str]:
    """A folder that nobody else may enter protects all that is in it."""
    own = (os.path.dirname(places.state), places.state)
    files = (places.rules_file, places.trust_file, os.path.join(places.config, ".env"))
    found = []
    for path in (*own, *files):
        with contextlib.suppress(OSError):
            about = os.lstat(path)
            ours = about.st_uid == os.getuid() and not stat.S_ISLNK(about.st_mode)
            if ours and stat.S_IMODE(about.st_mode) & OTHERS:
                found.append(path)
    return found


def no_write_is_left(checkup: Checkup) -> Iterator[Finding]:
    if number := len(WriteRecord(checkup.places.writes).left()):
        problem = f"{counted(number, 'session')} ended while writing files of the project"
        yield WRITE_LEFT.of(on_one_line(checkup.places.root), problem)


def sweep_writes(checkup: Checkup) -> list[str]:
    places, record = checkup.places, WriteRecord(checkup.places.writes)
    number = len(record.left())
    if number:
        ProjectFiles(places.root, protection_of(places, checkup.settings), None, record).sweep_left()
    return ["removed what an ended process left while writing files"] if number else []


def no_folder_is_left(checkup: Checkup) -> Iterator[Finding]:
    for path in left_folders(os.path.join(state_folder(), "tmp")):
        yield TEMPORARY_LEFT.of(os.path.basename(path), f"{path}: a temporary folder of a process that has ended")


def remove_folders(checkup: Checkup) -> list[str]:
    done = []
    for path in left_folders(os.path.join(state_folder(), "tmp")):
        rmtree(path, ignore_errors=True)
        done.append(f"removed {path}")
    return done


def inputs_are_whole(checkup: Checkup) -> Iterator[Finding]:
    if number := InputHistory(checkup.places.inputs).unreadable():
        problem = f"{counted(number, 'line')} of the past inputs cannot be read"
        yield INPUTS_DAMAGED.of(os.path.basename(checkup.places.inputs), problem)


def drop_unreadable(checkup: Checkup) -> list[str]:
    number = InputHistory(checkup.places.inputs).drop_unreadable()
    return [f"removed {counted(number, 'line')} of the past inputs"] if number else []


def temporary_files_have_a_place(checkup: Checkup) -> Iterator[Finding]:
    named = os.environ.get("TMPDIR", "")
    if named and not (os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK)):
        yield TMPDIR_MISSING.of(on_one_line(named), f"TMPDIR is {on_one_line(named)}, which is no folder to write in")
