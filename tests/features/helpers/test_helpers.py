"""Helpers in a session: their reports, what they cost, what they may do, and how they end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.testing import Reply, call
from tests.features.helpers.helping import AUTONOMOUS, model, only, opened, said, started, turns_of
from tests.features.skills.made import home_skills, trust_now, write_skill
from tests.features.workers.working import git

pytestmark = pytest.mark.usefixtures("replays")


def _reads(request: Request, task: str) -> Reply:
    """A helper that reads one file, then reports."""
    if turns_of(request) == 0:
        return [call("Read", file_path="tally/count.py")]
    return f"report on {task}"


def test_helpers_report_to_the_call_that_started_them(repo: Path) -> None:
    async def run() -> list[p.Event]:
        async with opened(repo, model([started("words", "tests")], _reads)) as session:
            return await said(session)

    events = asyncio.run(run())
    finished = only(p.ToolFinished, events)
    assert [one.tool for one in finished] == ["run_helpers"]
    assert finished[0].content == "## explorer-1: done\nreport on words\n\n## explorer-2: done\nreport on tests"
    assert finished[0].summary == "2 of 2 helpers done"
    assert only(p.TurnFinished, events)[-1].answer == "done"


def test_what_helpers_use_is_counted_to_their_parent(repo: Path) -> None:
    async def run() -> tuple[list[p.Event], tuple[int, int]]:
        async with opened(repo, model([started("a", "b", "c")], _reads)) as session:
            events = await said(session)
            spent = session.state.spent.usage
            return events, (spent.input_tokens, spent.output_tokens)

    events, spent = asyncio.run(run())
    consulted = only(p.ModelConsulted, events)
    helpers = {one.helper for one in consulted}
    assert len(helpers) == 3
    for helper in helpers:  # two requests each, at 10 and 5 tokens
        assert sum(one.usage.input_tokens for one in consulted if one.helper == helper) == 20
    assert spent == (60 + 20, 30 + 10)
    assert only(p.TurnFinished, events)[-1].usage.input_tokens == 80


def test_the_limit_on_cost_holds_for_the_sum(repo: Path) -> None:
    priced = {
        "models.dear.base_url": "http://127.0.0.1:9/v1",
        "models.dear.model": "m",
        "models.dear.price_input": 100_000.0,  # 1 for the 10 tokens of a scripted request
        "routing.smart": "dear",
        "limits.max_cost": 4.0,
        "helpers.at_once": 1,
    }

    def endless(request: Request, task: str) -> Reply:
        return [call("Read", file_path="tally/count.py", offset=turns_of(request) + 1)]

    async def run() -> tuple[list[p.Event], float]:
        async with opened(repo, model([started("a", "b")], endless), settings=priced) as session:
            return await said(session), session.state.spent.cost

    events, cost = asyncio.run(run())
    assert "limits.max_cost = 4" in only(p.ToolFinished, events)[-1].content
    assert only(p.TurnFinished, events)[-1].status == "limit"
    assert 4.0 <= cost <= 5.0  # a request costs 1; the one that was under way is counted


def test_an_interrupt_goes_down_at_once(repo: Path) -> None:
    async def run() -> tuple[list[p.Event], list[str]]:
        async with opened(repo, model([started("a", "b")], lambda *_: [call("bash", command="sleep 60")])) as session:
            submission = await session.say("look around")
            events: list[p.Event] = []
            running = 0
            async for item in session.follow(submission, signals=True):
                if isinstance(item, p.Progress) and "bash" in item.text:
                    running += 1
                    if running == 2:
                        await session.submit(p.Interrupt())
                if isinstance(item, p.Recorded):
                    events.append(item.event)
            inner = [session._core.store.read(f"{session.id}.{n}") for n in (1, 2)]
            return events, [only(p.TurnFinished, [one.event for one in each])[-1].status for each in inner]

    events, inner = asyncio.run(asyncio.wait_for(run(), 40))
    assert only(p.TurnFinished, events)[-1].status == "interrupted"
    assert only(p.ToolFinished, events)[-1].content.startswith("interrupted. The helpers' work is kept")
    assert inner == ["interrupted", "interrupted"]


def test_helpers_start_helpers_only_so_deep(repo: Path) -> None:
    def deeper(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return started(f"{task}-deeper")
        return next(m.text for m in reversed(request.messages) if m.role == "tool")

    async def run() -> list[p.Event]:
        async with opened(repo, model([started("a")], deeper)) as session:
            return await said(session)

    report = only(p.ToolFinished, asyncio.run(run()))[-1].content
    assert report.endswith("no helper may be started here: helpers.depth = 2")
    assert report.count("## explorer-1: done") == 2


def test_a_helper_that_reads_changes_nothing_whatever_the_profile(repo: Path) -> None:
    def writes(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("Write", file_path="made.txt", content="x"), call("bash", command="echo x > made.txt")]
        return "tried"

    async def run() -> list[str]:
        async with opened(repo, model([started("a")], writes)) as session:
            await said(session)
            child = session._core.store.read(f"{session.id}.1")
            return [one.content for one in only(p.ToolFinished, [each.event for each in child])]

    refused = asyncio.run(run())
    assert not (repo / "made.txt").exists()
    assert all("helper explorer-1 only reads" in one for one in refused), refused


def test_what_a_skill_keeps_a_turn_to_holds_for_its_helpers(repo: Path) -> None:
    write_skill(home_skills(), "look", "allowed-tools: Read\n")

    def runs(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("Read", file_path="tally/count.py"), call("bash", command="python3 -c 'print(1)'")]
        return "tried"

    async def run() -> list[tuple[str, str]]:
        async with opened(repo, model([started("a", role="tester")], runs)) as session:
            await said(session, "/look around")
            child = session._core.store.read(f"{session.id}.1")
            return [(one.status, one.content) for one in only(p.ToolFinished, [each.event for each in child])]

    (read, _), (ran, why) = asyncio.run(run())
    assert (read, ran) == ("ok", "denied") and "skill look works with Read only, not with bash" in why


@pytest.mark.parametrize("task", ["/permission-profile unrestricted", "! touch made.txt", "/quit"])
def test_a_task_is_never_a_command(repo: Path, task: str) -> None:
    async def run() -> tuple[str, list[str]]:
        async with opened(repo, model([started(task)], lambda request, task: f"told {task}")) as session:
            events = await said(session)
            kinds = [each.event for each in session._core.store.read(f"{session.id}.1")]
            return only(p.ToolFinished, events)[-1].content, [type(one).__name__ for one in kinds]

    report, kinds = asyncio.run(run())
    assert report == f"## explorer-1: done\ntold {task}"
    assert not {"CommandRan", "DialsTurned", "ToolStarted"} & set(kinds)


def test_a_helper_that_writes_works_on_a_branch_of_its_own(repo: Path) -> None:
    def writes(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("Write", file_path="made.txt", content="made\n")]
        return "wrote made.txt"

    async def run() -> tuple[str, str]:
        async with opened(repo, model([started("a", writes=True)], writes)) as session:
            return only(p.ToolFinished, await said(session))[-1].content, session.id

    report, id = asyncio.run(run())
    branch = f"quintet/helper-{id}.1"
    assert report == (
        f"## explorer-1: done\nIts changes are on the branch {branch}; nothing of them is in this work tree.\n"
        "wrote made.txt"
    )
    assert not (repo / "made.txt").exists()
    assert git(repo, "show", f"{branch}:made.txt") == "made"
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "worktree", "list").count("\n") == 0


@pytest.mark.system("bwrap")
def test_a_helper_that_writes_uses_the_skills_that_the_project_is_trusted_with(repo: Path) -> None:
    place = write_skill(repo / ".agents/skills", "ours", body="Our words.", scripts__go_sh="echo from-the-skill")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "A skill")
    trust_now(repo)

    def uses(request: Request, task: str) -> Reply:
        steps: list[Reply] = [
            [call("use_skill", name="ours")],
            [call("bash", command=f"sh {place}/scripts/go.sh")],
            "used",
        ]
        return steps[turns_of(request)]

    async def run() -> list[str]:
        asks = model([started("a", writes=True)], uses)
        async with opened(
            repo, asks, axes=structs.replace(AUTONOMOUS, permission_profile=PermissionProfile.TRUSTED)
        ) as session:
            await said(session)
            child = session._core.store.read(f"{session.id}.1")
            return [one.content for one in only(p.ToolFinished, [each.event for each in child])]

    told, ran = asyncio.run(run())
    assert "Our words." in told and "from-the-skill" in ran, (told, ran)


def test_a_helper_that_may_write_and_does_not_leaves_no_branch(repo: Path) -> None:
    async def run() -> str:
        async with opened(repo, model([started("a", writes=True)], _reads)) as session:
            return str(only(p.ToolFinished, await said(session))[-1].content)

    assert asyncio.run(run()) == "## explorer-1: done\nreport on a"
    assert git(repo, "branch", "--list", "quintet/*") == ""


def test_a_question_goes_up_with_the_helpers_name(repo: Path) -> None:
    def asks(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("bash", command="python -m unittest")]
        return next(m.text for m in reversed(request.messages) if m.role == "tool")

    async def run() -> tuple[p.QuestionAsked, str]:
        async with opened(repo, model([started("a", role="tester")], asks), person=True) as session:
            asked = None
            events = []
            async for item in session.follow(await session.say("test it")):
                if isinstance(item, p.Recorded):
                    events.append(item.event)
                    if isinstance(item.event, p.QuestionAsked):
                        asked = item.event
                        await session.submit(p.Answer(question=asked.question, choice="n", note="not now"))
            assert asked
            return asked, only(p.ToolFinished, events)[-1].content

    asked, report = asyncio.run(asyncio.wait_for(run(), 60))
    assert asked.text == "tester-1: Run: python -m unittest?"
    assert asked.kind == "approve"
    assert [one.key for one in asked.choices] == ["y", "n", "e"]  # once, and no rule: whose would it be
    assert "not now" in report


def test_s3_13_3_an_approval_is_void_when_the_parent_tightens_meanwhile(repo: Path) -> None:
    def asks(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("bash", command="python -m unittest")]
        return next(m.text for m in reversed(request.messages) if m.role == "tool")

    async def run() -> tuple[list[p.QuestionAsked], list[p.Event]]:
        async with opened(repo, model([started("a", role="tester")], asks), person=True) as session:
            asked: list[p.QuestionAsked] = []
            async for item in session.follow(await session.say("test it")):
                if isinstance(item, p.Recorded) and isinstance(item.event, p.QuestionAsked):
                    asked.append(item.event)
                    choice = "y" if len(asked) == 1 else "n"
                    if choice == "y":
                        await session.say("/permission-profile restricted")
                    await session.submit(p.Answer(question=item.event.question, choice=choice))
            return asked, [each.event for each in session._core.store.read(f"{session.id}.1")]

    asked, inner = asyncio.run(asyncio.wait_for(run(), 60))
    assert len(asked) == 2
    assert any("a dial was turned down while the question was open" in line for line in asked[1].detail)
    assert only(p.ToolStarted, inner) == []
    turned = only(p.DialsTurned, inner)
    assert [one.after.permission_profile for one in turned] == ["restricted"]  # and its model is told


def test_two_helpers_do_not_write_the_same_file(repo: Path) -> None:
    def writes(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("Write", file_path="made.txt", content=task)]
        return next(m.text for m in reversed(request.messages) if m.role == "tool")

    async def run() -> str:
        async with opened(repo, model([started("a", "b", writes=True)], writes, delay=0.2)) as session:
            return str(only(p.ToolFinished, await said(session))[-1].content)

    report = asyncio.run(run())
    assert report.count("do not change it, and say so in your report") == 1
    assert report.count("is changing made.txt") == 1
    assert len(git(repo, "branch", "--list", "quintet/*").splitlines()) == 1
