"""The protocol: closed unions with JSON forms, and old journals that can still be read."""

import json
from pathlib import Path
from typing import get_args

import pytest

from quintet.domain.base.safe_text import visible
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.journal.session_summary import summarise
from quintet.domain.journal.state import fold
from tests.places import TESTS

GOLDEN = TESTS / "domain" / "golden"


def test_every_event_and_submission_has_a_type_of_its_own_in_json() -> None:
    for union in (p.Event, p.Submission, p.Signal):
        tags = [kind.__struct_config__.tag for kind in get_args(union)]
        assert len(set(tags)) == len(tags)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_golden_journal_still_reads_and_folds_to_its_state(path: Path) -> None:
    """Each released shape of the journal keeps a file here; a change that cannot read it needs an upcaster."""
    version = int(path.stem.removeprefix("v"))
    lines = path.read_text().splitlines()
    events = [p.decode_event(line, version) for line in lines[:-1]]
    assert {type(event) for event in events} == set(get_args(p.Event)) or version != p.VERSION
    assert json.loads(lines[-1]) == json.loads(p.encode(summarise(fold(events))))


def test_what_is_written_is_read_back_equal() -> None:
    for line in (GOLDEN / f"v{p.VERSION}.jsonl").read_text().splitlines()[:-1]:
        event = p.decode_event(line)
        assert p.decode_event(p.encode(event)) == event
        assert json.loads(p.encode(event)) == json.loads(line)


def test_a_reply_of_before_it_said_who_answered_is_still_read() -> None:
    old = '{"type":"model_replied","step":"s-1","text":"hello","calls":[],"finish":"stop"}'
    assert p.decode_event(old) == p.ModelReplied(step="s-1", text="hello")


def test_every_event_that_a_person_should_see_has_words() -> None:
    silent = {
        "SessionOpened",
        "SessionTaken",
        "InputReceived",
        "InputRevised",
        "InputWithdrawn",
        "InputsReleased",
        "ModelChosen",
        "ExecutorChosen",
        "ModelConsulted",
        "MenuMoved",
        "RunPaused",
        "RunResumed",
        "TurnStarted",
        "TurnRated",
        "ConversationCleared",
        "ModelRequested",
        "ModelReplied",
        "QuestionAsked",
        "QuestionAnswered",
        "ReasoningSwitched",
        "CheckpointTaken",
        "FilesChanged",
        "Rewound",
        "WorkflowBegun",
        "StepFinished",
        "CycleResumed",
    }
    events = [p.decode_event(line) for line in (GOLDEN / f"v{p.VERSION}.jsonl").read_text().splitlines()[:-1]]
    spoken = {type(event).__name__ for event in events if describe(p.Recorded(1, "", event))}
    assert {type(event).__name__ for event in events} - spoken == silent


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ✓ ünïcode\n\ttab", "plain ✓ ünïcode\n\ttab"),
        ("\x1b[31mred", "␛[31mred"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("back\x08space\r", "back␈space␍"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("bidi \u202e", "bidi \\u202e"),
        ("bytes \udc80", "bytes \\x80"),
        ("line\r\nend", "line\nend"),
    ],
)
def test_control_characters_are_shown_not_sent(text: str, shown: str) -> None:
    assert visible(text) == shown
