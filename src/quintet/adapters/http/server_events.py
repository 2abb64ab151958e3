"""Server-sent events, as the answers of models and of other servers come."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quintet.domain.base.errors import ModelBadResponse

MAX_EVENT_BYTES = 16_000_000  # no honest event is longer, and a server must not fill our memory
_LINE_END = re.compile(rb"\r\n|\n|\r")


class ServerEvents:
    """Splits server-sent events out of bytes, cut anywhere; of an event only its data counts."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytearray] = []
        self._after_cr = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        *ended, rest = _LINE_END.split(data)
        for line in ended:
            self._line += line
            name, _, value = self._line.removeprefix(b"\xef\xbb\xbf").partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
            elif not self._line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
            self._line.clear()
        self._line += rest
        if len(self._line) + sum(map(len, self._data)) > MAX_EVENT_BYTES:
            raise ModelBadResponse("an event of the model server is too long", hint="check base_url and the server")
