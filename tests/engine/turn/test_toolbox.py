"""What a tool does wrong is the call's loss, never the run's."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from quintet.app import tool_registry as registry
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(*_: Any, **__: Any) -> ToolResult:
        raise LookupError("a key that is not there")

    broken = (structs.replace(spec, run=run) if spec.name == "wait" else spec for spec in registry.CORE)
    monkeypatch.setattr(registry, "CORE", tuple(broken))


@pytest.mark.usefixtures("breaks")
def test_a_tool_that_breaks_is_an_error_the_model_is_told_and_the_log_has_where(repo: Path, tmp_path: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("go")).answer == "another way then"

    driver = drive(repo, script, ScriptedModel([[call("wait", seconds=0)], "another way then"]))
    (finished,) = driver.of(p.ToolFinished)
    assert finished.status is CallStatus.ERROR
    assert finished.content.startswith("wait failed: LookupError: a key that is not there. Internal error in the tool")
    (log,) = (tmp_path / "state").rglob("*.log")
    assert "a key that is not there" in log.read_text() and "Traceback" in log.read_text()
