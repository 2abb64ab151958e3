"""The journal of a scenario: read while it grows, and made comparable with that of another surface."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.journal import protocol as p
from quintet.domain.journal.input_outcome import InputWatch
from quintet.domain.journal.state import SessionState

T = TypeVar("T")
SECONDS = 120.0  # a limit, not a measure
ID = re.compile(r"\b(q5|run|turn|in|q|s|t|c|m|rule|rewind|owner)-[0-9a-z]{16}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+(\.\d+)? ?(s|ms)\b")

ASIDE = ("surface", "rights", "seconds", "digest")  # a digest is of a call with the folders it may write
NOBODY = "this run is non-interactive"


class Journal:
    """The newest session of a project, as another process sees it."""

    def __init__(self, root: Path) -> None:
        self._path = locate(str(root)).database
        self._rows: Rows | None = None
        self.session = ""
        self._events: list[p.Event] = []
        self._seq = 0
        self._state = SessionState()

    def events(self) -> list[p.Event]:
        """All so far."""
        if not self.session and Path(self._path).exists():
            with contextlib.suppress(apsw.SQLError):  # it is being made
                self._rows = self._rows or Rows(connect_to_read(self._path), self._path)
                self.session = next((found.id for found in self._rows.sessions(1)), "")
        if self._rows and self.session:
            for recorded in self._rows.read(self.session, self._seq):
                self._seq = recorded.seq
                self._events.append(recorded.event)
                self._state.apply(recorded.event)
        return self._events

    def _inbox(self) -> list[Any]:
        return self._rows.inbox(self.session) if self._rows else []

    def wait(self, wanted: Callable[[list[p.Event], SessionState], T], what: str) -> T:
        until = time.monotonic() + SECONDS
        while not (found := wanted(self.events(), self._state)):
            last = "\n".join(map(str, self._events[-5:]))
            assert time.monotonic() < until, f"waited for {what}; the last events:\n{last}"
            time.sleep(0.03)
        return found

    def came(self, count: int, kind: str) -> int:
        """Waits for an event of that kind behind the first `count`; returns how many there are up to it."""

        def place(events: list[p.Event], state: SessionState) -> int:
            return next((number for number, e in enumerate(events, 1) if number > count and tag(e) == kind), 0)

        return self.wait(place, kind)

    def rests(self, count: int) -> None:
        """Waits until what was submitted behind the first `count` events is over, or waits for an answer."""

        def rested(events: list[p.Event], state: SessionState) -> bool:
            since = events[count:]
            heard = any(isinstance(e, p.CommandRan | p.InputReceived | p.QuestionAnswered) for e in since)
            free = not (state.busy or state.turns.waiting) and all(_over(e.submission, since) for e in _inputs(since))
            return bool(heard and (state.questions or free) and not self._inbox())

        self.wait(rested, "the end of what was begun")

    def asked(self, key: str) -> p.QuestionAsked:
        """Waits for a question that has this choice."""

        def found(events: list[p.Event], state: SessionState) -> p.QuestionAsked | None:
            return next((q for q in state.questions.values() if any(c.key == key for c in q.choices)), None)

        asked = self.wait(found, f"a question with [{key}]")
        assert asked
        return asked

    def is_closed(self, question: str, seconds: float) -> bool:
        """Whether a question is answered, or will be in so many seconds."""
        until = time.monotonic() + seconds
        while self.events() and question in self._state.questions:
            if time.monotonic() > until:
                return False
            time.sleep(0.03)
        return True


def _inputs(events: list[p.Event]) -> list[p.CommandRan | p.InputReceived]:
    return [event for event in events if isinstance(event, p.CommandRan | p.InputReceived)]


def _over(submission: str, events: list[p.Event]) -> bool:
    watch = InputWatch(submission)
    return any(watch.see(event) for event in events)


def tag(event: p.Event) -> str:
    return str(type(event).__struct_config__.tag)


def facts(events: Iterable[p.Event], root: Path, *, asked: bool = True, left_out: Collection[str] = ()) -> list[str]:
    """What a journal says whatever the surface, one line an event.

    Left out: who owned the session in which process. Made the same: the surface, ids (numbered as they come), moments
    and durations, the folders of the project. Where nobody can be asked (`asked` false) also: the questions with their
    answers, that nobody was there, and the lines that say what an answer would have (`left_out`); what an answer
    began bears the id of its question, and is numbered with what a line began.
    """
    kept = [event for event in events if asked or not isinstance(event, p.QuestionAsked | p.QuestionAnswered)]
    kept = [event for event in kept if not (isinstance(event, p.CommandRan) and event.line in left_out)]
    told = [_told(msgspec.to_builtins(event), asked) for event in kept if not isinstance(event, p.SessionTaken)]
    lines = [json.dumps(one, ensure_ascii=False, sort_keys=True) for one in told]
    for folder, name in ((str(root), "PROJECT"), (locate(str(root)).state, "STATE")):
        lines = [line.replace(folder, name) for line in lines]
    names, counts = dict[str, str](), Counter[str]()

    def numbered(found: re.Match[str]) -> str:
        if found[0] not in names:
            kind = "in" if found[1] == "q" and not asked else found[1]
            counts[kind] += 1
            names[found[0]] = f"{kind}-{counts[kind]}"
        return names[found[0]]

    return [TIME.sub("TIME", ID.sub(numbered, line)) for line in lines]


def _told(value: Any, asked: bool) -> Any:
    if isinstance(value, str) and not asked:
        return "\n".join(line for line in value.split("\n") if NOBODY not in line)
    if isinstance(value, list | tuple):
        return [_told(one, asked) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _told(one, asked) for name, one in value.items() if name not in (ASIDE if asked else (*ASIDE, "person"))
    }
