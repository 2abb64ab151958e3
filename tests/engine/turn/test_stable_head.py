"""What is sent again is what was sent before: a provider's cache holds over stages, turns and steps.

Tools and system message change only where the user turned a dial that must show, an agent or a toolset was entered,
or the conversation was compacted.
"""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

BUILD = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.NORMAL)
MENU = {
    "tools.presentation": "menu",
    "runs.delivery_check": True,
    "runs.qa_review": True,
    "runs.qa_controls": ["assisted"],
}
CAUSES = (p.DialsTurned, p.MenuMoved, p.AgentEntered, p.AgentDismissed, p.HistoryCompacted)
READ = call("Read", file_path="tally/count.py")


def head(request: Request) -> bytes:
    return msgspec.json.encode([request.tools, request.messages[0]])


def conversed(repo: Path, replies: list[Any], inputs: list[str], **settings: Any) -> tuple[Driver, list[Request]]:
    model = ScriptedModel(replies)

    async def script(driver: Driver) -> None:
        for text in inputs:
            if text.startswith("/"):
                await driver.command(text)
            else:
                await driver.turn(text)

    driver = drive(repo, script, model, settings={**MENU, **settings}, axes=BUILD)
    return driver, model.requests


def test_one_edit_takes_four_requests_and_one_head_more(repo: Path) -> None:
    enter, write = call("menu_enter", mode="swe"), call("Write", file_path="n.txt", content="n\n")
    _, requests = conversed(repo, [[enter], [READ], [write], "Written."], ["write n.txt"], **{"runs.qa_review": False})
    assert len(requests) == 4
    assert len({head(request) for request in requests}) == 2


def test_one_edit_takes_three_requests_and_one_head_where_all_tools_are_in_view(repo: Path) -> None:
    write = call("Write", file_path="n.txt", content="n\n")
    flat = {"runs.qa_review": False, "tools.presentation": "flat"}
    _, requests = conversed(repo, [[READ], [write], "Written."], ["write n.txt"], **flat)
    assert len(requests) == 3
    assert len({head(request) for request in requests}) == 1


@pytest.mark.everything
def test_with_all_schemas_not_even_a_toolset_changes_the_head(repo: Path) -> None:
    enter, write = call("menu_enter", mode="swe"), call("Write", file_path="n.txt", content="n\n")
    replies = [[enter], [READ], [write], "Written.", '{"summary": "fine"}', "It counts."]
    _, requests = conversed(repo, replies, ["write n.txt", "what is it?"], **{"tools.all_schemas": True})
    assert len(requests) == 6
    assert len({head(request) for request in requests}) == 1
    assert requests[0].allowed and "Read" not in requests[0].allowed
    assert requests[1].allowed and "Read" in requests[1].allowed and "browser_click" not in requests[1].allowed
    assert {"Read", "browser_click"} <= {tool.name for tool in requests[0].tools}


def test_a_question_takes_one_request_and_those_of_its_reads(repo: Path) -> None:
    _, requests = conversed(repo, ["It counts."], ["what does it do?"])
    assert len(requests) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_prefix_of_each_request_is_the_one_before_but_for_the_listed_causes(repo: Path, seed: int) -> None:
    driver, requests = conversed(repo, *generated(Random(seed)))
    _holds(driver, requests)


def generated(chance: Random) -> tuple[list[Any], list[str]]:
    """Replies and inputs: questions, changes, checks that fail, reviews, commands that turn dials, in any order."""
    inputs, replies = [], list[Any]()
    for turn in range(chance.randint(1, 3)):
        if chance.random() < 0.3:
            inputs.append(
                chance.choice(["/permission-profile trusted", "/mode build", "/model-mode deep", "/reasoning"])
            )
        change = chance.random() < 0.6
        inputs.append(f"write n{turn}.txt" if change else "what does count do?")
        if turn == 0 or chance.random() < 0.2:
            replies.append([call("menu_enter", mode=chance.choice(["swe", "data", "git"]) if turn else "swe")])
        for step in range(chance.randint(0, 3)):
            replies.append([call("Read", file_path="tally/count.py", limit=step + 1 + 5 * turn)])
        if change:
            replies.append([call("Write", file_path=f"n{turn}.txt", content=f"{turn}\n")])
            replies += ["Written.", '{"summary": "fine", "severity": "none"}']
        else:
            replies.append("It counts.")
    return [*replies, *["That is all; no change was needed."] * 8], inputs


def _holds(driver: Driver, requests: list[Request]) -> None:
    """Each request against the one before: the same head unless something turned, and the conversation only grown."""
    between: list[bool] = []
    caused = False
    for event in driver.seen:
        if isinstance(event, CAUSES):
            caused = True
        elif isinstance(event, p.ModelRequested):
            between.append(caused)
            caused = False
    assert len(between) == len(requests)
    for before, now, was_caused in zip(requests, requests[1:], between[1:], strict=False):
        if not was_caused:
            assert head(before) == head(now)
        said = [m for m in before.messages[1:] if not m.passing]
        again = [m for m in now.messages[1:] if not m.passing]
        kept = said if again[: len(said)] == said else _conversation_of(said, again)
        assert again[: len(kept)] == kept


def _conversation_of(said: list[Any], again: list[Any]) -> list[Any]:
    """What a stage aside was told is left out of the next request; the conversation before it is not."""
    shared = 0
    while shared < min(len(said), len(again)) and said[shared] == again[shared]:
        shared += 1
    return said[:shared] if shared else said
