"""What a project's journal shows again and again: the same failure and its fix, the same commands, the same words.

Pure: events in, evidence out. One turn counts once for one piece of evidence, however often it shows it. What is seen
is facts of the journal; nothing here is guessed, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256

import msgspec
from msgspec import Struct, field

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus

KINDS = ("turn_started", "tool_started", "tool_finished", "question_answered")
SHELL = "bash"
MOST_KEPT = 20  # sightings that one piece of evidence names
FEWEST_COMMANDS, MOST_COMMANDS = 3, 6  # of a sequence
SHORTEST_WORDS = 25  # characters of something said that is worth a skill
_NOISE = regex(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*|/[^\s:'\"]*/|['\"][^'\"]{30,}['\"]")
_FAILURE = regex(r"(?i)error|fail|exception|cannot|not found|denied|refused|undefined|expected")


class EvidenceKind(StrEnum):
    FAILURE = "failure"  # a command fails in one way, and the same is changed until it passes
    COMMANDS = "commands"  # the same commands one after the other
    CORRECTION = "correction"  # the user says the same to what was asked or done


class Sighting(Struct, frozen=True):
    session: str
    turn: str


class Evidence(Struct, frozen=True):
    kind: EvidenceKind
    subject: str  # the command, the first command, or the words
    detail: str = ""  # how it fails
    files: tuple[str, ...] = ()  # that were changed each time
    commands: tuple[str, ...] = ()  # that were run each time
    seen: tuple[Sighting, ...] = ()

    @property
    def key(self) -> str:
        """The same for the same thing, whenever and however often it is seen."""
        parts = (self.kind, self.subject, self.detail, *(self.commands if self.kind is EvidenceKind.COMMANDS else ()))
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _Failure(Struct):
    line: str
    how: str
    changed: dict[str, None] = field(default_factory=dict)
    ran: dict[str, None] = field(default_factory=dict)


class _Turn(Struct):
    session: str
    turn: str
    lines: list[str] = field(default_factory=list)
    failed: dict[str, _Failure] = field(default_factory=dict)
    fixed: list[_Failure] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


class _Fix(Struct):
    """What the turns that fixed one failure have in common."""

    seen: list[Sighting]
    changed: dict[str, None]
    ran: dict[str, None]


def found(events: Iterable[tuple[str, p.Event]], threshold: int) -> list[Evidence]:
    """What was seen in at least so many turns, the most frequent first."""
    turns = _turns(events)
    every = [*_fixes(turns), *_sequences(turns, threshold), *_corrections(turns)]
    enough = [one for one in every if len({(s.session, s.turn) for s in one.seen}) >= threshold]
    return sorted(enough, key=lambda one: (-len(one.seen), one.kind, one.subject))


def _turns(events: Iterable[tuple[str, p.Event]]) -> list[_Turn]:
    turns: list[_Turn] = []
    now: dict[str, _Turn] = {}  # by session
    calls: dict[tuple[str, str], str] = {}
    for session, event in events:
        match event:
            case p.TurnStarted(turn=turn):
                now[session] = _Turn(session, turn)
                turns.append(now[session])
            case p.ToolStarted(call=call, tool=tool, arguments=arguments) if tool == SHELL:
                calls[session, call] = _line(arguments)
            case p.ToolFinished() as done if session in now:
                _finish(now[session], done, calls.pop((session, done.call), ""))
            case p.QuestionAnswered(note=note) if note.strip() and session in now:
                now[session].said.append(_plain(note))
    return turns


def _finish(turn: _Turn, done: p.ToolFinished, line: str) -> None:
    changed = dict.fromkeys(done.changed)
    for failure in turn.failed.values():
        failure.changed |= changed
        if line and line != failure.line:
            failure.ran[line] = None
    code = done.shell.exit_code if done.shell else None
    if not line or not isinstance(code, int):
        return
    if code:
        turn.failed.setdefault(line, _Failure(line, _how(done.content)))
    elif done.status is CallStatus.OK:
        turn.lines.append(line)
        if line in turn.failed:
            turn.fixed.append(turn.failed.pop(line))


def _line(arguments: str) -> str:
    try:
        value = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return ""
    return _plain(str(value.get("command", ""))) if isinstance(value, dict) else ""


def _plain(text: str) -> str:
    return on_one_line(" ".join(text.split()))[:300]


def _how(output: str) -> str:
    """The line that says what went wrong, without what differs from one time to the next."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("(exit")]
    telling = next((line for line in reversed(lines) if _FAILURE.search(line)), lines[-1] if lines else "")
    return _plain(_NOISE.sub("…", telling))[:160]


def _fixes(turns: Iterable[_Turn]) -> Iterable[Evidence]:
    known: dict[tuple[str, str], _Fix] = {}
    for turn in turns:
        for failure in turn.fixed:
            if not failure.changed and not failure.ran:
                continue
            key, here = (failure.line, failure.how), Sighting(turn.session, turn.turn)
            fix = known.get(key)
            if fix is None:
                known[key] = _Fix([here], dict(failure.changed), dict(failure.ran))
            elif here not in fix.seen:
                fix.seen.append(here)
                fix.changed = {path: None for path in fix.changed if path in failure.changed}
                fix.ran = {line: None for line in fix.ran if line in failure.ran}
    for (line, how), fix in known.items():
        if fix.changed or fix.ran:
            yield Evidence(
                EvidenceKind.FAILURE, line, how, tuple(fix.changed), tuple(fix.ran), tuple(fix.seen[-MOST_KEPT:])
            )


def _sequences(turns: Iterable[_Turn], threshold: int) -> Iterable[Evidence]:
    """The longest runs of commands that come again; what is part of a longer one is left out."""
    seen: dict[tuple[str, ...], dict[Sighting, None]] = {}
    for turn in turns:
        here = Sighting(turn.session, turn.turn)
        for size in range(FEWEST_COMMANDS, MOST_COMMANDS + 1):
            for at in range(len(turn.lines) - size + 1):
                run = tuple(turn.lines[at : at + size])
                if len(set(run)) == size:
                    seen.setdefault(run, {})[here] = None
    often = {run: places for run, places in seen.items() if len(places) >= threshold}
    for run, places in often.items():
        longer = any(len(other) > len(run) and _holds(other, run) for other in often)
        if not longer:
            yield Evidence(EvidenceKind.COMMANDS, run[0], commands=run, seen=tuple(places)[-MOST_KEPT:])


def _holds(run: tuple[str, ...], part: tuple[str, ...]) -> bool:
    return any(run[at : at + len(part)] == part for at in range(len(run) - len(part) + 1))


def _corrections(turns: Iterable[_Turn]) -> Iterable[Evidence]:
    seen: dict[str, dict[Sighting, None]] = {}
    for turn in turns:
        for words in turn.said:
            if len(words) >= SHORTEST_WORDS:
                seen.setdefault(words.lower().rstrip(".!"), {})[Sighting(turn.session, turn.turn)] = None
    for words, places in seen.items():
        yield Evidence(EvidenceKind.CORRECTION, words, seen=tuple(places)[-MOST_KEPT:])
