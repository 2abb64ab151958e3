"""What must hold after a crash, and the recovery that shows it.

`Witness` is what the outside saw before the crash. `recover` opens what is left with the real program, goes on to the
end and does one more turn; it returns every promise that was broken, as lines of text.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from crash_session import FLAT, Person, careful_model, effects_in, label_of

import quintet
from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import QuintetError
from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.engine.session.session import Session

AFTERWARDS = "m99"
PATIENCE = 120.0  # seconds a recovery may take

Row = tuple[int, str]  # an event's number and its JSON


@dataclass
class Witness:
    """What the outside saw before the crash."""

    session: str = ""
    acknowledged: list[Row] = field(default_factory=list)
    submitted: dict[str, str] = field(default_factory=dict)  # the question each answers, if it is an answer
    began: set[str] = field(default_factory=set)  # calls that began to have effects
    effects: Counter[str] = field(default_factory=Counter)  # jobs done in a project that is gone since

    def take(self, report: dict[str, Any]) -> None:
        match report:
            case {"session": session, "event": [seq, data]}:
                self.session = session
                self.acknowledged.append((seq, data))
            case {"submitted": submission, "answers": question}:
                self.submitted[submission] = question
            case {"began": call_id}:
                self.began.add(call_id)

    def running(self) -> set[str]:
        """Calls that had begun and not finished, as far as was acknowledged."""
        finished = {event.call for event in events_of(self.acknowledged) if isinstance(event, p.ToolFinished)}
        return self.began - finished


def witness_of(reports: Iterable[dict[str, Any]]) -> Witness:
    witness = Witness()
    for report in reports:
        witness.take(report)
    return witness


@dataclass
class Left:
    """What lies on the disk, read from a copy so that the program is the first to open the original."""

    rows: list[Row]
    inbox: set[str]
    listed: Axes | None  # where the dials stand, as listings show it
    notice: str = ""


def read_state(database: str, session: str) -> Left:
    if not os.path.exists(database):
        return Left([], set(), None)
    store = SqliteStore(database)
    try:
        rows = _rows(store, session)
        row = store.session(session)
        listed = msgspec.convert(msgspec.json.decode(row.summary)["axes"], Axes) if row else None
        inbox = {submitted.id for submitted in store.inbox(session)}
        return Left(rows, inbox, listed, store.notice)
    finally:
        asyncio.run(store.close())


def read_copy(database: str, session: str, scratch: str) -> Left:
    os.makedirs(scratch)
    for suffix in ("", "-wal"):
        if os.path.exists(database + suffix):
            shutil.copyfile(database + suffix, os.path.join(scratch, f"state.db{suffix}"))
    return read_state(os.path.join(scratch, "state.db"), session)


def _rows(store: SqliteStore, session: str) -> list[Row]:
    return [(recorded.seq, p.encode(recorded.event).decode()) for recorded in store.read(session)]


def recover(project: str, witness: Witness, scratch: str, whole: list[Row] | None = None) -> list[str]:
    """Check what is left, go on with it, check again. `whole` is the journal had there been no crash, if known."""
    database = locate(project).database
    try:
        left = read_copy(database, witness.session, scratch)
        broken = _check_left(left, witness, whole)
        if not left.rows:  # the crash came before there was a session; the program must start all the same
            return broken + asyncio.run(_go_on(project, ""))
        broken += asyncio.run(_go_on(project, witness.session))
        after = read_state(database, witness.session)
        return broken + _check_after(left, after, witness, project)
    except Exception as error:
        return [f"the state cannot be read: {type(error).__name__}: {error}"]


def _check_left(left: Left, witness: Witness, whole: list[Row] | None) -> list[str]:
    broken = [left.notice] if left.notice else []
    known = len(witness.acknowledged)
    if left.rows[:known] != witness.acknowledged:
        kept = sum(row in left.rows for row in witness.acknowledged)
        broken.append(f"{known - kept} of {known} acknowledged events are lost, or not in their place")
    if whole is not None and left.rows != whole[: len(left.rows)]:
        broken.append("the journal on the disk is not a beginning of the journal that was written")
    seen = _consumed(left.rows)
    traces = left.inbox | seen.keys()
    answered = {event.question for event in events_of(left.rows) if isinstance(event, p.QuestionAnswered)}
    broken += [
        f"submission {submission} was acknowledged and is gone"
        for submission, question in witness.submitted.items()
        if submission not in traces and question not in answered
    ]
    broken += [f"submission {s} is consumed and still in the inbox" for s in left.inbox if s in seen]
    started = {event.call for event in events_of(left.rows) if isinstance(event, p.ToolStarted)}
    broken += [f"call {c} had effects and its start is not on record" for c in sorted(witness.began - started)]
    if left.listed and left.listed != fold(events_of(left.rows)).axes:
        broken.append("the axes that listings show are not those of the journal")
    return broken


def _check_after(left: Left, after: Left, witness: Witness, project: str) -> list[str]:
    broken = []
    if after.rows[: len(left.rows)] != left.rows:
        broken.append("recovery changed events that were on the disk")
    numbers = [seq for seq, _ in after.rows]
    if numbers != sorted(set(numbers)):
        broken.append("event numbers are not unique and rising")
    broken += [f"submission {s} was consumed {n} times" for s, n in _consumed(after.rows).items() if n > 1]
    if after.inbox:
        broken.append(f"recovery left {len(after.inbox)} submissions in the inbox")

    started = [event.call for event in events_of(after.rows) if isinstance(event, p.ToolStarted)]
    broken += [f"call {c} was started {n} times" for c, n in Counter(started).items() if n > 1]
    jobs = Counter(label_of(call_id) for call_id in started)
    broken += [f"job {label} was started {n} times" for label, n in jobs.items() if n > 1]
    effects = effects_in(project) + witness.effects
    broken += [f"job {label} was done {n} times" for label, n in effects.items() if n > 1]

    state = fold(events_of(after.rows))
    if after.listed and after.listed != state.axes:
        broken.append("after recovery the axes that listings show are not those of the journal")
    results = {e.call: e for e in events_of(after.rows) if isinstance(e, p.ToolFinished)}
    for call_id in started:
        if call_id not in results:
            broken.append(f"call {call_id} has no result, not even an unknown one")
        elif results[call_id].status == "ok" and not effects[label_of(call_id)] and call_id.count("."):
            broken.append(f"call {call_id} is on record as done and was not")
    wanted = [label for e in events_of(after.rows) if isinstance(e, p.TurnStarted) for label in _labels(e.text)]
    broken += [f"job {label} was asked for and forgotten" for label in wanted if label not in jobs]
    return broken


def _labels(text: str) -> list[str]:
    return text[3:].replace("+", " ").split() if text.startswith("do ") else []


def events_of(rows: list[Row]) -> list[p.Event]:
    return [p.decode_event(data) for _, data in rows]


def _consumed(rows: list[Row]) -> Counter[str]:
    return Counter(e.submission for e in events_of(rows) if isinstance(e, p.InputReceived | p.CommandRan))


async def _go_on(project: str, session: str) -> list[str]:
    """Take the session up, let it finish, resume what was interrupted, and do one turn more."""
    try:
        async with (
            asyncio.timeout(PATIENCE),
            quintet.open(project, resume=session, person=True, model=careful_model(), settings=FLAT) as opened,
        ):
            return await _finish(opened)
    except TimeoutError:
        return [f"recovery did not come to an end in {PATIENCE:g} s"]
    except QuintetError as error:
        return [f"recovery failed: {error.code}: {error.message}"]


async def _finish(session: Session) -> list[str]:
    person = Person(session, interjects=False)
    broken = []
    try:
        await person.idle()
        if session.state.turns.interrupted:
            await person.say("/resume")
            await person.idle()
        await person.say("/mode build --permission-profile trusted")
        [ended] = await person.say(f"do {AFTERWARDS}")
        if not (isinstance(ended, p.TurnFinished) and ended.status == "done"):
            broken.append(f"the session is of no use after recovery: {ended}")
        if session.state.status != "idle":
            broken.append(f"the session is {session.state.status} at the end, not idle")
    finally:
        await person.leave()
    return broken
