"""A process that is killed while helpers run: nothing runs on, and the next owner comes to the same report."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.testing import Reply
from tests.features.helpers.helping import model, only, opened, said, started
from tests.features.helpers.victim import LINE, TASKS

pytestmark = pytest.mark.usefixtures("replays")
ROOT = Path(__file__).parents[3]


def _sleeping() -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if LINE.split()[-1].encode() in words:
                found.append(entry)
    return found


def _killed(repo: Path) -> str:
    """A session whose process was killed when one helper had ended and the other was in the middle of a command."""
    argv = [sys.executable, "-m", "tests.features.helpers.victim", str(repo)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        id, told = process.stdout.readline().strip(), ""
        while not ("explorer-1: ended" in told and "explorer-2: working · bash" in told):
            line = process.stdout.readline()
            assert line, told
            told += line
        while not _sleeping():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    return id


@pytest.mark.cut_short("its process is killed")
def test_a_kill_leaves_no_orphan_and_a_resume_comes_to_the_same_report(repo: Path) -> None:
    id = _killed(repo)
    for _ in range(500):
        if not _sleeping():
            break
        time.sleep(0.02)
    assert _sleeping() == []

    asked: list[str] = []

    def helper(request: Request, task: str) -> Reply:
        asked.append(task)
        return f"report on {task}"

    async def run() -> tuple[list[p.Event], list[p.Event], int]:
        async with opened(repo, model([started(*TASKS)], helper), resume=id, axes=None) as session:
            first = [each.event for each in session.past_events(0, session.since + 9)]
            events = await said(session, "/resume")
            spent = session.state.spent.usage.input_tokens
            return first, events, spent

    first, events, spent = asyncio.run(asyncio.wait_for(run(), 60))
    cut = only(p.ToolFinished, first)[-1]
    assert (cut.tool, cut.status) == ("run_helpers", "interrupted")
    assert "call run_helpers again" in cut.content
    report = only(p.ToolFinished, events)[-1].content
    assert report == (f"## explorer-1: done\nreport on {TASKS[0]}\n\n## explorer-2: done\nreport on {TASKS[1]}")
    assert asked == [TASKS[1]]  # the one that had finished was not run again
    # Three requests of helpers and three of the session: 10 tokens each, counted once.
    helpers = sum(e.usage.input_tokens for e in (*only(p.ModelConsulted, first), *only(p.ModelConsulted, events)))
    assert helpers == 30
    assert spent == 60


def test_the_same_task_again_is_a_new_helper(repo: Path) -> None:
    """Only a call that was cut short is taken up: one that has reported is over."""
    asked: list[str] = []

    def helper(request: Request, task: str) -> Reply:
        asked.append(task)
        return f"report {len(asked)}"

    async def run() -> list[str]:
        async with opened(repo, model([started("look"), started("look")], helper)) as session:
            return [one.content for one in only(p.ToolFinished, await said(session))]

    assert asyncio.run(run()) == ["## explorer-1: done\nreport 1", "## explorer-2: done\nreport 2"]
