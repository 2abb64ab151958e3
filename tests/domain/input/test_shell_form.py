"""Slash commands in what a headless run says are given as a shell takes them."""

import pytest

from quintet.domain.input.shell_form import in_shell_form
from quintet.domain.tasks.cycle import NEEDS_FLAG, NEEDS_PROFILE, ONE_UNIT, WAITS

NAMES = ("accept", "next", "autonomous", "resume", "retry", "mode", "tasks", "model", "rewind", "undo")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (WAITS, 'the plan needs your approval: quintet -p "/accept" --resume s1'),
        (
            ONE_UNIT,
            'one task is done; quintet -p "/next" --resume s1 does another, "/autonomous" and "/resume" continue',
        ),
        (NEEDS_PROFILE, NEEDS_PROFILE.replace("/resume", 'quintet -p "/resume" --resume s1')),
        (
            "task-1 is blocked; use /tasks move task-1 todo to allow it to start",
            'task-1 is blocked; use quintet -p "/tasks move task-1 todo" --resume s1 to allow it to start',
        ),
        (
            "continue with another model: /model NAME.",
            'continue with another model: quintet -p "/model NAME" --resume s1.',
        ),
        ("/rewind 4 undoes this", 'quintet -p "/rewind 4" --resume s1 undoes this'),
        ("/undo yes does it", 'quintet -p "/undo yes" --resume s1 does it'),
        ("see /etc/next and src/accept.py, `/accept` or /nextcloud", None),
        ("/home/me/resume", None),
    ],
)
def test_what_can_be_typed_in_a_session_is_said_as_a_command_line(text: str, shown: str | None) -> None:
    assert in_shell_form(text, NAMES, "s1") == (shown or text)


def test_the_options_of_a_command_go_with_it() -> None:
    said = in_shell_form(NEEDS_FLAG, NAMES, "s1")
    assert 'quintet -p "/accept --permission-profile normal" --resume s1' in said
