"""Pages of folders: told after the results of the call that went there, once, and again when they changed."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Role
from quintet.engine.replay.replay import ReplayOutcome
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.replaying import loaded, recordings, replay

READ = call("Read", file_path="tally/count.py")
TEST = call("Read", file_path="tests/test_count.py")


def told(repo: Path, *turns: list[Any], **options: Any) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel([reply for turn in turns for reply in turn])

    async def script(driver: Driver) -> None:
        for number, _ in enumerate(turns):
            assert (await driver.turn(f"input {number}")).status == "done"

    return drive(repo, script, model, **options), model


def pages(driver: Driver) -> list[str]:
    return [event.path for event in driver.of(p.AgentsPageTold)]


def test_a_page_comes_after_the_results_of_the_step_and_once(repo: Path) -> None:
    (repo / "tally/AGENTS.md").write_text("Count in bytes.")
    driver, model = told(repo, [[READ, TEST], [READ], "done"], [[call("Read", file_path="tally/AGENTS.md")], "done"])
    assert pages(driver) == ["tally/AGENTS.md"]
    roles = [message.role for message in model.requests[1].messages[1:]]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.USER]
    said = model.requests[1].messages[-1].text
    assert said.endswith("From tally/AGENTS.md:\n\nCount in bytes.") and "these count" in said
    assert model.requests[1].messages[0] == model.requests[0].messages[0]
    assert [m.text for m in model.requests[-1].messages].count(said) == 1


def test_a_page_that_changed_is_told_again(repo: Path) -> None:
    (repo / "tally/AGENTS.md").write_text("One.")
    write = call("Write", file_path="tally/AGENTS.md", content="Two.")
    driver, model = told(repo, [[READ], [write], [READ], "done"])
    assert pages(driver) == ["tally/AGENTS.md"] * 2
    assert model.requests[2].messages[-1].text.endswith("Two.")


@pytest.mark.parametrize("tool", ["Write", "bash"])
def test_a_file_that_is_changed_brings_the_page_too(repo: Path, tool: str) -> None:
    (repo / "tally/AGENTS.md").write_text("One.")
    line = call("bash", command="cd tally; echo x > new.py")
    write = call("Write", file_path="tally/new.py", content="x\n")
    driver, _ = told(repo, [[write if tool == "Write" else line], "done"])
    assert pages(driver) == ["tally/AGENTS.md"]


def test_without_a_page_there_is_no_event(repo: Path) -> None:
    (repo / "AGENTS.md").write_text("Root.")
    driver, _ = told(repo, [[READ, TEST], "done"])
    assert pages(driver) == []


def test_a_page_that_a_summary_took_away_is_told_again(repo: Path) -> None:
    (repo / "tally/AGENTS.md").write_text("One.")
    settings = {"compression.max_messages": 8, "compression.keep_messages": 2, "compression.by": "rules"}
    turns = [[[READ], "one"], *[["more"]] * 4, [[READ], "last"]]
    driver, model = told(repo, *turns, settings=settings)
    assert driver.of(p.HistoryCompacted)
    assert pages(driver) == ["tally/AGENTS.md"] * 2
    assert "One." in "".join(message.text for message in model.requests[-1].messages[1:])


def test_a_rewind_takes_the_page_back_with_the_rest(repo: Path) -> None:
    (repo / "tally/AGENTS.md").write_text("One.")
    model = ScriptedModel([[READ], "one", [READ], "two"])

    async def script(driver: Driver) -> None:
        await driver.turn("look")
        await driver.command("/rewind 1 conversation")
        await driver.turn("look")

    driver = drive(repo, script, model)
    assert driver.of(p.Rewound)
    assert pages(driver) == ["tally/AGENTS.md"] * 2


def test_a_run_with_pages_is_replayed_equal(repo: Path, tmp_path: Path) -> None:
    (repo / "AGENTS.md").write_text("Root.")
    (repo / "tally/AGENTS.md").write_text("One.\n@../tests/more.md")
    (repo / "tests/more.md").write_text("More.")
    driver, _ = told(repo, [[READ], [call("Write", file_path="tally/AGENTS.md", content="Two.")], "done"])
    assert pages(driver) == ["tally/AGENTS.md"] * 2
    (repo / "tally/AGENTS.md").unlink()
    (repo / "AGENTS.md").write_text("Other.")
    (recording,) = recordings(tmp_path / "state")
    assert replay(loaded(recording)) == ReplayOutcome(events=len(driver.seen) - 1, requests=3, calls=2)
