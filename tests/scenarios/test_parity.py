"""Ten things that a person does, on six surfaces: the same journal on each, but for the surface.

Headless nobody is asked: where an answer decides, it is compared up to the turn.
"""

from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from tests.adapters.model_server import Reply
from tests.engine.cycles import statuses
from tests.engine.task_places import added, page
from tests.scenarios.conftest import Everywhere
from tests.scenarios.other_surfaces import OTHERS
from tests.scenarios.steps import Answer, Interrupt, ModelGoesOn, Say, Until
from tests.scenarios.surfaces import SURFACES
from tests.surfaces.program import call, stuck_after

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.everything,
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
SIX = (*SURFACES, *OTHERS)
BUILD = ("build", "assisted", "normal", "smart")
TWO = 'create the file a.txt with "a" and then create the file b.txt with "b"'
BOTH_DONE = {"task-001": "done", "task-002": "done"}
READ = call("Read", file_path="tally/count.py")
DECIDES = "turn_started"  # what comes after it, headless, is decided by nobody
EDIT = call("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens")


def counted(root: Path) -> str:
    return (root / "tally/count.py").read_text()


def test_a_plan_is_accepted(everywhere: Everywhere) -> None:
    accepted = Answer("a", alone="/accept --autonomous --permission-profile normal")
    told = everywhere(Say(f"/plan {TWO}"), accepted, on=SIX)
    for one in told.values():
        assert statuses(one.root) == BOTH_DONE, one.surface


def test_a_change_is_approved(everywhere: Everywhere) -> None:
    told = everywhere(Say("rename it"), Answer("y"), on=SIX, replies=[READ, EDIT, Reply(text="Done.")], until=DECIDES)
    for one in told.values():
        assert ("def tokens" in counted(one.root)) == (one.surface != "headless"), one.surface


def test_a_change_is_refused_with_feedback(everywhere: Everywhere) -> None:
    refused = Answer("e", words="call it terms")
    told = everywhere(Say("rename it"), refused, on=SIX, replies=[READ, EDIT, Reply(text="Not then.")], until=DECIDES)
    for one in told.values():
        assert "def words" in counted(one.root), one.surface
        if one.surface != "headless":
            assert [(event.choice, event.note) for event in one.of(p.QuestionAnswered)] == [("n", "call it terms")]


def test_a_turn_is_interrupted_and_resumed(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("what does it count?", waits=False),
        Until("model_requested"),
        Interrupt(),
        Say("/resume"),
        on=SIX,
        replies=[stuck_after(""), Reply(text="It counts words.")],
    )
    for one in told.values():
        assert [str(end.status) for end in one.of(p.TurnFinished)] == ["interrupted", "done"], one.surface


def test_a_dial_is_steered_to_turn_later(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("what does it count?", waits=False),
        Until("model_requested"),
        Say("/steer permission-profile trusted after-current-unit", waits=False),
        Until("command_ran"),
        ModelGoesOn(),
        Until("turn_finished"),
        Say("/status"),
        on=SIX,
        replies=[Reply(text="Words.", held=True)],
    )
    for one in told.values():
        assert [turned.after.permission_profile for turned in one.of(p.DialsTurned)] == ["trusted"], one.surface


def test_an_item_of_an_agents_menu_is_chosen(everywhere: Everywhere) -> None:
    lines = (Say("/agents release"), Say("/menu"), Say("RN"), Say("/dismiss"))
    told = everywhere(*lines, on=SIX, replies=[Reply(text="Nothing is new.")])
    for one in told.values():
        assert [end.answer for end in one.of(p.TurnFinished)] == ["Nothing is new."], one.surface
        assert len(one.of(p.AgentEntered)) == len(one.of(p.AgentDismissed)) == 1


def test_a_workflow_is_run_step_by_step(everywhere: Everywhere) -> None:
    replies = [Reply(text="The spec is clear."), Reply(text="DONE")]
    told = everywhere(Say("/agents planner"), Say("BD"), Say("/stop"), on=SIX, replies=replies)
    for one in told.values():
        assert one.of(p.WorkflowBegun) and one.of(p.StepBegun), one.surface


def two_tasks(root: Path) -> None:
    pages = [(f"task-00{number}", f'create the file {name}.txt with "{name}"') for number, name in ((1, "a"), (2, "b"))]
    added(root, *(page(id, title=body, body=f"{body}\n") for id, body in pages))


def test_a_cycle_does_one_task_and_then_the_other(everywhere: Everywhere) -> None:
    told = everywhere(Say("/next"), Say("/next"), on=SIX, first=two_tasks, dials=BUILD)
    for one in told.values():
        assert statuses(one.root) == BOTH_DONE, one.surface


def test_a_turn_is_rewound(everywhere: Everywhere) -> None:
    replies = [READ, EDIT, Reply(text="Renamed."), Reply(text="DONE")]
    told = everywhere(Say("rename it"), Say("/rewind 1 both"), on=SIX, replies=replies, dials=BUILD)
    for one in told.values():
        assert len(one.of(p.Rewound)) == 1 and "def words" in counted(one.root), one.surface


def test_an_input_is_queued_changed_and_run(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("what does it count?", waits=False),
        Until("model_requested"),
        Say("and lines?", waits=False),
        Until("input_received"),
        Say("/queued edit 1 and bytes?", waits=False),
        Until("input_revised"),
        ModelGoesOn(),
        Until("turn_started"),
        Until("turn_finished"),
        on=SIX,
        replies=[Reply(text="Words.", held=True), Reply(text="No.")],
    )
    for one in told.values():
        assert [turn.text for turn in one.of(p.TurnStarted)] == ["what does it count?", "and bytes?"], one.surface
