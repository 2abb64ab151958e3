"""What is stored of helpers, as commands show it: beside their session, and counted once."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.app.lookups import needed
from quintet.app.open import LATEST
from quintet.cli.main import main
from quintet.domain.turn.messages import Request
from quintet.testing import Reply, call
from tests.features.helpers.helping import model, opened, said, started, turns_of

PRICED = {
    "models.dear.base_url": "http://127.0.0.1:9/v1",
    "models.dear.model": "m",
    "models.dear.price_input": 100_000.0,  # 1 for the 10 tokens of a scripted request
    "routing.smart": "dear",
}


def _nests(request: Request, task: str) -> Reply:
    if task == "outer" and turns_of(request) == 0:
        return started("inner")
    if task == "inner" and turns_of(request) == 0:
        return [call("Read", file_path="tally/count.py")]
    return f"report on {task}"


@pytest.fixture
def session(repo: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session whose helper started a helper, in the current folder."""

    async def run() -> str:
        async with opened(repo, model([started("outer")], _nests), settings=PRICED) as session:
            await said(session)
            assert session.state.spent.cost == pytest.approx(2 + 2 + 2)
            return str(session.id)

    monkeypatch.chdir(repo)
    return asyncio.run(run())


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_helpers_lists_them_with_theirs(session: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(capsys, "helpers", session, "--json"))
    assert [(one["session"], one["helper"], one["depth"], one["status"]) for one in found] == [
        (f"{session}.1", "explorer-1", 1, "done"),
        (f"{session}.1.1", "explorer-1", 2, "done"),
    ]
    assert [one["cost"] for one in found] == pytest.approx([4, 2])  # the first has started the second
    lines = shown(capsys, "helpers", "--reports")
    assert "report on inner" in lines
    assert shown(capsys, "helpers", f"{session}.1").count("explorer-1") == 1


def test_a_helpers_session_is_found_by_its_id_and_is_in_no_list(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [one["session"] for one in json.loads(shown(capsys, "sessions", "list", "--json"))] == [session]
    assert "report on inner" in shown(capsys, "sessions", "show", f"{session}.1.1")
    assert session in shown(capsys, "sessions", "show", session[:-2])  # the beginning of an id means the session itself


def test_the_newest_session_is_never_a_helpers(session: str, repo: Path) -> None:
    async def run() -> str:
        async with opened(repo, model([], _nests), resume=LATEST, axes=None) as resumed:
            return str(resumed.id)

    assert asyncio.run(run()) == session


def test_the_cost_of_helpers_counts_once(session: str, capsys: pytest.CaptureFixture[str]) -> None:
    cost = json.loads(shown(capsys, "cost", "--json"))
    assert cost["total"]["requests"] == 6
    assert cost["total"]["cost"] == pytest.approx(6)
    rows = needed(locate())
    assert rows.project_cost() == pytest.approx(6)
    rows.close()


def test_why_shows_the_chain_above_a_helpers_decision(session: str, capsys: pytest.CaptureFixture[str]) -> None:
    events = [json.loads(line) for line in shown(capsys, "sessions", "show", f"{session}.1.1", "--events").splitlines()]
    number = next(one["seq"] for one in events if one["type"] == "call_decided" and one["tool"] == "Read")
    lines = shown(capsys, "why", str(number)).splitlines()
    chain = [line.split() for line in lines[-5:-2]]
    assert chain[0][:3] == ["held", "by", session]
    assert [line[0] for line in chain[1:]] == [f"{session}.1", f"{session}.1.1"]
    assert lines[-2].startswith("helper   explorer-1, for call ")
    assert len(json.loads(shown(capsys, "why", str(number), "--json"))["chain"]) == 3


def test_helpers_are_purged_with_their_session(session: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "sessions", "purge", session, "--yes")
    assert main(["sessions", "show", f"{session}.1"]) == 1
    left = [name for _, _, names in os.walk(os.environ["XDG_STATE_HOME"]) for name in names if "recording" in name]
    assert left == []
