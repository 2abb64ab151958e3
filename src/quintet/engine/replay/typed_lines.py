"""Which shell lines the user typed, recorded and replayed: written down only of those that were."""

from __future__ import annotations

from quintet.domain.journal.protocol import InputReceived
from quintet.engine.replay.player import Player
from quintet.engine.replay.recorder import Recorder
from quintet.engine.session.typed_lines import TypedLines


def _kind(received: InputReceived) -> str:
    return f"typed.{received.submission}"


class RecordedTypedLines(TypedLines):
    def __init__(self, lines: TypedLines, recorder: Recorder) -> None:
        super().__init__()
        self._lines = lines
        self._recorder = recorder

    def add(self, submission: str, text: str) -> None:
        self._lines.add(submission, text)

    def take(self, received: InputReceived) -> bool:
        typed = self._lines.take(received)
        if typed:
            self._recorder.add(_kind(received))
        return typed


class ReplayedTypedLines(TypedLines):
    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player

    def take(self, received: InputReceived) -> bool:
        return self._player.holds(_kind(received)) and self._player.take(_kind(received)) is not None
