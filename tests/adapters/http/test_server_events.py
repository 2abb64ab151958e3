"""Server-sent events: the same for any cut of the bytes, and bounded."""

import pytest

from quintet.adapters.http import server_events
from quintet.adapters.http.server_events import ServerEvents
from quintet.domain.base.errors import ModelBadResponse


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b"data: one\r\ndata: two\r\n\r\n", [b"one\ntwo"]),
        (b": a comment\n\nevent: x\nid: 1\nretry: 5\ndata:a\n:more\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata:  a\n\n", [b" a"]),
        (b"data\n\ndata:\n\n", [b"", b""]),
        (b"data: unfinished\n", []),
        (b"rubbish\n\n{}\n\n", []),
    ],
)
def test_server_events_for_every_cut_in_two(stream: bytes, expected: list[bytes]) -> None:
    for cut in range(len(stream) + 1):
        events = ServerEvents()
        assert [*events.feed(stream[:cut]), *events.feed(stream[cut:])] == expected


def test_an_event_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_events, "MAX_EVENT_BYTES", 1000)
    for piece in (b"x" * 400, b"data: " + b"x" * 400 + b"\n"):
        events = ServerEvents()
        with pytest.raises(ModelBadResponse, match="too long"):
            for _ in range(10):
                list(events.feed(piece))
