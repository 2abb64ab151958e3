"""What a call asks of another model is on record, counts in cost and limits, and replays."""

from pathlib import Path

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Usage
from quintet.engine.reports import accounts
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

LARGE = {
    "models.large.base_url": "http://127.0.0.1:9",
    "models.large.model": "large-1",
    "models.large.price_output": 1000.0,
    "routing.deep": "large",
}
ASK = [call("ask_smart_friend", question="why?")]


def test_what_a_call_asked_counts_in_the_turn_and_in_the_session(repo: Path) -> None:
    model = ScriptedModel([ASK, "Because.", "It is because."])

    async def script(driver: Driver) -> None:
        finished = await driver.turn("find out")
        assert (finished.status, finished.answer) == ("done", "It is because.")
        assert (finished.usage, finished.cost) == (Usage(30, 15), 0.005)
        assert driver.session.state.spent.usage == Usage(30, 15)
        assert driver.session.state.spent.cost == 0.005

    driver = drive(repo, script, model, settings=LARGE)
    (consulted,) = driver.of(p.ModelConsulted)
    assert (consulted.tool, consulted.route, consulted.model) == ("ask_smart_friend", "deep", "large")
    assert (consulted.usage, consulted.cost) == (Usage(10, 5), 0.005)
    (finished,) = driver.of(p.ToolFinished)
    assert (finished.content, finished.call) == ("Because.", consulted.call)
    lines = accounts.requests([p.Recorded(n, "2026-01-01T00:00:00.000Z", e) for n, e in enumerate(driver.seen)])
    assert [(line.stage, line.model, line.cost) for line in lines] == [
        ("act", "builtin", 0.0),
        ("consult", "large", 0.005),
        ("tool_followup", "builtin", 0.0),
    ]


def test_a_call_that_would_ask_is_not_begun_when_the_money_is_spent(repo: Path) -> None:
    model = ScriptedModel([ASK, "Because.", [call("ask_smart_friend", question="and why that?")], "Because of this."])

    async def script(driver: Driver) -> None:
        finished = await driver.turn("find out")
        assert finished.status == "limit"
        assert "limits.max_cost = 0.004, spent 0.0050" in finished.reason

    driver = drive(repo, script, model, settings={**LARGE, "limits.max_cost": 0.004})
    assert len(driver.of(p.ModelConsulted)) == 1


def test_two_questions_in_one_step_are_stopped_after_the_first(repo: Path) -> None:
    two = [call("ask_smart_friend", question="why?"), call("ask_smart_friend", question="how?")]
    model = ScriptedModel([two, "Because.", "Like this."])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("find out")).status == "limit"

    driver = drive(repo, script, model, settings={**LARGE, "limits.max_cost": 0.004})
    assert len(driver.of(p.ModelConsulted)) == 1
    assert len(model.requests) == 2
