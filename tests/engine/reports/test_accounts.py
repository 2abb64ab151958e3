"""What was asked of models and what it came to, told from the journal alone."""

import asyncio
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.app.open import open_session
from quintet.domain.base.errors import ModelAuthFailed, ModelRateLimited, UsageError
from quintet.domain.dials.axes import INTERACTIVE, Axes, AxesChange, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.domain.turn.messages import Usage
from quintet.engine.reports import accounts
from quintet.engine.reports.session_report import Report, read, report_lines
from quintet.testing import FrozenClock, ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.turn.test_turn_runner import Waiting

BUILD = Axes(work_mode=WorkMode.BUILD)
CHAT = AxesChange(WorkMode.CHAT)


def journal(*events: p.Event, per_day: int = 1000) -> list[p.Recorded]:
    """Events one second apart, so many of them a day."""
    return [
        p.Recorded(n, f"2026-01-{1 + n // per_day:02}T00:{n // 60:02}:{n % 60:02}.000Z", event)
        for n, event in enumerate(events, 1)
    ]


def asked(step: str, **more: object) -> p.ModelRequested:
    told = {
        "turn": "turn-1",
        "run": "run-1",
        "conversation": "q5-1",
        "user_mode": "Chat",
        "stage": "act",
        "model": "m",
        "tool_count": 7,
        "reasoning": False,
        "axes": INTERACTIVE,
        **more,
    }
    return p.ModelRequested(step=step, **told)  # type: ignore[arg-type]


def replied(step: str, cost: float = 0.5, *, partial: bool = False) -> p.ModelReplied:
    usage = Usage() if partial else Usage(10, 5, 4)
    return p.ModelReplied(step=step, text="hi", usage=usage, cost=0.0 if partial else cost, partial=partial)


def failed(step: str, retry_in: float | None = None) -> p.ModelFailed:
    return p.ModelFailed(step=step, error=p.ErrorInfo("LLM_TIMEOUT", "no answer"), retry_in=retry_in)


ENDED = p.TurnFinished(turn="turn-1", status="interrupted")


# ── the log


def test_s1_9_1_a_request_is_logged_with_everything_it_was_made_with(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("how many words")

    settings = {
        "models.paid.base_url": "http://127.0.0.1:1/v1",
        "models.paid.model": "m",
        "models.paid.price_input": 100_000.0,
        "routing.smart": "paid",
    }
    driver = drive(repo, script, ScriptedModel(["three"]), axes=CHAT, deterministic=True, settings=settings)
    (request,) = driver.of(p.ModelRequested)
    (line,) = accounts.requests(journal(*driver.seen))
    for name in ("conversation", "run", "turn", "step", "user_mode", "stage", "model", "attempt"):
        assert getattr(line, name) == getattr(request, name) != ""
    assert (line.tool_count, line.reasoning, line.axes) == (request.tool_count, request.reasoning, request.axes)
    assert line.badge == "chat │ autonomous │ restricted │ smart"
    assert (line.usage, line.cost, line.outcome, line.level, line.seconds) == (Usage(10, 5), 1.0, "ok", "info", 1.0)
    heading, shown = accounts.log_lines([line])
    assert len(shown.split("  ")) >= len(heading.split())
    for word in ("q5-1", "run-1", "Chat", "act", "paid", line.badge, "1.0000", "ok"):
        assert word in shown


@pytest.mark.parametrize(
    ("events", "outcome", "shown"),
    [
        ((replied("s-1"),), ("ok", "info", "", 1.0), "ok"),
        ((failed("s-1", 0.5),), ("retry", "warning", "LLM_TIMEOUT", 1.0), "retry LLM_TIMEOUT"),
        ((failed("s-1"),), ("error", "error", "LLM_TIMEOUT", 1.0), "LLM_TIMEOUT"),
        ((replied("s-1", partial=True), failed("s-1"), ENDED), ("error", "error", "LLM_TIMEOUT", 2.0), "LLM_TIMEOUT"),
        ((replied("s-1", partial=True), ENDED), ("interrupted", "warning", "", 1.0), "interrupted"),
        ((ENDED,), ("interrupted", "warning", "", None), "interrupted"),
        ((replied("s-1", partial=True),), ("open", "info", "", None), "open"),
        ((), ("open", "info", "", None), "open"),
    ],
)
def test_a_request_ends_as_the_journal_tells(
    events: tuple[p.Event, ...], outcome: tuple[str, str, str, float | None], shown: str
) -> None:
    (line,) = accounts.requests(journal(asked("s-1"), *events))
    assert (line.outcome, line.level, line.code, line.seconds) == outcome
    assert accounts.log_lines([line])[1].endswith(f"  {shown}")


def test_every_attempt_is_a_line_of_its_own(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("go")
        await driver.turn("again")

    model = ScriptedModel([ModelRateLimited("slow down", retry_after=7.0), "hello", ModelAuthFailed("no")])
    driver = drive(repo, script, model, axes=CHAT, deterministic=True)
    lines = accounts.requests(journal(*driver.seen))
    assert [(line.attempt, line.outcome, line.code) for line in lines] == [
        (1, "retry", "LLM_RATE_LIMITED"),
        (2, "ok", ""),
        (1, "error", "LLM_AUTH_FAILED"),
    ]


STEPS = [f"s-{n}" for n in range(6)]
EVENTS = st.lists(
    st.one_of(
        st.builds(asked, st.sampled_from(STEPS), turn=st.sampled_from(["turn-1", "turn-2"])),
        st.builds(replied, st.sampled_from(STEPS), partial=st.booleans()),
        st.builds(failed, st.sampled_from(STEPS), st.sampled_from([None, 1.0])),
        st.just(ENDED),
    ),
    max_size=30,
)


@given(EVENTS)
def test_no_request_is_lost_or_told_twice(events: list[p.Event]) -> None:
    seen: set[str] = set()
    once = [e for e in events if not (isinstance(e, p.ModelRequested) and (e.step in seen or seen.add(e.step)))]  # type: ignore[func-returns-value]
    recorded = journal(*once)
    lines = accounts.requests(recorded)
    assert [line.seq for line in lines] == [r.seq for r in recorded if isinstance(r.event, p.ModelRequested)]


# ── costs


def some(count: int) -> list[p.Event]:
    models, stages = ("m", "n", "builtin"), ("warmup", "act")
    events: list[p.Event] = []
    for n in range(count):
        axes = BUILD if n % 4 else INTERACTIVE
        run, session = f"run-{n // 3}", f"q5-{n // 5}"
        events.append(
            asked(f"s-{n}", model=models[n % 3], stage=stages[n % 2], axes=axes, run=run, conversation=session)
        )
        events.append(failed(f"s-{n}") if n % 7 == 6 else replied(f"s-{n}", 0.25 * (n % 3)))
    return events


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("day", {"2026-01-01", "2026-01-02"}),
        ("model", {"m", "n", "builtin"}),
        ("stage", {"warmup", "act"}),
        ("work-mode", {"chat", "build"}),
        ("session", {"q5-0", "q5-1", "q5-2", "q5-3"}),
        ("run", {f"run-{n}" for n in range(7)}),
    ],
)
def test_costs_add_up_whatever_they_are_grouped_by(by: str, keys: set[str]) -> None:
    events = some(20)
    found = accounts.costs(accounts.requests(journal(*events, per_day=20)), by)
    assert {row.key for row in found.rows} == keys
    state = fold(events)
    usage = (state.spent.usage.input_tokens, state.spent.usage.cached_tokens, state.spent.usage.output_tokens)
    assert (found.total.input_tokens, found.total.cached_tokens, found.total.output_tokens) == usage
    assert found.total.cost == pytest.approx(state.spent.cost)
    assert (found.total.requests, found.total.failed) == (20, 2)
    for name in ("requests", "failed", "input_tokens", "cached_tokens", "output_tokens", "cost"):
        assert sum(getattr(row, name) for row in found.rows) == pytest.approx(getattr(found.total, name))
    lines = accounts.cost_lines(found)
    assert len(lines) - len(found.unpriced) == len(keys) + 2
    table = lines[: len(keys) + 2]
    assert len({len(line) for line in table}) == 1, "every number stands below its heading"
    assert table[-1].startswith("total") and table[-1].endswith(f"{state.spent.cost:.4f}")


def test_a_model_without_a_price_is_named_and_the_offline_rules_need_none() -> None:
    events = [asked("s-1"), replied("s-1", 0.0), asked("s-2", model="paid"), replied("s-2", 0.5)]
    events += [asked("s-3", model="builtin"), replied("s-3", 0.0), asked("s-4", model="down"), failed("s-4")]
    found = accounts.costs(accounts.requests(journal(*events)), "model")
    assert found.unpriced == {"m": 1}
    assert "models.m.price_input" in accounts.cost_lines(found)[-1]


def test_a_grouping_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r'by "modle": not one of day, model, .* Did you mean mode\?'):
        accounts.costs([], "modle")


# ── a session's report


def reported(driver: Driver) -> Report:
    return read(journal(*driver.seen)).report()


def test_a_report_tells_what_a_session_did(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("rename it")
        await driver.command("/rate 2 too slow")
        await driver.command("/rate 4 good after all")
        await driver.command("/mode chat")
        await driver.turn("read on")

    (repo / ".env").write_text("TOKEN=hunter22")
    edit = {"file_path": "tally/count.py", "old_string": "def words", "new_string": "def tokens"}
    model = ScriptedModel(
        [
            [call("Read", file_path="tally/count.py")],
            [call("Edit", **edit)],
            [call("Edit", **edit), call("Read", file_path=".env")],
            "renamed",
            "nothing to read",
        ]
    )
    driver = drive(repo, script, model)
    found = reported(driver)
    assert [row.badge for row in found.axes] == [
        "build │ autonomous │ trusted │ smart",
        "chat │ autonomous │ trusted │ smart",
    ]
    assert (found.axes[1].actor, found.axes[1].scope, found.axes[1].reason) == ("user", "now", "/mode")
    first, second = found.turns
    assert (first.text, first.status, first.rating, first.note) == ("rename it", "done", 4, "good after all")
    assert (second.text, second.status, second.rating, second.badge) == ("read on", "done", None, found.axes[1].badge)
    assert [turn.steps for turn in found.turns] == [ended.steps for ended in driver.of(p.TurnFinished)]
    assert first.seconds and second.seconds and found.seconds == first.seconds + second.seconds
    assert {row.tool: (row.calls, row.failed, row.denied) for row in found.tools} == {
        "Read": (2, 0, 1),
        "Edit": (2, 1, 0),
    }
    assert found.changed == {"tally/count.py": 1}
    requests = [event.stage for event in driver.of(p.ModelRequested)]
    assert {row.key: row.requests for row in found.stages} == Counter(requests)
    assert (found.total.input_tokens, found.total.output_tokens) == (10 * len(requests), 5 * len(requests))
    assert (found.rating, found.session, found.events) == (4.0, driver.session.id, len(driver.seen))
    text = "\n".join(report_lines(found))
    for words in ("4 of 5, 1 rated", "4 good after all", "rename it", "tally/count.py", "none asked", "/mode, by user"):
        assert words in text


def test_a_report_counts_approvals_by_their_answers(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        for choice in ("y", "n"):
            await driver.session.say("clean up")
            await driver.answer(choice)
            await driver.until_type(p.TurnFinished)
        await driver.session.say("clean up")
        await driver.until_type(p.QuestionAsked)
        counts = reported(driver).approvals
        assert (counts.asked, counts.waiting) == (3, 1)
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)
        await driver.command("/mode review")  # asks a question that is no approval
        await driver.until_type(p.QuestionAsked)

    remove = [call("bash", command="shred -u tally/__init__.py")]
    driver = drive(repo, script, ScriptedModel([remove, "ok", remove, "ok", remove]), person=True)
    counts = msgspec.to_builtins(reported(driver).approvals)
    assert counts == {"asked": 3, "approved": 1, "always": 0, "refused": 1, "closed": 1, "waiting": 0}
    assert "3 asked: 1 approved, 1 refused, 1 closed" in "\n".join(report_lines(reported(driver)))


def test_a_turn_that_its_next_owner_ended_took_nobody_knows_how_long() -> None:
    opened = p.SessionOpened(session="q5-1", project="/p", axes=INTERACTIVE, program="0")
    started = p.TurnStarted(turn="turn-1", run="run-1", submission="", text="go", axes=INTERACTIVE)
    taken = p.SessionTaken(owner="o", pid=1, reason="resumed")
    first, later = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"
    ended = [p.Recorded(1, first, opened), p.Recorded(2, first, started), p.Recorded(3, later, ENDED)]
    assert read(ended).report().turns[0].seconds == 86_400
    found = read([*ended, p.Recorded(4, later, taken)]).report()
    assert (found.turns[0].status, found.turns[0].seconds, found.seconds) == ("interrupted", None, 0.0)


def test_a_fork_is_reported_with_what_it_shares(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("shared")

    parent = drive(repo, first, ScriptedModel(["answer"]), axes=CHAT).session.id

    async def forked(driver: Driver) -> None:
        ran = await driver.command("/rate 5")
        assert ran.ok, "the turn it begins with can be rated"
        await driver.turn("mine")
        ran = await driver.command("/session-report")
        assert f"forked from {parent}" in ran.text
        by_session = (await driver.command("/cost --by session")).text
        assert by_session.splitlines()[2].split()[:2] == [parent, "1"]
        assert by_session.splitlines()[3].split()[:2] == [driver.session.id, "1"]

    driver = drive(repo, forked, resume=parent, fork=True, axes=None)
    assert [turn.rating for turn in reported(driver).turns] == [5, None]


# ── the slash commands


def test_the_session_tells_its_own_log_cost_and_report(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.command("/logs --kind request")).text == "no model request yet"
        assert (await driver.command("/cost")).text == "0.0000   0 tokens in (0 cached), 0 out, 0 turns"
        for n in range(24):
            await driver.turn(f"turn {n}")
            await clock.sleep(1)
        done = (await driver.command("/logs")).text.splitlines()
        assert [line.split()[2] for line in done[-3:]] == ["turn", "request", "turn"] and max(map(len, done)) <= 110
        logs = (await driver.command("/logs --kind request")).text.splitlines()
        assert len(logs) == 1 + 20 and max(map(len, logs)) <= 110
        assert [line[:19] for line in logs[1:]] == [f"2026-01-01 00:00:{n:02}" for n in range(4, 24)]
        assert "24 requests" in (await driver.command("/logs --level error --kind request")).text
        assert "there are entries in act" in (await driver.command("/logs --stage akt")).text
        assert 'kind "calls": not one of' in (await driver.command("/logs --kind calls")).text
        cost = (await driver.command("/cost --by stage")).text.splitlines()
        assert cost[0] == "0.0000   240 tokens in (0 cached), 120 out, 24 turns"
        assert cost[1].split() == ["STAGE", "REQUESTS", "FAILED", "IN", "CACHED", "OUT", "COST"]
        assert cost[3].split() == ["total", "24", "0", "240", "0", "120", "0.0000"]
        told = (await driver.command("/session-report")).text
        assert told.splitlines()[0].split() == ["session", driver.session.id]
        assert "in 24 turns" in told

    clock = FrozenClock()
    drive(repo, script, axes=CHAT, clock=clock)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/rate", "/rate 1-5 [WORDS]"),
        ("/rate 0", "/rate 1-5 [WORDS]"),
        ("/rate 6 great", "/rate 1-5 [WORDS]"),
        ("/rate 4.5", "/rate 1-5 [WORDS]"),
        ("/rate good 4", "/rate 1-5 [WORDS]"),
        ("/rate ⁴", "/rate 1-5 [WORDS]"),
        ("/logs --level warn", "not one of info, warning, error. Did you mean warning?"),
        ("/logs --session x", "unknown flag --session"),
        ("/cost --by week", 'by "week": not one of day, model'),
        ("/cost --by", "--by needs a value"),
    ],
)
def test_what_cannot_be_taken_is_said_and_leaves_no_rating(repo: Path, line: str, said: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("hello")
        ran = await driver.command(line)
        assert (ran.ok, ran.code) == (False, "USAGE")
        assert said in ran.text

    assert drive(repo, script).of(p.TurnRated) == []


def test_a_rating_is_of_the_turn_that_finished_last(repo: Path) -> None:
    model = Waiting()

    async def run() -> None:
        async with open_session(str(repo), model=model) as session:
            driver = Driver(session)
            refused = await driver.command("/rate 3")
            assert not refused.ok and "no turn has finished" in refused.text
            model.go.set()
            first = await driver.turn("one")
            model.go.clear()
            await session.say("two")
            second = await driver.until_type(p.TurnStarted)
            assert (await driver.command('/rate 3 "of the first"')).ok
            model.go.set()
            await driver.until_type(p.TurnFinished)
            assert (await driver.command("/rate 1 of the second\nwith more to say")).ok
            assert driver.of(p.TurnRated) == [
                p.TurnRated(turn=first.turn, rating=3, note="of the first"),
                p.TurnRated(turn=second.turn, rating=1, note="of the second\nwith more to say"),
            ]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("room", "gone"), [(200, ()), (110, ("REASONING", "RUN", "SESSION")), (80, ("DIALS", "SECONDS", "IN"))]
)
def test_a_log_leaves_columns_out_where_a_line_has_little_room(room: int, gone: tuple[str, ...]) -> None:
    """The time, the stage, the model, the cost and the outcome stay; numbers stand below their heading."""
    (line,) = accounts.requests(journal(asked("s-1"), ENDED))
    heading, shown = accounts.log_lines([line], room=room)
    words = heading.split()
    assert not set(gone) & set(words) and {"TIME", "STAGE", "MODEL", "COST", "OUTCOME"} <= set(words)
    assert len(shown) <= room and shown.endswith("interrupted")
    assert heading.index("COST") + len("COST") == shown.index("0.0000") + len("0.0000")


def test_s1_9_a_compaction_that_a_model_wrote_is_a_request_that_was_answered(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("first")
        await driver.turn("second")
        await driver.turn("/compact")

    model = ScriptedModel(["a", "b", "## Goal\n- count words"])
    driver = drive(repo, script, model, settings={"compression.keep_messages": 1})
    lines = accounts.requests(journal(*driver.seen))
    assert [(line.stage, line.outcome, line.usage) for line in lines] == [
        ("act", "ok", Usage(10, 5)),
        ("act", "ok", Usage(10, 5)),
        ("compact", "ok", Usage(10, 5)),
    ]
    (event,) = driver.of(p.HistoryCompacted)
    assert lines[-1].step == event.step and "history_compacted" in accounts.KINDS
