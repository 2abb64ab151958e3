"""A reply as its parts add up: what is kept, what is shown at once, and when it is too long."""

import pytest

from quintet.domain.base.errors import ModelBadResponse
from quintet.domain.journal.protocol import CallStreams, TextDelta, ThinkingDelta
from quintet.domain.models.reply import Reply
from quintet.domain.models.reply_bounds import MOST_CHARACTERS
from quintet.domain.turn.messages import (
    CallBegunPart,
    CallPart,
    EndPart,
    Finish,
    TextPart,
    ThinkingPart,
    ToolCall,
    Usage,
)


def test_each_part_is_kept_and_what_a_reader_sees_at_once_is_returned() -> None:
    reply, call = Reply(), ToolCall("c1", "bash", '{"command": "ls"}')
    parts = [
        ThinkingPart("Let me look."),
        TextPart("I will "),
        TextPart("list them."),
        CallBegunPart(0, "bash", "ls"),
        CallPart(call),
        EndPart(Finish.TOOL_CALLS, Usage(3, 2)),
    ]
    assert [reply.take(part, "s1") for part in parts] == [
        ThinkingDelta(step="s1", text="Let me look."),
        TextDelta(step="s1", text="I will "),
        TextDelta(step="s1", text="list them."),
        CallStreams(step="s1", place=0, tool="bash", about="ls"),
        None,
        None,
    ]
    assert (reply.text, reply.thinking, reply.calls) == ("I will list them.", "Let me look.", [call])
    assert (reply.finish, reply.usage, reply.ended) == (Finish.TOOL_CALLS, Usage(3, 2), True)


def test_what_is_kept_of_a_reply_that_is_too_long_does_not_depend_on_its_pieces() -> None:
    reply = Reply()
    reply.take(TextPart("a" * (MOST_CHARACTERS - 1)), "s1")
    with pytest.raises(ModelBadResponse, match="longer than 2,000,000 characters"):
        reply.take(TextPart("bc"), "s1")
    assert len(reply.text) == MOST_CHARACTERS and reply.text.endswith("ab")
