"""A work mode is the same by dial, by flag and by command, on every surface."""

import json
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from tests.adapters.model_server import Reply
from tests.engine.cycles import statuses
from tests.engine.task_places import added, page
from tests.scenarios.conftest import Everywhere, Told
from tests.scenarios.steps import Answer, ModelGoesOn, Say, Turn, Until
from tests.surfaces.program import Program, call

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
TWO = 'create the file a.txt with "a" and then create the file b.txt with "b"'
BOTH_DONE = {"task-001": "done", "task-002": "done"}
AUTONOMOUS = "/accept --autonomous --permission-profile normal"
QUESTION = "what does it count?"
READ = call("Read", file_path="tally/count.py")
REVIEW = json.dumps({"summary": "Not yet.", "findings": [], "not_looked_at": []})
RESEARCH = json.dumps({"answer": "Words.", "claims": [{"claim": "It splits.", "citations": ["tally/count.py:3"]}]})


def from_the_plan_on(told: Told) -> list[str]:
    """What happened once the plan was made: the same, whoever asked for it and how."""
    kinds = [json.loads(line)["type"] for line in told.unasked]
    return kinds[kinds.index("plan_made") :]


def test_s3_a_plan_by_the_dial_is_the_plan_of_the_command(everywhere: Everywhere) -> None:
    answer = Answer("a", alone=AUTONOMOUS)
    by_dial = everywhere(Turn("mode", "plan"), Say(TWO), answer)
    by_command = everywhere(Say(f"/plan {TWO}"), answer)
    for name, one in by_dial.items():
        assert statuses(one.root) == BOTH_DONE, name
        assert [str(end.status) for end in one.of(p.CycleStopped)] == ["waiting", "done"]
        assert from_the_plan_on(one) == from_the_plan_on(by_command[name]), name


def test_s3_a_plan_by_flags_chains_into_build(everywhere: Everywhere) -> None:
    told = everywhere(Say(TWO), dials=("plan", "autonomous", "normal", "smart"))
    for one in told.values():
        assert statuses(one.root) == BOTH_DONE, one.surface
        assert [str(turned.after.work_mode) for turned in one.of(p.DialsTurned)] == ["build"]
    assert [done.code for done in told["headless"].ended] == [0]


def test_a_plan_by_flags_at_restricted_waits_for_a_profile(everywhere: Everywhere) -> None:
    told = everywhere(Say(TWO), dials=("plan", "autonomous", "restricted", "smart"))
    for one in told.values():
        assert statuses(one.root) == {}, one.surface
    assert [done.code for done in told["headless"].ended] == [3]


@pytest.mark.parametrize(
    ("first", "reply", "kind"),
    [((Turn("mode", "review"), Answer("g")), REVIEW, "review"), ((Say("/mode research"),), RESEARCH, "research")],
    ids=["review", "research"],
)
def test_s3_an_input_in_review_or_research_leaves_its_report(
    everywhere: Everywhere, first: tuple[Turn | Say | Answer, ...], reply: str, kind: str
) -> None:
    dials = ("build", "assisted", "normal", "smart")
    told = everywhere(*first, Say(QUESTION), replies=[READ, Reply(text=reply), Reply(text="DONE")], dials=dials)
    for one in told.values():
        (made,) = one.of(p.ReportMade)
        assert made.kind == kind and Path(made.path).exists(), one.surface


def test_research_by_flag_is_that_of_the_command(quintet: Program, everywhere: Everywhere) -> None:
    replies = [READ, Reply(text=RESEARCH), Reply(text="DONE")]
    by_flag = everywhere(Say(QUESTION), replies=replies, dials=("research", "assisted", "normal", "smart"))
    by_command = everywhere(Say(f"/research {QUESTION}"), replies=replies)
    for name, one in by_flag.items():
        (made,), (other,) = one.of(p.ReportMade), by_command[name].of(p.ReportMade)
        assert (made.kind, made.subject, made.unresolved) == (other.kind, other.subject, other.unresolved)


def without_its_page(root: Path) -> None:
    """A task whose page is gone: the doctor finds it, and can write it again."""
    added(root, page("task-001"))
    (root / ".quintet/todo/task-001.md").unlink()


@pytest.mark.parametrize("line", ["/repair", "/repair --autonomous"])
def test_s3_repair_works_on_the_findings_of_the_doctor(everywhere: Everywhere, line: str) -> None:
    told = everywhere(Say(line), Say("/doctor"), first=without_its_page)
    for one in told.values():
        assert (one.root / ".quintet/todo/task-001.md").exists(), one.surface
        assert one.of(p.CommandRan)[-1].text == "nothing is wrong"


def test_s3_go_deep_is_asked_when_review_lands_late(everywhere: Everywhere) -> None:
    told = everywhere(
        Say(QUESTION, waits=False),
        Until("model_requested"),
        Say("/mode review after-current-unit", waits=False),
        Until("command_ran"),
        ModelGoesOn(),
        Until("dials_turned"),
        Answer("g"),
        replies=[Reply(text="Words.", held=True)],
        until="dials_turned",
    )
    for name in ("plain", "tui"):
        assert ["Switch to deep?" in asked.text for asked in told[name].of(p.QuestionAsked)] == [True]


def test_s3_from_plan_to_build_smart_is_offered(everywhere: Everywhere) -> None:
    dials = ("plan", "assisted", "normal", "deep")
    told = everywhere(Say(f"/plan {TWO}"), on=("plain", "tui"), dials=dials)
    for one in told.values():
        asked = one.of(p.QuestionAsked)[-1]
        assert any("smart" in choice.label for choice in asked.choices) or "smart" in asked.text, one.surface


@pytest.mark.parametrize("line", ["/mode build --mode plan", "/mode build --autonomous --control manual"])
def test_flags_that_contradict_each_other_are_an_error_and_turn_nothing(everywhere: Everywhere, line: str) -> None:
    told = everywhere(Say(line))
    for one in told.values():
        assert [ran.ok for ran in one.of(p.CommandRan)] == [False], one.surface
        assert one.of(p.DialsTurned) == []
    assert [done.code for done in told["headless"].ended] == [2]


def test_flags_of_the_command_line_that_contradict_each_other_are_an_error(quintet: Program) -> None:
    done = quintet.run("-p", "git status", "--autonomous", "--control", "manual")
    assert done.code == 2 and "control" in done.err


def test_several_tasks_in_build_and_autonomous_are_a_cycle(everywhere: Everywhere) -> None:
    told = everywhere(Say(TWO), dials=("build", "autonomous", "normal", "smart"))
    for one in told.values():
        assert len(one.of(p.CycleBegan)) == 1 and statuses(one.root) == BOTH_DONE, one.surface


def a_page(root: Path) -> None:
    (root / "docs").mkdir()
    (root / "docs/my file.md").write_text(f"{TWO}\n")


def test_a_quoted_file_is_planned_and_one_that_is_not_there_is_said(everywhere: Everywhere) -> None:
    told = everywhere(Say("/plan nosuch.md"), Say("/plan 'docs/my file.md'"), Answer("n"), first=a_page)
    for one in told.values():
        refused, planned = one.of(p.CommandRan)[:2]
        assert not refused.ok and "nosuch.md" in refused.text, one.surface
        assert planned.ok and one.of(p.CycleBegan)[0].source == "docs/my file.md"
        assert len(one.of(p.PlanMade)[0].tasks) == 2
