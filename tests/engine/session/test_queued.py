"""Inputs that wait: seen, changed, dropped one by one; what stops a turn holds them; their order outlives a crash."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.engine.turn.turn_runner import Turns, TurnWork
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

CHAT = AxesChange(WorkMode.CHAT, RunControl.ASSISTED)
WAITS = [call("wait", seconds=60)]


async def five(driver: Driver) -> list[str]:
    """A turn that waits, and five inputs behind it."""
    await driver.session.say("wait")
    await driver.until(lambda e: isinstance(e, p.ToolStarted))
    said = [await driver.session.say(f"input {number}") for number in range(1, 6)]
    await driver.until(lambda e: isinstance(e, p.InputReceived) and e.submission == said[-1])
    return said


def begun(driver: Driver) -> list[str]:
    return [event.text for event in driver.of(p.TurnStarted)]


def test_what_waits_is_listed_changed_and_dropped_one_by_one_and_an_interrupt_holds_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        said = await five(driver)
        assert "3  input 3" in (await driver.command("/queued")).text
        assert (await driver.command("/queued drop 3")).text == "removed: input 3"
        changed = await driver.command("/queued edit 3 input four --with a flag")
        assert changed.ok, "the fourth is the third now"
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)
        await driver.command("/status")  # something else goes on as it did
        assert begun(driver) == ["wait"] and not driver.session.state.busy
        assert "held" in (await driver.command("/queued")).text
        await driver.turn("a new one")
        assert begun(driver) == ["wait", "a new one"], "what is held waits on"
        assert (await driver.command("/resume")).text == "continues with the queued inputs"
        await driver.ended(said[-1])
        assert begun(driver)[2:] == ["input 1", "input 2", "input four --with a flag", "input 5"]
        assert [e.submission for e in driver.of(p.InputWithdrawn)] == [said[2]]

    drive(repo, script, ScriptedModel([WAITS, *["yes"] * 5]), axes=CHAT)


def test_stop_holds_what_waits_too(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await five(driver)
        await driver.command("/stop")
        await driver.until_type(p.TurnFinished)
        assert (await driver.command("/queued drop all")).text == "5 queued inputs removed"
        assert not (await driver.command("/queued run")).ok and begun(driver) == ["wait"]

    drive(repo, script, ScriptedModel([WAITS]), axes=CHAT)


def test_an_interrupted_turn_goes_on_before_what_waits_behind_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        said = await five(driver)
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)
        assert (await driver.command("/resume")).text == "continues from where it was interrupted"
        await driver.ended(said[-1])
        assert begun(driver) == ["wait", "", *(f"input {number}" for number in range(1, 6))]

    drive(repo, script, ScriptedModel([WAITS, *["yes"] * 6]), axes=CHAT)


def test_what_was_held_is_held_in_its_order_when_the_session_is_opened_again(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        await five(driver)
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)

    session = drive(repo, first, ScriptedModel([WAITS]), axes=CHAT).session.id

    async def second(driver: Driver) -> None:
        assert [one.text for one in driver.session.state.turns.waiting] == [f"input {n}" for n in range(1, 6)]
        await driver.command("/queued run")
        await driver.until(lambda e: isinstance(e, p.TurnStarted) and e.text == "input 5")
        assert begun(driver)[1:] == [f"input {n}" for n in range(1, 6)]

    drive(repo, second, ScriptedModel(["yes"] * 5), axes=CHAT, resume=session)


def test_whoever_waits_for_an_input_that_is_dropped_is_told(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        said = await five(driver)
        await driver.command(f"/queued drop {said[1]}")
        followed = driver.session.follow(said[1], after=0)
        async for _ in followed:
            pass
        assert (followed.outcome.status, followed.outcome.reason) == ("cancelled", "dropped")
        missing = await driver.command("/queued drop 9")
        assert not missing.ok and "no queued input 9" in missing.text

    drive(repo, script, ScriptedModel([WAITS]), axes=CHAT)


def test_a_command_that_comes_right_after_a_turn_s_end_finds_it_over(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sees the end on record may be faster than the work that put it there.

    Not recorded: what makes the work linger here is in no recording.
    """
    run = Turns.run

    async def lingers(self: Turns, work: TurnWork) -> Any:
        result = await run(self, work)
        await asyncio.sleep(0.05)
        return result

    async def script(driver: Driver) -> None:
        await driver.turn("hello")
        cleared = await driver.command("/clear")
        assert cleared.ok, cleared.text
        await driver.session.say("wait")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)
        await driver.command("/resume")
        await driver.until(lambda e: isinstance(e, p.TurnFinished) and e.answer == "went on")

    with monkeypatch.context() as patched:
        patched.setattr(Turns, "run", lingers)
        drive(repo, script, ScriptedModel(["hi", WAITS, "went on"]), axes=CHAT, settings={"runs.record": False})
