"""Every line of the corpora as if the gate had said yes: run for real in the sandbox, and deletions taken back.

A line gets all that its effects have without a question at its profile: never outside, never the network, which an
installer would have. Canaries stand around the project. A line that deletes and goes because its files can be kept runs
in a session, and after `/rewind` the tree is what it was, byte by byte.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.domain.hostile_lines import CORPORA, _judged_in_session, in_session, rows
from tests.engine.driving import Driver, drive
from tests.faults.second_wall import Field

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import READING, Effect, Grant, ordered
from quintet.domain.permission.gate import UNASKED, Verdict
from quintet.testing import ScriptedModel, call

PROFILES = (PermissionProfile.NORMAL, PermissionProfile.TRUSTED)
SECONDS = 2.0
_LONGEST = 30_000


def lines() -> list[str]:
    """Those of all corpora that can be run without harm to the machine."""
    found = [row["line"] for name in (*CORPORA, "attacks.jsonl") for row in rows(name) if not row.get("bomb")]
    return [line for line in dict.fromkeys(found) if "\0" not in line and len(line) < _LONGEST and _encodes(line)]


def _encodes(line: str) -> bool:
    try:
        os.fsencode(line)
    except UnicodeEncodeError:
        return False
    return True


def forced(line: str, profile: PermissionProfile, root: str) -> Grant:
    """The grant of a gate that always says yes: of what the line does, all that the profile gives."""
    decision = in_session(line, profile, root=root)
    effects = frozenset(decision.grant.effects) & UNASKED[profile]
    if frozenset(decision.effects) - UNASKED[profile]:  # what would ask goes as a program
        effects |= {Effect.EXECUTE}
    return Grant(ordered(effects), (root,) if effects - READING else ())


async def reached(folder: Path, wanted: Sequence[str], at_once: int = 4, seconds: float = SECONDS) -> list[str]:
    """What the lines touched beyond their grants."""
    found: list[str] = []
    waiting = list(reversed(wanted))

    async def work(field: Field) -> None:
        try:
            while waiting:
                line = waiting.pop()
                for grant in {forced(line, profile, str(field.project)) for profile in PROFILES}:
                    touched = await field.attack(line, kept=False, grant=grant, seconds=seconds)
                    found.extend([f"{line!r} with {', '.join(grant.effects)}: {touched}"] if touched else [])
        finally:
            field.close()

    os.environ["HOME"] = str(folder / "0" / "home")  # that of the first is everybody's
    await asyncio.gather(*(work(Field(folder / str(number))) for number in range(at_once)))
    return found


# ── deletions, taken back

TREE = {
    "src/a.py": "a = 1\n",
    "src/app.py": "app = 1\n",
    "src/old.txt": "old\n",
    "src/x.txt": "x\n",
    "src/__pycache__/a.pyc": "compiled",
    "src/b.orig": "b\n",
    "tests/test_a.py": "def test_a(): pass\n",
    "build/out.o": "object",
    "build/deep/er/.hidden": "hidden",
    "dist/app.js": "js",
    "node_modules/x/index.js": "x",
    "package.json": '{"scripts": {"build": "true"}}',
    "package-lock.json": "{}",
    "coverage/c.xml": "<c/>",
    ".turbo/t": "t",
    "app.egg-info/PKG": "pkg",
    "run.log": "log",
    "tmp/a.tmp": "tmp",
    "x": "x\n",
    "a b": "blank",
    ".gitignore": "build/\nnode_modules/\n*.pyc\n*.log\n",
}


def plant(root: Path) -> None:
    """Files that the lines name, committed, changed since, untracked and ignored ones among them."""
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "build/out.o").chmod(0o755)
    (root / "tmp").chmod(0o700)
    (root / "empty").mkdir(exist_ok=True)
    (root / "link").unlink(missing_ok=True)
    (root / "link").symlink_to("src/a.py")


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file, link and folder with its access bits and content, but for git's own and Quintet's."""
    found: dict[str, tuple[int, bytes]] = {}
    for place, folders, names in os.walk(root):
        if Path(place) == root:
            folders[:] = [name for name in folders if name not in (".git", ".quintet")]
        for name in (*folders, *names):
            path = Path(place, name)
            mode = path.lstat().st_mode
            data = (
                os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) else path.read_bytes() if path.is_file() else b""
            )
            found[path.relative_to(root).as_posix()] = (mode, data)
    return found


def deleting() -> list[str]:
    """The lines that go at trusted because what they delete can be kept."""
    found = []
    for line in lines():
        _, judged = _judged_in_session(line)
        kept, unkept = (in_session(line, "trusted", kept=kept).verdict for kept in (True, False))
        if judged.deletes and kept is Verdict.ALLOW and unkept is not Verdict.ALLOW and "npm" not in line:
            found.append(line)
    return found


def taken_back(root: Path, wanted: Iterable[str]) -> tuple[list[str], list[str]]:
    """Each line in a session of its own: those that ran, and those after which `/rewind` left another tree."""
    ran: list[str] = []
    wrong: list[str] = []
    axes = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)

    for line in wanted:
        plant(root)
        before = tree(root)

        async def script(driver: Driver, line: str = line, before: Mapping[str, object] = before) -> None:
            await driver.turn("go")
            if not driver.of(p.ToolStarted):
                return  # something of it could not be kept
            ran.append(line)
            await driver.command("/rewind 1 files")
            after = tree(root)
            other = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
            if other:
                wrong.append(f"{line!r}: {', '.join(other[:5])}")
                for path in other:
                    _remove(root / path)

        drive(root, script, ScriptedModel([[call("bash", command=line, timeout=5)], "done"]), axes=axes)
    return ran, wrong


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
