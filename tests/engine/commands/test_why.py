"""/why: why a call was decided so, by any number that is shown beside it, or the last decision."""

from pathlib import Path

from quintet.domain.journal import protocol as p
from quintet.testing import ScriptedModel, call
from tests.engine.driving import BUILD, Driver, drive

READ = call("Read", file_path="tally/count.py")
PUSH = call("bash", command="git push --force")


def test_any_number_of_a_call_leads_to_its_decision_and_without_one_it_is_the_last(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        first = await driver.command("/why")
        assert first.ok and first.text == "nothing was decided in this session yet"
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        await driver.session.submit(p.Answer(question=asked.question, choice="n"))
        await driver.until_type(p.TurnFinished)
        events = driver.session.past_events(0, 10_000)
        numbers = {type(one.event): one.seq for one in events if getattr(one.event, "tool", "bash") == "bash"}
        last = (await driver.command("/why")).text
        assert "git push --force" in last and "because" in last and f"event    {numbers[p.CallDecided]}," in last
        for kind in (p.CallDecided, p.QuestionAsked, p.QuestionAnswered, p.ToolFinished):
            assert (await driver.command(f"/why {numbers[kind]}")).text == last, kind
        read = next(one.seq for one in events if isinstance(one.event, p.ToolStarted) and one.event.tool == "Read")
        assert (await driver.command(f"/why {read}")).text.startswith("allowed  Read")
        ended = next(one.seq for one in events if isinstance(one.event, p.TurnFinished))
        nearest = f"before   {numbers[p.CallDecided]} decides about bash  git push --force"
        assert nearest in (await driver.command(f"/why {ended}")).text.splitlines()
        for wrong, said in (("x", "not a number"), ("0", "not one of this session"), ("9" * 30, "not one of this")):
            ran = await driver.command(f"/why {wrong}")
            assert not ran.ok and said in ran.text

    drive(repo, script, ScriptedModel([[READ], [PUSH], "ok"]), person=True, axes=BUILD)
