"""What a turn costs by what is known of its model, what a limit on money cannot hold, and what a recording keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import EndPart, Finish, TextPart, Usage
from quintet.testing import ScriptedModel
from tests.engine.driving import Driver, drive
from tests.replaying import recordings

KNOWN = {
    "models.big.base_url": "https://api.example/v1",
    "models.big.model": "claude-opus-5",
    "routing.smart": "big",
    "runs.delivery_check": False,
}
USED = [TextPart("hello"), EndPart(Finish.STOP, Usage(1_000_000, 100_000, 600_000), 300_000)]


async def one_turn(driver: Driver) -> None:
    await driver.turn("hello")


def test_a_known_model_costs_what_it_costs_cached_and_written_tokens_at_their_prices(repo: Path) -> None:
    driver = drive(repo, one_turn, ScriptedModel([list(USED)]), settings=KNOWN)
    (replied,) = driver.of(p.ModelReplied)
    assert replied.cost == pytest.approx(0.1 * 5.0 + 0.6 * 0.5 + 0.3 * 6.25 + 0.1 * 25.0)


def test_a_limit_on_money_stops_a_known_model_without_a_price_in_the_settings(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("hello")
        assert (await driver.turn("again")).reason.startswith("limits.max_cost = 1")

    driver = drive(repo, script, ScriptedModel([list(USED)]), settings={**KNOWN, "limits.max_cost": 1.0})
    assert [notice for notice in driver.of(p.Noticed) if notice.code == "PRICE_UNKNOWN"] == []


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_a_limit_that_cannot_stop_a_model_is_said_at_the_start(repo: Path, limit: float) -> None:
    settings = {**KNOWN, "models.big.model": "stranger", "limits.max_cost": limit}
    driver = drive(repo, one_turn, ScriptedModel(["hello"]), settings=settings)
    said = [notice.text for notice in driver.of(p.Noticed) if notice.code == "PRICE_UNKNOWN"]
    words = "limits.max_cost cannot stop big: the price is not known, so its requests count as 0. "
    assert said == ([f"{words}Set models.big.price_input and models.big.price_output."] if limit else [])


def test_the_effort_of_the_model_mode_goes_with_the_request(repo: Path) -> None:
    model = ScriptedModel(["hello"])
    drive(repo, one_turn, model, settings={**KNOWN, "routing.smart_effort": "low", "routing.deep_effort": "high"})
    assert {request.effort for request in model.requests} == {"low"}


def test_what_is_sent_beside_a_conversation_is_in_no_recording(repo: Path, tmp_path: Path) -> None:
    more = {name: {"x-secret": f"hidden-{name}"} for name in ("headers", "query", "body")}
    settings = {**KNOWN, **{f"models.big.{name}": value for name, value in more.items()}}
    drive(repo, one_turn, ScriptedModel(["hello"]), settings=settings)
    (path,) = recordings(tmp_path / "state")
    text = Path(path).read_text()
    assert "claude-opus-5" in text
    assert "hidden-" not in text
