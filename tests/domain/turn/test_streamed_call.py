"""What is known of a call while it streams: the tool at once, its file or a command's first line when that is whole."""

import pytest
from msgspec import json

from quintet.domain.turn.messages import CallBegunPart
from quintet.domain.turn.streamed_call import StreamedCall


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"file_path": 'a "b".py', "content": "x" * 9000}, 'a "b".py'),
        ({"command": "cat > x <<E\nsecret"}, "cat > x <<E"),
        ({"content": "x" * 5000, "file_path": "late.py"}, ""),
        ({}, ""),
    ],
)
def test_the_tool_is_told_at_once_and_what_it_is_about_once(arguments: dict[str, str], about: str, size: int) -> None:
    text, call = json.encode(arguments).decode(), StreamedCall(2)
    told = call.add("Write", "")
    assert told == [CallBegunPart(2, "Write")]
    for at in range(0, len(text), size):
        told += call.add("", text[at : at + size])
    if size < 1000 or about:
        assert told[1:] == ([CallBegunPart(2, "Write", about)] if about else [])
