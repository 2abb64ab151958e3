"""Compaction in a session: when it is due and on /compact, by the rules or by the model; all of it journalled."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from quintet.app.open import open_session
from quintet.domain.base.errors import ModelUnreachable
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.journal.state import fold
from quintet.domain.turn.messages import EndPart, Finish, Request, Role, TextPart, Usage
from quintet.testing import Reply, ScriptedModel, call
from tests.engine.driving import BUILD, Driver, drive
from tests.engine.session.test_open_session import stored

RULES = {"compression.by": "rules"}
FEW = {"compression.max_messages": 6, "compression.keep_messages": 2, **RULES}
WRITTEN = "## Goal\n- count words\n## Next\n- none is known"
TITLE = "# The conversation so far"


def roles(request: Request) -> str:
    return "".join(message.role[0] for message in request.messages)


async def four_turns(driver: Driver) -> None:
    for number in range(1, 5):
        assert (await driver.turn(f"request {number}")).status == "done"


def test_s1_a_long_conversation_is_compacted_before_the_request_that_would_pass_the_count(repo: Path) -> None:
    model = ScriptedModel([f"answer {number}" for number in range(1, 5)])
    driver = drive(repo, four_turns, model, settings=FEW, deterministic=True)
    (event,) = driver.of(p.HistoryCompacted)
    assert (event.reason, event.before_messages, event.kept, event.by) == (
        "7 messages, compression.max_messages = 6",
        7,
        2,
        "rules",
    )
    assert event.summary.goals == ("request 1",)
    assert event.summary.decisions == ("answer 1", "answer 2")
    assert event.summary.last_requests == ("request 1", "request 2", "request 3")
    types = driver.types()
    at = types.index("HistoryCompacted")
    assert types[at - 1 : at + 2] == ["TurnStarted", "HistoryCompacted", "ModelRequested"]
    assert [roles(request) for request in model.requests] == ["su", "suau", "suauau", "suau"]
    summary, *kept = model.requests[-1].messages[1:]
    assert summary.text.startswith(TITLE) and all(f"request {n}" in summary.text for n in (1, 2, 3))
    assert [message.text for message in kept] == ["answer 3", "request 4"]
    assert driver.session.state.turns.open is None and len(driver.session.state.conversation.messages) == 4


def test_s1_tokens_make_it_due_in_the_middle_of_a_turn_and_no_result_loses_its_call(repo: Path) -> None:
    (repo / "big.txt").write_text("0123456789abcdef\n" * 400)
    reads: list[Reply] = [[call("Read", file_path="big.txt", limit=400 + more)] for more in range(6)]

    async def script(driver: Driver) -> None:
        assert (await driver.turn("read it six times")).answer == "done"

    model = ScriptedModel([*reads, "done"])
    driver = drive(repo, script, model, settings={"compression.max_tokens": 4000, **RULES})
    events = driver.of(p.HistoryCompacted)
    assert len(events) >= 2
    assert all("compression.max_tokens = 4000" in event.reason for event in events)
    assert all(event.after_tokens < event.before_tokens for event in events)
    assert events[-1].summary.key_outputs == ("read big.txt",)
    for request in model.requests:
        called: set[str] = set()
        for message in request.messages:
            called.update(made.id for made in message.calls)
            assert message.role is not Role.TOOL or message.call_id in called
        assert any("read it six times" in message.text for message in request.messages)


def test_with_both_limits_off_nothing_is_compacted(repo: Path) -> None:
    off = {"compression.max_messages": 0, "compression.max_tokens": 0, "compression.keep_messages": 1, **RULES}
    assert drive(repo, four_turns, settings=off).of(p.HistoryCompacted) == []


def test_the_journal_keeps_everything_and_folds_to_what_is_resumed(repo: Path) -> None:
    driver = drive(repo, four_turns, ScriptedModel(["a", "b", "c", "d"]), settings=FEW)
    recorded = [item.event for item in stored(repo, driver.session.id)]
    assert [e.text for e in recorded if isinstance(e, p.ModelReplied)] == ["a", "b", "c", "d"]
    assert msgspec.to_builtins(fold(recorded)) == msgspec.to_builtins(driver.session.state)

    async def again(resumed: Driver) -> None:
        assert resumed.session.state.conversation.messages == driver.session.state.conversation.messages
        await resumed.turn("request 5")

    model = ScriptedModel(["e"])
    drive(repo, again, model, resume=driver.session.id, axes=None, settings=FEW)
    assert model.requests[0].messages[1] == driver.session.state.conversation.messages[0]


def test_a_fork_begins_with_the_compacted_conversation(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await four_turns(driver)
        forked.append((await driver.command("/fork")).data["session"])

    forked: list[str] = []
    driver = drive(repo, script, settings=FEW)

    async def look(other: Driver) -> None:
        assert other.session.state.conversation.messages == driver.session.state.conversation.messages
        assert other.session.state.conversation.summary == driver.session.state.conversation.summary

    drive(repo, look, resume=forked[0], axes=None)


# ── /compact


def test_compact_says_how_much_smaller_it_became_and_that_there_is_nothing_left_to_do(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await four_turns(driver)
        first = await driver.command("/compact")
        event = driver.of(p.HistoryCompacted)[0]
        assert first.ok and first.text.startswith("compacted 8 → 3 messages, about ")
        assert (event.reason, event.kept) == ("/compact", 2)
        lines = [line.text for said in (event, first) for line in describe(p.Recorded(1, "", said))]
        assert [line.partition(", about")[0] for line in lines] == ["compact  8 → 3 messages"]
        second = await driver.command("/compact")
        assert (
            second.ok
            and second.text == "nothing to compact: 3 messages in the conversation, and all of them are needed"
        )
        await driver.turn("request 5")

    model = ScriptedModel(["a"] * 5)
    driver = drive(repo, script, model, settings={"compression.keep_messages": 2, **RULES})
    assert len(driver.of(p.HistoryCompacted)) == 1
    assert [m.text for m in model.requests[-1].messages[2:]] == ["request 4", "a", "request 5"]
    assert all(f"request {number}" in model.requests[-1].messages[1].text for number in (1, 2, 3))


def test_compact_in_the_middle_of_a_turn_keeps_the_call_that_runs(repo: Path) -> None:
    """The tool waits until the conversation has been compacted under it."""
    wait = "until [ -e go ]; do sleep 0.02; done; echo went"

    async def script(driver: Driver) -> None:
        await driver.turn("first")
        await driver.session.say("second")
        await driver.until_type(p.ToolStarted)
        assert (await driver.command("/compact")).text.startswith("compacted 4 → 2 messages")
        (repo / "go").touch()
        assert (await driver.until_type(p.TurnFinished)).answer == "b"

    model = ScriptedModel(["a", [call("bash", command=wait)], "b"])
    drive(repo, script, model, settings={"compression.keep_messages": 1})
    summary, asked, result = model.requests[-1].messages[1:]
    assert "first" in summary.text and "second" in summary.text
    assert asked.calls[0].id == result.call_id and "went" in result.text


def test_the_offline_rules_keep_their_turn_whole(repo: Path) -> None:
    """They read the whole turn anew at each request; between turns they can be compacted like any model."""

    async def script(driver: Driver) -> None:
        assert (await driver.turn('replace "How many words" with "The words" in tally/*.py')).status == "done"
        assert (await driver.turn('replace "The words" with "All words" in tally/*.py')).status == "done"
        assert (await driver.command("/compact")).text.startswith("compacted")
        assert (await driver.turn('replace "All words" with "How many words" in tally/*.py')).status == "done"

    async def run() -> None:
        settings = {"compression.max_messages": 2, "compression.keep_messages": 1}
        async with open_session(str(repo), axes=BUILD, settings=settings) as session:
            await script(driver := Driver(session))
            assert [event.reason for event in driver.of(p.HistoryCompacted)] == ["/compact"]

    asyncio.run(run())
    assert "How many words" in (repo / "tally" / "count.py").read_text()


# ── by the model


def test_a_model_writes_the_summary_and_the_users_words_stay(repo: Path) -> None:
    model = ScriptedModel(["a", "b", "c", WRITTEN, "d"])
    local = {
        "models.local.base_url": "http://127.0.0.1:9/v1",
        "models.local.model": "m",
        "models.local.price_input": 1.0,
    }
    settings = {**FEW, **local, "compression.by": "model", "routing.smart": "local"}
    driver = drive(repo, four_turns, model, settings=settings)
    (event,) = driver.of(p.HistoryCompacted)
    assert (event.by, event.usage, event.cost) == ("local", Usage(10, 5), 10 / 1_000_000)
    assert event.summary.narrative == "### Goal\n- count words\n### Next\n- none is known"
    assert event.summary.goals == ("request 1",)
    assert event.summary.last_requests == ("request 1", "request 2", "request 3")
    asked = next(e for e in driver.of(p.ModelRequested) if e.stage == "compact")
    assert (asked.step, asked.tool_count, asked.model) == (event.step, 0, "local")
    before, request = model.requests[2:4]
    assert (request.tools, request.tool_choice) == (before.tools, "none")
    assert request.messages[: len(before.messages)] == before.messages  # so that the provider's cache holds
    assert request.messages[-1].passing and "will be left out" in request.messages[-1].text
    assert "count words" in model.requests[4].messages[1].text
    assert [reply.text for reply in driver.of(p.ModelReplied)] == ["a", "b", "c", "d"]
    last = driver.of(p.TurnFinished)[-1]
    assert (last.steps, last.usage) == (1, Usage(20, 10))
    state = driver.session.state
    assert state.spent.usage == Usage(50, 25) and state.spent.cost == pytest.approx(50 / 1_000_000)


@pytest.mark.parametrize(
    ("reply", "spent"),
    [
        (ModelUnreachable("nobody answers"), Usage()),
        ("I would rather not.", Usage(10, 5)),
        ("", Usage(10, 5)),
        ([TextPart(WRITTEN), EndPart(Finish.LENGTH, Usage(10, 5))], Usage(10, 5)),
    ],
)
def test_where_the_model_writes_none_the_rules_summary_is_used_and_said(repo: Path, reply: Reply, spent: Usage) -> None:
    model = ScriptedModel(["a", "b", "c", reply, "d"])
    driver = drive(repo, four_turns, model, settings={**FEW, "compression.by": "model"})
    (event,) = driver.of(p.HistoryCompacted)
    assert (event.by, event.usage, event.summary.goals) == ("rules", spent, ("request 1",))
    assert not event.summary.narrative
    (notice,) = driver.of(p.Noticed)
    assert (notice.level, notice.code) == ("warning", "COMPRESSION")
    assert "made one by its own rules instead" in notice.text
    assert len(driver.of(p.ModelFailed)) == isinstance(reply, Exception)
    assert driver.of(p.TurnFinished)[-1].answer == "d"
