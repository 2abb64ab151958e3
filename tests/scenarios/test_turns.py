"""Turns are the same on every surface: reports, pauses, interrupts, a killed process."""

import json
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from tests.adapters.model_server import Reply
from tests.engine.planted import plant
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Answer, Interrupt, Kill, ModelGoesOn, Say, Until
from tests.surfaces.program import call, stuck_after

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
READ = call("Read", file_path="tally/count.py")
BUILD = ("build", "assisted", "normal", "smart")
HELD = Reply(calls=READ.calls, held=True)


def test_s3_review_leaves_its_report(everywhere: Everywhere) -> None:
    report = json.dumps({"summary": "Not yet.", "findings": [], "not_looked_at": []})
    replies = [call("git_diff_unstaged"), Reply(text=report), Reply(text="DONE")]
    told = everywhere(Say("/review"), Answer("g"), first=plant, replies=replies)
    for one in told.values():
        (made,) = one.of(p.ReportMade)
        assert "Not yet." in Path(made.path).read_text()


def test_an_edit_that_the_dials_allow(everywhere: Everywhere) -> None:
    edit = call("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens")
    told = everywhere(Say("rename it"), replies=[READ, edit, Reply(text="Renamed.")], dials=BUILD)
    for one in told.values():
        assert "def tokens" in (one.root / "tally/count.py").read_text()


def test_a_turn_is_paused_and_resumed(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("what does it count?", waits=False),
        Until("model_requested"),
        Say("/pause", waits=False),
        Until("run_paused"),
        ModelGoesOn(),
        Until("tool_finished"),
        Say("/resume"),
        replies=[HELD, Reply(text="Words.")],
    )
    for one in told.values():
        assert len(one.of(p.RunPaused)) == len(one.of(p.RunResumed)) == 1
        assert [end.answer for end in one.of(p.TurnFinished)] == ["Words."]


def test_a_turn_is_interrupted_and_taken_up_again(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("what does it count?", waits=False),
        Until("model_requested"),
        Interrupt(),
        Say("/resume"),
        replies=[stuck_after(""), Reply(text="It counts words.")],
    )
    for one in told.values():
        assert [str(end.status) for end in one.of(p.TurnFinished)] == ["interrupted", "done"]


def test_a_turn_whose_process_was_killed_is_taken_up_again(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("what does it count?", waits=False),
        Until("tool_finished"),
        Until("model_requested"),
        Kill(),
        Say("/resume"),
        replies=[READ, stuck_after("It cou"), Reply(text="Words.")],
    )
    for one in told.values():
        assert [str(end.status) for end in one.of(p.TurnFinished)] == ["interrupted", "done"]
