"""What goes wrong in a turn, event by event: whole lists, and the fields that decide."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.base.errors import (
    ModelAuthFailed,
    ModelContextOverflow,
    ModelRateLimited,
    ModelUnreachable,
)
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import CallPart, EndPart, Finish, Part, Request, TextPart, ToolCall, Usage
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.turn.test_turn_runner import Waiting

BEGUN = ["SessionOpened", "InputReceived", "TurnStarted"]
ASKED = ["ModelRequested", "ModelReplied"]
ASSISTED = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)
RAN = ["CallDecided", "ToolStarted", "ToolFinished"]


def turned(root: Path, model: Any, **options: Any) -> Driver:
    async def script(driver: Driver) -> None:
        await driver.turn("go")

    return drive(root, script, model, deterministic=True, **options)


def ending(driver: Driver) -> tuple[str, str]:
    finished = driver.of(p.TurnFinished)[-1]
    return finished.status, finished.answer


class CutOff(ScriptedModel):
    """Streams a beginning and a call, then the connection breaks; the next request is answered."""

    def __init__(self, cuts: int = 1) -> None:
        super().__init__(["whole"])
        self._cuts = cuts

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        if self._cuts:
            self._cuts -= 1
            self.requests.append(request)
            yield TextPart("half an ans")
            yield call("Write", "call-1", file_path="cut.txt", content="x")
            raise ModelUnreachable("the connection broke")
        async for part in super().stream(request):
            yield part


# ── calls


@pytest.mark.parametrize("arguments", ['{"file_path": ', "file_path=tally", "", "[]", "null", '{"file_path": 7}', "{}"])
def test_malformed_arguments_are_a_result_and_the_model_mends_them(repo: Path, arguments: str) -> None:
    bad: list[Part] = [CallPart(ToolCall("call-1", "Read", arguments))]
    model = ScriptedModel([bad, [call("Read", "call-2", file_path="tally/count.py")], "three lines"])
    driver = turned(repo, model)
    assert driver.types() == [*BEGUN, *ASKED, "ToolFinished", *ASKED, *RAN, *ASKED, "TurnFinished"]
    refused, read = driver.of(p.ToolFinished)
    assert (refused.call, refused.status, read.status) == ("call-1", CallStatus.ERROR, CallStatus.OK)
    assert model.requests[1].messages[-1].text == refused.content
    assert "Read" in refused.content or "file_path" in refused.content
    assert ending(driver) == ("done", "three lines")


def test_an_unknown_tool_is_a_result_that_names_the_nearest(repo: Path) -> None:
    model = ScriptedModel([[call("Reed", file_path="tally/count.py")], "no such tool"])
    driver = turned(repo, model)
    assert driver.types() == [*BEGUN, *ASKED, "ToolFinished", *ASKED, "TurnFinished"]
    refused = driver.of(p.ToolFinished)[0]
    assert refused.status is CallStatus.ERROR and "Reed" in refused.content and "Read" in refused.content
    assert ending(driver) == ("done", "no such tool")


def test_a_tools_error_is_a_result_and_the_run_recovers(repo: Path) -> None:
    model = ScriptedModel([[call("Read", file_path="missing.py")], [call("Read", file_path="tally/count.py")], "found"])
    driver = turned(repo, model)
    assert driver.types() == [*BEGUN, *ASKED, *RAN, *ASKED, *RAN, *ASKED, "TurnFinished"]
    failed, read = driver.of(p.ToolFinished)
    assert (failed.status, read.status) == (CallStatus.ERROR, CallStatus.OK)
    assert "missing.py" in failed.content
    assert [event.stage for event in driver.of(p.ModelRequested)] == ["act", "tool_followup", "tool_followup"]
    assert ending(driver) == ("done", "found")


# ── the stream


def test_an_interrupt_in_the_middle_of_a_stream(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await model.begun.wait()
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)

    model = Waiting()
    driver = drive(repo, script, model, deterministic=True)
    assert driver.types() == [*BEGUN, "ModelRequested", "CommandRan", "ModelReplied", "TurnFinished"]
    partial = driver.of(p.ModelReplied)[0]
    assert (partial.text, partial.partial) == ("thinking about ", True)
    assert ending(driver) == ("interrupted", "") and driver.session.state.turns.interrupted


def test_a_connection_cut_in_the_middle_of_a_stream_is_tried_again_and_nothing_of_it_is_acted_on(repo: Path) -> None:
    model = CutOff()
    driver = turned(repo, model)
    assert driver.types() == [*BEGUN, "ModelRequested", "ModelFailed", *ASKED, "TurnFinished"]
    failed = driver.of(p.ModelFailed)[0]
    assert failed.error.code == "LLM_HTTP_ERROR" and failed.retry_in is not None
    assert [event.attempt for event in driver.of(p.ModelRequested)] == [1, 2]
    assert model.requests[0].messages == model.requests[1].messages, "the half answer is not in the second request"
    assert not (repo / "cut.txt").exists()
    assert ending(driver) == ("done", "whole")
    assert driver.of(p.TurnFinished)[0].steps == 1


def test_a_connection_that_stays_cut_keeps_the_last_half_and_fails(repo: Path) -> None:
    driver = turned(repo, CutOff(9), settings={"limits.retries": 1})
    failing = ["ModelRequested", "ModelFailed"]
    assert driver.types() == [*BEGUN, *failing, "ModelRequested", "ModelReplied", "ModelFailed", "TurnFinished"]
    kept = driver.of(p.ModelReplied)[0]
    assert (kept.text, kept.partial, kept.calls) == ("half an ans", True, ())
    assert driver.of(p.ModelFailed)[-1].retry_in is None
    assert ending(driver) == ("failed", "")


# ── what servers say


def test_429_counts_down_the_time_it_names_and_tries_again(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        async def listen() -> None:
            async for item in driver.session.events(signals=True):
                if isinstance(item, p.Countdown):
                    counted.append(item.seconds)
                    assert item.why == "slow down"
                if isinstance(item, p.Recorded) and isinstance(item.event, p.TurnFinished):
                    return

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0)
        await driver.turn("go")
        await listening

    counted: list[float] = []
    model = ScriptedModel([ModelRateLimited("slow down", retry_after=3.0), "hello"])
    driver = drive(repo, script, model, deterministic=True)
    assert driver.types() == [*BEGUN, "ModelRequested", "ModelFailed", *ASKED, "TurnFinished"]
    failed = driver.of(p.ModelFailed)[0]
    assert (failed.error.code, failed.retry_in) == ("LLM_RATE_LIMITED", 3.0)
    assert counted == [3.0, 2.0, 1.0]
    assert ending(driver) == ("done", "hello")


FINAL = [
    (ModelAuthFailed("the key was refused", hint="set KEY"), "LLM_AUTH_FAILED", "set KEY"),
    (ModelContextOverflow("too long"), "LLM_CONTEXT_OVERFLOW", "/compact"),
]


@pytest.mark.parametrize(("error", "code", "hint"), FINAL, ids=[code for _, code, _ in FINAL])
def test_what_no_second_try_mends_ends_the_turn_and_says_what_to_do(
    repo: Path, error: Exception, code: str, hint: str
) -> None:
    model = ScriptedModel([error, "never asked"])
    driver = turned(repo, model)
    assert driver.types() == [*BEGUN, "ModelRequested", "ModelFailed", "TurnFinished"]
    finished = driver.of(p.TurnFinished)[0]
    assert finished.status == "failed" and finished.error
    assert finished.error.code == code and hint in finished.error.hint
    assert driver.of(p.ModelFailed)[0].retry_in is None and len(model.requests) == 1


def test_a_reply_that_reaches_its_length_limit_ends_the_turn_as_a_limit(repo: Path) -> None:
    cut: list[Part] = [TextPart("so far"), EndPart(Finish.LENGTH, Usage(1, 1))]
    driver = turned(repo, ScriptedModel([cut, "never asked"]))
    assert driver.types() == [*BEGUN, *ASKED, "TurnFinished"]
    assert ending(driver) == ("limit", "so far")


# ── delivery


def test_done_without_evidence_event_by_event(repo: Path) -> None:
    model = ScriptedModel(["All finished.", "DONE", "Really.", "DONE"])
    driver = turned(repo, model, axes=ASSISTED, settings={"runs.delivery_check": True})
    checked = [*ASKED, *ASKED, "DeliveryChecked"]
    assert driver.types() == [*BEGUN, *checked, "Corrected", *checked, "TurnFinished"]
    stages = [event.stage for event in driver.of(p.ModelRequested)]
    assert stages == ["act", "delivery_check", "act", "delivery_check"]
    assert [(event.state, event.evidence) for event in driver.of(p.DeliveryChecked)] == [("NEEDS_WORK", ())] * 2
    assert driver.of(p.Corrected)[0].kind == "no_evidence"
    finished = driver.of(p.TurnFinished)[0]
    assert (finished.status, finished.answer, finished.delivery) == ("done", "Really.", "NEEDS_WORK")
