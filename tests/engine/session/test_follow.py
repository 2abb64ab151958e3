"""`Session.follow`: the events of an input to its end, and what came of it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.domain.dials.axes import AxesChange, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.engine.session.session import Session
from quintet.testing import ScriptedModel, call
from tests.engine.cycles import THREE, rules
from tests.engine.driving import BUILD

SECONDS = 60.0  # a limit, not a measure
PLAIN = {"tools.presentation": "flat", "runs.delivery_check": False, "runs.qa_review": False}


def over(repo: Path, script: Callable[[Session], Awaitable[None]], model: Any = None, **options: Any) -> None:
    async def run() -> None:
        options.setdefault("axes", BUILD)
        options.setdefault("settings", PLAIN)
        async with asyncio.timeout(SECONDS), quintet.open(str(repo), model=model or rules(), **options) as session:
            await script(session)

    asyncio.run(run())


def test_a_turn_is_followed_from_its_input_to_its_end(repo: Path) -> None:
    async def script(session: Session) -> None:
        await session.follow(await session.say("first")).end()
        followed = session.follow(await session.say("second"))
        seen = [item.event async for item in followed if isinstance(item, p.Recorded)]
        assert isinstance(seen[0], p.InputReceived) and seen[0].text == "second"
        assert seen[-1] is followed.outcome.event and isinstance(seen[-1], p.TurnFinished)
        assert (followed.outcome.status, followed.outcome.answer) == ("done", "two")

    over(repo, script, ScriptedModel(["one", "two"]))


def test_signals_come_with_the_events(repo: Path) -> None:
    async def script(session: Session) -> None:
        followed = session.follow(await session.say("hi"), signals=True)
        said = [item.text async for item in followed if isinstance(item, p.TextDelta)]
        assert "".join(said) == "hello"

    over(repo, script, ScriptedModel(["hello"], chunk=1))


def test_an_input_that_is_over_can_be_followed_once_more(repo: Path) -> None:
    async def script(session: Session) -> None:
        submission = await session.say("hi")
        first = await session.follow(submission).end()
        assert await session.follow(submission).end() == first

    over(repo, script, ScriptedModel(["hello"]))


def test_a_command_ends_at_once_also_while_a_turn_is_running(repo: Path) -> None:
    async def script(session: Session) -> None:
        turn = session.follow(await session.say("wait"))
        async for item in turn:
            if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolStarted):
                status = await session.follow(await session.say("/status")).end()
                assert status.status == "done" and "  running (live)" in status.answer
                refused = await session.follow(await session.say("/nonsense")).end()
                assert refused.status == "failed" and refused.reason.startswith("/nonsense is not a command")
                await session.submit(p.Interrupt())
        assert turn.outcome.status == "interrupted"

    over(repo, script, ScriptedModel([[call("bash", command="sleep 600")]]))


def test_a_command_that_begins_a_turn_ends_with_it(repo: Path) -> None:
    async def script(session: Session) -> None:
        outcome = await session.follow(await session.say("/research why is the sky blue")).end()
        assert isinstance(outcome.event, p.TurnFinished) and outcome.status == "done"

    over(repo, script, ScriptedModel(["# Answer\n\nbecause"]))


def test_resume_ends_with_the_turn_that_goes_on(repo: Path) -> None:
    async def script(session: Session) -> None:
        turn = session.follow(await session.say("wait"))
        async for item in turn:
            if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolStarted):
                await session.submit(p.Interrupt())
        resumed = await session.follow(await session.say("/resume")).end()
        assert (resumed.status, resumed.answer) == ("done", "gone on")

    over(repo, script, ScriptedModel([[call("bash", command="sleep 600")], "gone on"]))


def test_a_cycle_ends_when_control_returns(repo: Path) -> None:
    async def script(session: Session) -> None:
        planned = await session.follow(await session.say(f"/plan\n{THREE}")).end()
        assert planned.status == "waiting"
        built = await session.follow(await session.say("/accept --autonomous --permission-profile trusted")).end()
        assert isinstance(built.event, p.CycleStopped) and built.status == "done"

    over(repo, script, axes=AxesChange(WorkMode.BUILD, RunControl.ASSISTED), settings={})


def test_a_plan_that_is_not_accepted_ends_the_command_that_asked(repo: Path) -> None:
    async def script(session: Session) -> None:
        await session.follow(await session.say(f"/plan\n{THREE}")).end()
        asking = session.follow(await session.say("/accept"))
        async for item in asking:
            if isinstance(item, p.Recorded) and isinstance(item.event, p.QuestionAsked):
                await session.submit(p.Answer(question=item.event.question, choice="n"))
        assert asking.outcome.status == "cancelled"

    over(repo, script, axes=AxesChange(WorkMode.BUILD, RunControl.ASSISTED), settings={}, person=True)


def test_resume_of_a_paused_cycle_ends_with_the_cycle(repo: Path) -> None:
    async def script(session: Session) -> None:
        await session.follow(await session.say(f"/plan\n{THREE}")).end()
        building = session.follow(await session.say("/accept --autonomous --permission-profile trusted"))
        resumed, paused = None, False
        async for item in building:
            if isinstance(item, p.Recorded) and isinstance(item.event, p.CycleMoved) and not paused:
                paused = True
                await session.follow(await session.say("/pause")).end()
                resumed = session.follow(await session.say("/resume"))
        assert resumed is not None
        assert (await resumed.end()).event == building.outcome.event

    over(repo, script, axes=AxesChange(WorkMode.BUILD, RunControl.ASSISTED), settings={})


def test_from_another_process_it_is_followed_to_its_end(repo: Path) -> None:
    async def script(session: Session) -> None:
        async with quintet.open(str(repo), resume=session.id) as attached:
            assert not attached.owned_here
            outcome = await attached.follow(await attached.say("hi")).end()
            assert (outcome.status, outcome.answer) == ("done", "hello")

    over(repo, script, ScriptedModel(["hello"]))


@pytest.mark.parametrize("signals", [False, True])
def test_when_the_session_closes_first_the_input_is_interrupted(repo: Path, signals: bool) -> None:
    async def run() -> None:
        async with asyncio.timeout(SECONDS):
            opened = quintet.open(str(repo), model=ScriptedModel(["one"]), axes=BUILD)
            async with opened as session:
                unknown = session.follow("in-nobody", signals=signals)
                following = asyncio.create_task(unknown.end())
                await session.follow(await session.say("hi")).end()
            outcome = await following
            assert (outcome.status, outcome.event) == ("interrupted", None)

    asyncio.run(run())
