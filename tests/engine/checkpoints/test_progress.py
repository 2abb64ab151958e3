"""Keeping many files shows how far it is, on every surface, and can be left."""

import asyncio
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from quintet.adapters.git.run_git import STOP, GitStop, GitStopped
from quintet.adapters.git.shadow_git import FILES_A_LOOK, FILES_AT_ONCE, ShadowGit
from quintet.domain.journal import protocol as p
from quintet.domain.ports.ports import Snapshot
from quintet.engine.checkpoints.keeper import KEEPING, CheckpointKeeper
from quintet.surfaces.plain import PlainOutput
from quintet.testing import FrozenClock


class SlowCheckpoints:
    """Keeps files until it is let go."""

    whole = True
    progress = 20_000, 100_000

    def __init__(self) -> None:
        self.go, self.left = asyncio.Event(), False

    async def snapshot(self, point: str, named: object = ()) -> Snapshot:
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.left = True
            raise
        return Snapshot("tree", ())


class Keeping:
    def __init__(self) -> None:
        self.kept, self.seen = SlowCheckpoints(), asyncio.Event()
        self.signals: list[p.Signal] = []
        settings = SimpleNamespace(checkpoints=SimpleNamespace(keep=200, enabled=True))
        core = SimpleNamespace(settings=settings, checkpoints=self.kept, clock=FrozenClock())
        self.keeper = CheckpointKeeper(cast(Any, core), cast(Any, SimpleNamespace(signal=self._signal)))

    def _signal(self, signal: p.Signal) -> None:
        self.signals.append(signal)
        self.seen.set()

    def begin(self) -> asyncio.Task[Snapshot | None]:
        return asyncio.create_task(self.keeper._snapshot(cast(Any, self.kept), "turn"))


def test_it_is_shown_how_far_keeping_files_is_until_it_is_over() -> None:
    async def run() -> None:
        keeping = Keeping()
        work = keeping.begin()
        await keeping.seen.wait()
        keeping.kept.go.set()
        assert await work == Snapshot("tree", ())
        assert keeping.signals[0] == p.Working(what=KEEPING, done=20_000, total=100_000)

    asyncio.run(run())


def test_keeping_files_is_left_when_the_turn_is() -> None:
    async def run() -> None:
        keeping = Keeping()
        work = keeping.begin()
        await keeping.seen.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert keeping.kept.left

    asyncio.run(run())


def test_many_files_are_kept_in_parts_so_that_the_count_moves(repo: Path, tmp_path: Path) -> None:
    class Counting(ShadowGit):
        seen: list[tuple[int, int, int]]

        def run(self, lock: int, *arguments: str, given: bytes = b"", **named: Any) -> bytes:  # type: ignore[override]
            self.seen.append((*self.progress, given.count(b"\0")))
            return b""

    shadow = Counting(str(tmp_path / "shadow"), str(repo))
    shadow.seen = []
    shadow._update(0, [b"%d" % number for number in range(2 * FILES_AT_ONCE + 5)])
    total = 2 * FILES_AT_ONCE + 5
    assert shadow.seen == [
        (0, total, FILES_AT_ONCE),
        (FILES_AT_ONCE, total, FILES_AT_ONCE),
        (2 * FILES_AT_ONCE, total, 5),
    ]
    assert shadow.progress == (0, 0)


def test_the_plain_surface_says_it_in_one_line_or_once(capsys: pytest.CaptureFixture[str]) -> None:
    typed, piped = io.StringIO(), io.StringIO()
    for stream, prompts in ((typed, True), (piped, False)):
        out = PlainOutput(stream, "never", prompts=prompts)
        for done in (0, 10_000):
            out.work(p.Working(what=KEEPING, done=done, total=30_000))
    assert typed.getvalue().split("\r")[1:] == [
        f"  {KEEPING}: 0 of 30,000 (Ctrl+C leaves it) ",
        f"  {KEEPING}: 10,000 of 30,000 (Ctrl+C leaves it) ",
    ]
    assert piped.getvalue() == ""
    assert capsys.readouterr().err == f"{KEEPING}: 0 of 30,000\n"


def test_a_look_through_many_names_is_left_when_nobody_waits_for_it(repo: Path, tmp_path: Path) -> None:
    class Listed(ShadowGit):
        """Names of many files; somebody interrupts at the first."""

        looked = 0

        def _differing(self, lock: int) -> bytes:
            return b"".join(b"f%d\0" % number for number in range(10 * FILES_A_LOOK))

        def _left_out(self, name: bytes) -> bool:
            Listed.looked += 1
            stop.now()
            return False

    stop = GitStop()
    before = STOP.set(stop)
    try:
        with pytest.raises(GitStopped):
            Listed(str(tmp_path / "checkpoints"), str(repo))._tree(0, "")
    finally:
        STOP.reset(before)
    assert Listed.looked == FILES_A_LOOK
