"""What a checkpoint costs, next to a bare `git status` and `git add -A` of the same project.

python bench/checkpoints.py [--files 10000] [--rounds 30] [--checkpoints 1000] [--json]. The first one, one with nothing
changed, one after an edit; the same for a file tool, and for shell lines that delete; then the disk after many
checkpoints with a small edit each. References and subject take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

from _table import say, seconds_of, table, verdict

from quintet.adapters.git.checkpoint_store import ShadowCheckpoints

SMALL = 30
SMALL_TARGET_MS, LARGE_TARGET_MS = 8.0, 60.0  # of the median
SINGLE_TARGET_MS = 10.0  # where single files are enough
KEPT = 200
TIDY_EVERY = 5
DISK_TARGET = 20_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000, metavar="N", help="files of the large project (10000)")
    parser.add_argument("--rounds", type=int, default=30, metavar="N", help="checkpoints of each kind (30)")
    parser.add_argument("--checkpoints", type=int, default=1000, metavar="N", help="for the disk (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    figures: dict[str, Any] = {"projects": []}
    for files in (SMALL, wanted.files):
        with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
            figures["projects"].append(asyncio.run(_measure(folder, files, wanted.rounds)))
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        figures["disk"] = asyncio.run(_disk(folder, wanted.checkpoints))
    say(_text(figures), figures, wanted.json)
    return 0


def _project(folder: str, files: int) -> str:
    root = os.path.join(folder, "project")
    for number in range(files):
        path = os.path.join(root, f"part{number % 97}", f"sub{number % 7}", f"file{number}.py")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"value = {number}\n" * 20)
    _git(root, "init", "-q")
    _git(root, "add", "-A")
    _git(root, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-qm", "all of it")
    time.sleep(1.1)  # an index as young as its files says nothing of them
    _git(root, "status")
    return root


def _git(root: str, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=root, check=True, stdin=subprocess.DEVNULL, capture_output=True)


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    return await seconds_of(work) * 1000


async def _bare(root: str, *arguments: str) -> float:
    return await _timed(lambda: asyncio.to_thread(_git, root, *arguments))


async def _measure(folder: str, files: int, rounds: int) -> dict[str, Any]:
    root = _project(folder, files)
    edited = os.path.join(root, "part1", "sub1", "file1.py")
    store = ShadowCheckpoints(os.path.join(folder, "checkpoints"), root)
    first = await _timed(lambda: store.snapshot("turn"))
    kinds: dict[str, list[float]] = {kind: [] for kind in KINDS if kind not in ("first", "tidy")}
    for number in range(rounds):
        _append(edited, f"one = {number}\n")
        kinds["status"].append(await _bare(root, "status"))
        kinds["add"].append(await _bare(root, "add", "-A"))
        kinds["edited"].append(await _timed(lambda: store.snapshot("turn")))
        kinds["unchanged"].append(await _timed(lambda: store.snapshot("turn")))
        kinds["tool"].append(await _timed(lambda: store.keep("turn", ["part1/sub1/file1.py"])))
        kinds["alone"].append(await _timed(lambda: store.cover("turn", ["part1/sub1/file1.py"], alone=True)))
        kinds["cover"].append(await _timed(lambda: store.cover("turn", ["part1/sub1/file1.py"])))
        kinds["folder"].append(await _timed(lambda: store.cover("turn", ["part1"])))
    kinds |= {"first": [first], "tidy": [await _timed(lambda: store.tidy(KEPT))]}
    middle = {kind: {"ms": round(median(times), 2), "best": round(min(times), 2)} for kind, times in kinds.items()}
    return {"files": files, **middle}


async def _disk(folder: str, checkpoints: int) -> dict[str, Any]:
    """Bytes on disk after many turns, each with one small edit, tidied up every few of them."""
    root = _project(folder, 1000)
    place = os.path.join(folder, "checkpoints")
    store = ShadowCheckpoints(place, root)
    for number in range(checkpoints):
        _append(os.path.join(root, "part1", "sub1", "file1.py"), f"one = {number}\n")
        await store.snapshot(f"turn-{number}")
        if number % TIDY_EVERY == TIDY_EVERY - 1:
            await store.tidy(KEPT)
    return {
        "checkpoints": checkpoints,
        "kept": len(await store.kept()),
        "bytes": _size(place),
        "project_bytes": _size(os.path.join(root, ".git")),
    }


def _append(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def _size(folder: str) -> int:
    paths = [os.path.join(above, name) for above, _, names in os.walk(folder) for name in names]
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


KINDS = {
    "status": "git status",
    "add": "git add -A",
    "first": "the first",
    "unchanged": "nothing changed",
    "edited": "after an edit",
    "tool": "a file tool's file",
    "alone": "rm FILE, by itself",
    "cover": "rm FILE, among others",
    "folder": "rm -r FOLDER",
    "tidy": "tidying, aside",
}


def _text(figures: dict[str, Any]) -> str:
    rows = []
    for found in figures["projects"]:
        for kind, words in KINDS.items():
            ms, best = found[kind]["ms"], found[kind]["best"]
            ratio = ms / found["status"]["ms"]
            most = SMALL_TARGET_MS if found["files"] == SMALL else LARGE_TARGET_MS
            most = SINGLE_TARGET_MS if kind in ("tool", "alone") else most
            aims = kind in ("unchanged", "edited", "tool", "alone")
            aimed = [f"≤ {most:g} ms", verdict(ms <= most)] if aims else ["", ""]
            rows.append([f"{found['files']} files: {words}", f"{ms:.1f}", f"{best:.1f}", f"{ratio:.2f}", *aimed])
    disk = figures["disk"]
    return "\n".join(
        [
            table(["checkpoint", "ms", "best", "ratio", "target", ""], rows),
            f"\n{disk['checkpoints']} checkpoints of 1000 files with a small edit each: {disk['kept']} kept in "
            f"{disk['bytes'] / 1e6:.1f} MB (the project's .git: {disk['project_bytes'] / 1e6:.1f} MB), "
            f"target ≤ {DISK_TARGET / 1e6:g} MB  {verdict(disk['bytes'] <= DISK_TARGET)}",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
