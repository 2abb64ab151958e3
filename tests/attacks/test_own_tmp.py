"""A line that writes to /tmp stays in the sandbox, which has one of its own, unless this machine has that name."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
NAME = f"quintet-own-{uuid.uuid4().hex}"  # that this machine does not have


def ran(repo: Path, *lines: str, sandbox: str = "bwrap") -> list[p.Event]:
    async def run(driver: Driver) -> None:
        await driver.turn("go")

    model = ScriptedModel([*([call("bash", command=line)] for line in lines), "ok"])
    return drive(repo, run, model, axes=BUILD, settings={"sandbox.use": sandbox}).seen


def decided(events: list[p.Event]) -> list[p.CallDecided]:
    return [event for event in events if isinstance(event, p.CallDecided)]


def finished(events: list[p.Event]) -> list[str]:
    return [event.content for event in events if isinstance(event, p.ToolFinished)]


@pytest.mark.system("bwrap")
@pytest.mark.parametrize(
    "line",
    [
        "echo hi > /tmp/{name}",
        "git diff > /tmp/{name}.diff",
        "ls 2>&1 | tee /tmp/{name}",
        "mkdir -p /tmp/{name}/a && cp notes.txt /tmp/{name}/a/",
        "echo hi >> /tmp/{name}; tail -1 /tmp/{name}",
    ],
)
def test_it_goes_unasked_and_inside(repo: Path, line: str) -> None:
    (repo / "notes.txt").write_text("x")
    events = ran(repo, line.format(name=NAME), f"ls -d /tmp/{NAME}*")
    first = decided(events)[0]
    assert first.verdict is Verdict.ALLOW, first.reason
    assert Effect.OUTSIDE not in first.effects and "network off" in first.access
    assert not list(Path("/tmp").glob(f"{NAME}*"))  # nothing of it is this machine's
    assert NAME in finished(events)[1]  # and the next command finds it


@pytest.mark.parametrize(
    ("line", "sandbox"),
    [
        ("echo hi > {here}/x", "bwrap"),  # the name is taken on this machine
        ("echo hi > /tmp/../etc/{name}", "bwrap"),
        ("echo hi > /var/tmp/{name}", "bwrap"),
        ("ls /tmp > /tmp/{name}", "bwrap"),  # reads what is meant to be this machine's
        ("cp {here}/x /tmp/{name}", "bwrap"),
        ("cd /tmp && touch {name}", "bwrap"),
        ("echo hi > /tmp", "bwrap"),
        ("echo hi > /tmp/{name}", "partial"),
        ("echo hi > /tmp/{name}", "none"),
    ],
)
def test_what_may_be_this_machines_still_asks(repo: Path, tmp_path: Path, line: str, sandbox: str) -> None:
    here = Path("/tmp") / NAME
    here.mkdir(exist_ok=True) if "{here}" in line else None
    try:
        first = decided(ran(repo, line.format(here=here, name=NAME), sandbox=sandbox))[0]
    finally:
        here.rmdir() if "{here}" in line else None
    assert first.verdict is not Verdict.ALLOW and Effect.OUTSIDE in first.effects
