"""A conversation and the model's window: long work in a small one, a server that says it is too much, /context.

The model here counts by itself, three characters a token, and takes nothing that is longer than its window.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quintet.app.open import open_session
from quintet.domain.base.errors import ModelContextOverflow
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.turn import context
from quintet.domain.turn.messages import EndPart, Finish, Part, Request, Role, TextPart, Usage
from quintet.testing import Reply, ScriptedModel, call
from tests.adapters import model_server
from tests.adapters.model_server import MODEL, ModelServer
from tests.engine.driving import BUILD, Driver, drive

WINDOW = 32_000
SMALL = {
    "models.small.base_url": "http://127.0.0.1:9/v1",
    "models.small.model": "m",
    "models.small.context_window": WINDOW,
    "routing.smart": "small",
    "limits.max_turns": 0,
    "limits.max_calls": 0,
}
UNKNOWN = {key: value for key, value in SMALL.items() if not key.endswith("context_window")}
MENU = {"tools.presentation": "menu"}
NARRATIVE = "## Goal\n- count the rows\n## Next\n- the rows that are left"
PLANNED = (
    "<ide_reasoning>\nAnalyze: many rows are to be read\nResearch: the file has to be seen\n"
    "Plan: read the rows in order, then write the sum\nReflect: it may be long\nAction: read the first rows\n"
    "Delivery: NEEDS_WORK\n</ide_reasoning>\nI begin."
)
MICRO = "<ide_reasoning>\nReflect: rows were read as planned\nAction: read the next rows\n</ide_reasoning>\n"


def counted(request: Request) -> int:
    return len(msgspec.json.encode([request.tools, request.messages])) // 3


class SmallModel(ScriptedModel):
    """Tells what a request used, and refuses one that is too long for it."""

    def __init__(self, replies: list[Reply], window: int = WINDOW) -> None:
        super().__init__([self._bounded(reply) for reply in replies])
        self.window = window
        self.refused = 0

    def _bounded(self, reply: Reply) -> Reply:
        def answer(request: Request) -> Reply:
            used = counted(request)
            if used > self.window:
                self.refused += 1
                self._replies.insert(0, self._bounded(reply))
                return ModelContextOverflow(f"{used} tokens are more than {self.window}")
            if any("will be left out" in message.text for message in (request.messages[0], request.messages[-1])):
                self._replies.insert(0, self._bounded(reply))
                return _told(NARRATIVE, used)
            made = reply(request) if callable(reply) else reply
            return _told(made, used) if isinstance(made, str | list) else made

        return answer


def _told(reply: str | list[Part], used: int) -> list[Part]:
    parts: list[Part] = [TextPart(reply)] if isinstance(reply, str) else reply
    called = not isinstance(reply, str)
    return [*_numbered(parts), EndPart(Finish.TOOL_CALLS if called else Finish.STOP, Usage(used, 5))]


_ids = iter(range(10**9))


def _numbered(parts: list[Part]) -> list[Part]:
    return [
        msgspec.structs.replace(part, call=msgspec.structs.replace(part.call, id=f"c{next(_ids)}"))
        if hasattr(part, "call")
        else part
        for part in parts
    ]


def rows(repo: Path, count: int) -> None:
    (repo / "rows.txt").write_text("".join(f"row {n} of the table, with some words in it\n" for n in range(count)))


def reads(steps: int, lines: int) -> list[Reply]:
    return [[call("Read", file_path="rows.txt", offset=1 + n * lines, limit=lines)] for n in range(steps)]


def is_whole(request: Request) -> None:
    """Every result has its call before it, every call its result."""
    open_calls: set[str] = set()
    for message in request.messages:
        if message.role is Role.TOOL:
            assert message.call_id in open_calls
            open_calls.discard(message.call_id)
        else:
            assert not open_calls
        open_calls.update(made.id for made in message.calls)
    assert not open_calls


def prefix_is_stable(driver: Driver, requests: list[Request]) -> None:
    """Between two compactions each request begins with the one before."""
    between: list[bool] = []
    caused = True
    for event in driver.seen:
        if isinstance(event, p.HistoryCompacted | p.MenuMoved):
            caused = True
        elif isinstance(event, p.ModelRequested):
            between.append(caused)
            caused = False
    assert len(between) == len(requests)
    for before, now, was_caused in zip(requests, requests[1:], between[1:], strict=False):
        said = [message for message in before.messages if not message.passing]
        assert was_caused or list(now.messages[: len(said)]) == said


@pytest.mark.everything  # the sizes are those with all tools
def test_a_small_window_holds_long_work_and_no_overflow_reaches_the_user(repo: Path) -> None:
    """400,000 tokens of outputs go through a window of 32,000; what matters is in every request."""
    steps, lines = 110, 300
    rows(repo, steps * lines)
    todos = [call("TodoCreate", todos=[{"content": f"sum up part {n}", "criteria": []} for n in (1, 2, 3)])]
    model = SmallModel([[call("menu_enter", mode="swe")], todos, *reads(steps, lines), "done"])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("count the rows of ALPHA and spare the BETA ones")).answer == "done"

    driver = drive(repo, script, model, settings={**SMALL, **MENU, "skills.head_bytes": 0})
    assert sum(len(e.content) for e in driver.of(p.ToolFinished)) / 4 > 400_000
    assert (model.refused, driver.of(p.ModelFailed), driver.of(p.Noticed)) == (0, [], [])
    events = driver.of(p.HistoryCompacted)
    summaries = [event for event in events if not event.shortened]
    assert len(summaries) >= 3 and len(events) > len(summaries)
    assert all(event.by == "small" and event.summary.narrative for event in summaries)
    assert all(event.after_tokens < event.before_tokens for event in events)
    for request in model.requests:
        is_whole(request)
        assert any("count the rows of ALPHA and spare the BETA ones" in m.text for m in request.messages[1:])
    for event in summaries[1:]:
        assert set(event.summary.plan) >= {f"pending: sum up part {n}" for n in (1, 2, 3)}
    prefix_is_stable(driver, model.requests)
    assert len(events) < len(model.requests) / 2  # in steps, so that a cache holds in between


def test_s1_7_2_plan_todos_and_words_survive_three_compactions(repo: Path) -> None:
    rows(repo, 6000)
    todos = [TextPart(MICRO), call("TodoCreate", todos=[{"content": "write the sum", "criteria": []}])]
    more: list[Reply] = [[TextPart(MICRO), *step] for step in reads(5, 200)]  # type: ignore[misc]
    model = ScriptedModel([PLANNED, todos, *more, f"{MICRO}read it", *[f"{MICRO}yes"] * 8])

    async def script(driver: Driver) -> None:
        await driver.command("/reasoning on")
        await driver.turn("read the rows; never write to rows.txt")
        for number in range(3):
            assert (await driver.command("/compact")).ok
            await driver.turn(f"then part {number}")

    settings = {"compression.keep_messages": 2, "compression.by": "rules"}
    driver = drive(repo, script, model, settings=settings, axes=BUILD)
    events = driver.of(p.HistoryCompacted)
    assert len(events) == 3
    for event in events:
        assert "plan: read the rows in order, then write the sum" in event.summary.plan
        assert "pending: write the sum" in event.summary.plan
        assert "read the rows; never write to rows.txt" in event.summary.last_requests
        assert event.summary.goals == ("read the rows; never write to rows.txt",)
    assert "then write the sum" in model.requests[-1].messages[1].text


# ── a server that says so


def test_an_overflow_in_the_middle_is_compacted_and_tried_again_and_one_line_says_so(repo: Path) -> None:
    """Nobody knows the window, so nothing is due before the server says that it is too much."""
    rows(repo, 6000)
    model = SmallModel([[call("menu_enter", mode="swe")], *reads(20, 300), "done"])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("read them")).answer == "done"

    driver = drive(repo, script, model, settings={**UNKNOWN, **MENU, "compression.by": "rules"})
    assert model.refused >= 1
    failed = driver.of(p.ModelFailed)
    assert [(e.error.code, e.retry_in) for e in failed] == [("LLM_CONTEXT_OVERFLOW", 0.0)] * model.refused
    assert [describe(p.Recorded(1, "", event)) for event in failed] == [[]] * model.refused
    first = driver.of(p.HistoryCompacted)[0]
    assert first.reason == "the server says that the request is too long"
    (line,) = describe(p.Recorded(1, "", first))
    assert line.text.startswith("compact  ") and first.reason in line.text
    for request in model.requests:
        is_whole(request)


def test_where_the_conversation_does_not_fit_the_model_tells_from_a_transcript_that_does(repo: Path) -> None:
    rows(repo, 6000)
    said: list[Reply] = [[TextPart("word " * 1500), *step] for step in reads(20, 100)]  # type: ignore[misc]
    model = SmallModel([[call("menu_enter", mode="swe")], *said, "done"])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("read them")).answer == "done"

    driver = drive(repo, script, model, settings={**UNKNOWN, **MENU})
    first = next(event for event in driver.of(p.HistoryCompacted) if not event.shortened)
    assert (first.by, first.reason) == ("small", "the server says that the request is too long")
    asked = next(r for r in model.requests if "will be left out" in r.messages[0].text)
    assert [m.role for m in asked.messages] == [Role.SYSTEM, Role.USER] and counted(asked) < WINDOW / 2
    assert "[call] Read" in asked.messages[1].text and "[user] read them" in asked.messages[1].text
    assert driver.of(p.Noticed) == []


def test_what_still_overflows_after_a_compaction_is_an_error(repo: Path) -> None:
    rows(repo, 2000)
    never = ModelContextOverflow("too long")
    model = ScriptedModel([*reads(3, 300), never, never, "not reached"])

    async def script(driver: Driver) -> None:
        finished = await driver.turn("read them")
        assert finished.status == "failed" and finished.error and finished.error.code == "LLM_CONTEXT_OVERFLOW"

    driver = drive(repo, script, model, settings={"compression.by": "rules"})
    assert len(model.requests) == 5
    assert [event.retry_in for event in driver.of(p.ModelFailed)] == [0.0, None]


def test_a_real_server_that_answers_400_is_gone_on_with(repo: Path) -> None:
    rows(repo, 2000)
    made = [{"name": "Read", "arguments": json.dumps({"file_path": "rows.txt", "limit": n})} for n in (300, 310, 320)]
    reading = [model_server.Reply(calls=[{**one, "id": f"c{n}"}]) for n, one in enumerate(made)]
    body = {"error": {"message": "This model's maximum context length is 8192", "code": "context_length_exceeded"}}
    refused = model_server.Reply(status=400, body=json.dumps(body), framing="length")

    async def run() -> tuple[list[p.Event], list[Any]]:
        async with ModelServer([*reading, refused, model_server.Reply(text="done")]) as server:
            settings = {
                "models.local.base_url": server.base_url,
                "models.local.model": MODEL,
                "routing.smart": "local",
                "compression.by": "rules",
                "tools.presentation": "flat",
                "runs.delivery_check": False,
            }
            async with open_session(str(repo), axes=BUILD, settings=settings) as session:
                driver = Driver(session)
                assert (await driver.turn("read them")).answer == "done"
                return driver.seen, server.requests

    events, requests = asyncio.run(run())
    assert len(requests) == 5
    sent = [len(json.dumps(request.body["messages"])) for request in requests]
    assert sent[4] < sent[3] / 2
    assert [e.reason for e in events if isinstance(e, p.HistoryCompacted)] == [
        "the server says that the request is too long"
    ]


# ── what the user asks for


def test_compact_lets_the_model_write_and_tells_it_what_to_keep(repo: Path) -> None:
    model = ScriptedModel(["a", "b", NARRATIVE, "c"])

    async def script(driver: Driver) -> None:
        await driver.turn("first")
        await driver.turn("second")
        finished = await driver.turn("/compact the names of the API's fields")
        assert finished.status == "done" and finished.answer.startswith("compacted 4 → 2 messages")
        await driver.turn("third")

    driver = drive(repo, script, model, settings={"compression.keep_messages": 1})
    (event,) = driver.of(p.HistoryCompacted)
    assert event.summary.keep == ("the names of the API's fields",) and event.reason == "/compact"
    assert event.summary.narrative == "### Goal\n- count the rows\n### Next\n- the rows that are left"
    before, asked, after = model.requests[1:]
    assert asked.messages[: len(before.messages)] == before.messages and asked.tools == before.tools
    assert "the names of the API's fields" in asked.messages[-1].text
    told = after.messages[1].text
    assert all(words in told for words in ("the names of the API's fields", "- count the rows", "first", "second"))
    lines = [line.text for event in driver.seen for line in describe(p.Recorded(1, "", event))]
    assert len([line for line in lines if "4 → 2 messages" in line]) == 1


def test_compact_can_be_given_up_and_leaves_the_conversation_as_it_was(repo: Path) -> None:
    class Slow(ScriptedModel):
        async def stream(self, request: Request) -> Any:
            if request.messages[-1].passing:
                await asyncio.Event().wait()
            async for part in super().stream(request):
                yield part

    async def script(driver: Driver) -> None:
        await driver.turn("first")
        await driver.turn("second")
        held = list(driver.session.state.conversation.messages)
        await driver.session.say("/compact")
        await driver.until(lambda e: isinstance(e, p.ModelRequested) and e.stage == "compact")
        await driver.session.submit(p.Interrupt())
        assert (await driver.until_type(p.TurnFinished)).status == "interrupted"
        assert driver.session.state.conversation.messages == held

    drive(repo, script, Slow(["a", "b"]), settings={"compression.keep_messages": 1})


def test_context_shows_what_fills_the_window(repo: Path) -> None:
    rows(repo, 600)
    model = SmallModel([*reads(2, 100), "done"])

    async def script(driver: Driver) -> None:
        await driver.turn("read some rows")
        shown = await driver.command("/context")
        told, data = shown.text.splitlines(), shown.data["context"]
        assert (data["model"], data["window"], data["window_known"]) == ("small", WINDOW, True)
        parts = {part["name"]: part["tokens"] for part in data["parts"]}
        assert list(parts) == ["system message", "tools", *context.KINDS.values(), "free"]
        assert sum(parts.values()) == WINDOW and data["used"] == WINDOW - parts["free"]
        newest = driver.of(p.ModelReplied)[-1].usage.input_tokens
        assert newest * 0.9 < data["used"] < newest * 1.1  # as the provider counts, not at four characters
        assert (
            told[0]
            == f"small can read 32000 tokens; about {data['used']} are used, {100 * data['used'] / WINDOW:.0f} %"
        )
        assert len({line.rindex("%") for line in told[1:-2]}) == 1 and len(told) == len(parts) + 3
        assert told[-2:] == [
            f"compacted when it reaches {data['compacted_from']} (compression.share = 0.75 of 32000)",
            "counted by the provider for the last request",
        ]
        assert abs(data["compacted_from"] - 0.75 * WINDOW) < 10

    drive(repo, script, model, settings={**SMALL, **MENU})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "the context window of builtin is not known: 128000 tokens are assumed"),
        ({"compression.max_tokens": 500}, "(compression.max_tokens = 500)"),
        ({"compression.max_tokens": 0}, "not compacted by size"),
    ],
)
def test_context_says_when_it_is_compacted(repo: Path, settings: dict[str, Any], said: str) -> None:
    async def script(driver: Driver) -> None:
        assert said in (await driver.command("/context")).text

    drive(repo, script, settings=settings)


@pytest.mark.parametrize("window", [0, 1_000_000])
def test_context_fits_a_terminal_of_80_columns(repo: Path, window: int) -> None:
    name = "a-model-with-quite-a-long-name-of-a-provider-with-another-one"
    known = {"context_window": window} if window else {}
    own = {
        f"models.{name}.{field}": value for field, value in {"base_url": "http://h/v1", "model": "m", **known}.items()
    }

    async def script(driver: Driver) -> None:
        await driver.turn("hello")
        lines = (await driver.command("/context")).text.splitlines()
        assert max(map(len, lines)) <= 76
        assert name in "".join(lines)

    drive(repo, script, ScriptedModel(["hello"]), settings={**own, "routing.smart": name, **MENU})
