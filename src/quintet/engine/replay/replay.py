"""Replays a recorded run: the engine as it is now, on what came from outside then, compared event by event.

Nothing is started, asked or written outside this process. The first difference ends it and is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct, json

from quintet.domain.agents.agent import Agent
from quintet.domain.agents.project_facts import ProjectFacts
from quintet.domain.agents.workflow import Workflow
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.journal.protocol import ModelRequested, Noticed, Recorded, encode
from quintet.domain.journal.recording import ENDED_EARLY, UNRECORDED, Header, RequestDigest, Segment, digest
from quintet.domain.journal.state import fold
from quintet.domain.ports.offers import Lessons, Recollection
from quintet.domain.ports.ports import (
    Agents,
    Batch,
    Checkpoints,
    Clock,
    HookRunner,
    Ids,
    Repository,
    RuleBook,
    ShellGrammar,
)
from quintet.domain.ports.tasks import Plans
from quintet.domain.ports.workers import Integration, Widened
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.skills.use import BegunBySkill
from quintet.domain.tasks.board import BoardEntry, UnderWay
from quintet.domain.tasks.executors import Executors
from quintet.domain.turn.agent_pages import AgentsPage
from quintet.domain.turn.messages import KeptImage
from quintet.domain.turn.review_subject import Subject
from quintet.domain.turn.surroundings import Surroundings
from quintet.domain.turn.tool_spec import ToolSpec
from quintet.engine.cycle.doctor_checks import DoctorChecks
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.replay import ports
from quintet.engine.replay.models import ReplayedModels
from quintet.engine.replay.player import Player, given
from quintet.engine.replay.ports import PortForm, ReplayedPort
from quintet.engine.replay.recorder import REST
from quintet.engine.replay.store import ReplayedStore
from quintet.engine.replay.tools import ReplayedToolAccess, replayed_tool
from quintet.engine.replay.typed_lines import ReplayedTypedLines
from quintet.engine.session.core import (
    CommandParts,
    Core,
    CycleParts,
    FeatureCommands,
    ModelAccess,
    Ownership,
    TurnParts,
)
from quintet.engine.session.owner import Owner
from quintet.engine.turn.prompts import Prompts
from quintet.engine.turn.toolbox import Toolbox

STILL = 40 * REST  # rounds of the loop in which nothing moves: nothing will
CLOSED, LAST = "close", "last"
# What the annotations of ports mean that their modules import for type checkers only.
NAMES = {"Agent": Agent, "Workflow": Workflow, "Subject": Subject}


class Difference(Struct, frozen=True):
    """The first thing that came out differently."""

    event: int  # its number in the journal; 0 if it has none
    type: str
    field: str
    recorded: str  # as JSON; empty if there was nothing
    replayed: str
    hint: str = ""


class ReplayOutcome(Struct):
    equal: bool = True
    events: int = 0  # compared
    requests: int = 0
    calls: int = 0
    complete: bool = True  # whether the recording goes to the end of its run
    left: int = 0  # events of the journal that it does not reach
    unrecorded: str = ""  # what could not be written down, where it ends for that
    difference: Difference | None = None

    def plus(self, other: ReplayOutcome) -> ReplayOutcome:
        return ReplayOutcome(
            self.equal and other.equal,
            self.events + other.events,
            self.requests + other.requests,
            self.calls + other.calls,
            self.complete and other.complete,
            self.left + other.left,
            self.unrecorded or other.unrecorded,
            self.difference or other.difference,
        )


class Parts(Struct, frozen=True):
    """What of the program a replay runs with beside the engine."""

    specs: Mapping[str, ToolSpec]
    grammar: ShellGrammar
    prompts: Callable[[Mapping[str, str]], Prompts]  # with these pages of the project's own


class Replay:
    """One segment, `made` being the events it made then; not `compared`, it is only run, and `posted` has what it made.

    Of the events only those numbered within `window` count, and the replay ends with the last of them.
    """

    def __init__(
        self,
        segment: Segment,
        parts: Parts,
        past: Iterable[Recorded],
        made: Sequence[Recorded],
        window: tuple[int, int] | None = None,
        *,
        compared: bool = True,
    ) -> None:
        self._segment = segment
        self._made = made
        self._compared = compared
        self._latest = segment.header.after  # the newest event's number
        self._requests = [r for r in made if isinstance(r.event, ModelRequested)]
        self._window = window
        self._complete = last_of(segment) is not None
        self._different_request: Difference | None = None
        self.outcome = ReplayOutcome()
        self.posted: list[tuple[str, bytes, str]] = []  # type, JSON, time
        self.asked: list[RequestDigest] = []
        self._past = list(past)
        self._parts = parts
        self._prompts = parts.prompts(segment.header.pages)

    async def run(self) -> ReplayOutcome:
        header = self._segment.header
        player = self.player = Player([one for one in self._segment.entries if one.kind != UNRECORDED])
        state = fold(past.event for past in self._past)
        owner = Owner(self._core(header, self._parts, self._past), state, header.lease)
        player.wake = owner.wake
        task = asyncio.create_task(self._life(owner))
        still, moved = 0, -1
        while not task.done() and still < STILL and not player.stopped:
            still, moved = (still + 1, moved) if player.progress == moved else (0, player.progress)
            if still and still % REST == 0:
                player.let_in()
            await asyncio.sleep(0)
        waits_for = "" if player.finished or player.stopped or player.ran_out else player.next_kind
        player.stop()
        await _end_all()
        if not task.cancelled() and (error := task.exception()):
            raise error
        return self._judged(waits_for)

    async def _life(self, owner: Owner) -> None:
        header = self._segment.header
        await owner.start(header.reason, header.opening, header.agent)
        await self.player.wait(CLOSED)
        await owner.close()

    def _core(self, header: Header, parts: Parts, past: list[Recorded]) -> Core:
        player = self.player

        def port(declared: type, form: PortForm) -> Any:
            return ReplayedPort(declared, form, player, NAMES)

        def asked(kind: str, wanted: Any) -> Callable[..., Any]:
            return lambda *_: player.ask(kind, wanted)

        def waited(kind: str) -> Callable[..., Awaitable[str]]:
            async def text(*_: object) -> str:
                return str(given(await player.wait(kind), str))

            return text

        async def use(*_: object) -> BegunBySkill:
            begun: BegunBySkill = given(await player.wait("skill_use"), BegunBySkill)
            return begun

        async def widened(*_: object) -> Widened:
            claimed: Widened = given(await player.wait("widen"), Widened)
            return claimed

        own = {tool.name: replayed_tool(tool, player) for tool in header.own_tools}
        access: Any = ReplayedToolAccess(player)
        store: Any = ReplayedStore(player, header.lease.session, past, self._journalled)
        return Core(
            project=header.project,
            store=store,
            clock=port(Clock, ports.CLOCK),
            ids=port(Ids, ports.IDS),
            settings=header.settings,
            agents=port(Agents, ports.AGENTS),
            checkpoints=port(Checkpoints, ports.CHECKPOINTS),
            turn=TurnParts(
                models=ModelAccess(
                    header.settings,
                    ReplayedModels(player, self._requested).get,
                    asked("chance", float),
                    asked("direct_model", ModelSettings | None),
                ),
                toolbox=Toolbox({**parts.specs, **own}, access, parts.grammar, header.terms, header.settings.tools),
                prompts=self._prompts,
                rule_book=port(RuleBook, ports.RULE_BOOK),
                repository=port(Repository, ports.REPOSITORY),
                hook_runner=port(HookRunner, ports.HOOKS),
                agents_page=header.agents_page,
                answer_schema=header.answer_schema,
                keep_artifact=asked("artifact", str),
                keep_images=asked("images", tuple[KeptImage | None, ...]) if header.keeps_images else None,
                look_around=asked("surroundings", Surroundings) if header.looks_around else None,
                nested_pages=asked("nested_pages", tuple[AgentsPage, ...]) if header.finds_pages else None,
                recall=port(Recollection, ports.RECALL) if header.recalls else None,
                lessons=port(Lessons, ports.LESSONS) if header.learns else None,
                widen=widened if header.widens else None,
            ),
            cycle=CycleParts(
                plans=port(Plans, ports.PLANS),
                executors=cache(lambda: port(Executors, ports.EXECUTORS)),
                tasks=cache(lambda: port(TaskKeeper, ports.TASKS)),
                look=lambda: port(DoctorChecks, ports.LOOK),
                integration=port(Integration, ports.INTEGRATION) if header.integrates else None,
            ),
            commands=CommandParts(
                features=FeatureCommands(
                    header.commands,
                    waited("command"),
                    waited("command_start"),
                    named=asked("command_named", CommandUsage | None) if header.names_skills else lambda name: None,
                    use=use,
                ),
                keep_page=waited("page"),
                settings_text=asked("settings", str),
                sessions_text=asked("sessions", str),
                find_session=asked("find_session", str),
                project_facts=asked("facts", ProjectFacts),
                export=waited("export"),
                board_rows=asked("board_rows", list[BoardEntry]),
                under_way=asked("under_way", UnderWay) if header.sees_work else None,
            ),
            ownership=Ownership(
                process_identity=lambda pid: "",
                open_elsewhere=asked("open_elsewhere", bool),
                durable=store.durable,
                settled=player.inbox_next,
                typed_lines=ReplayedTypedLines(player),
            ),
            person=header.person,
        )

    # ── comparing

    def _journalled(self, batch: Batch) -> Sequence[int]:
        """Compares events as they are journalled; returns the numbers they had, or might have had."""
        seqs = []
        for kind, data in batch.events:
            place = len(self.posted)
            self._latest = self._made[place].seq if place < len(self._made) else self._latest + 1
            seqs.append(self._latest)
            if not (self.player.stopped or (self.player.ran_out and not self._complete)):
                self.posted.append((kind, data, batch.at))
                if self._compared:
                    self._compare(kind, data, batch.at)
        return seqs

    def _compare(self, kind: str, data: bytes, at: str) -> None:
        place = len(self.posted) - 1
        if place >= len(self._made):
            if self._complete:
                self._differs(Difference(0, kind, "", "", data.decode()))
            return
        then = self._made[place]
        earlier = self._different_request
        if not self._complete and isinstance(then.event, Noticed) and then.event.code == ENDED_EARLY:
            self.player.stop()  # it was said when the recording had ended
        elif earlier and earlier.event <= then.seq:
            self._differs(earlier)
        elif (encode(then.event), then.at) != (data, at):
            self._differs(_difference(then, json.decode(data), at))
        else:
            self._count(then.seq, kind)

    def _count(self, seq: int, kind: str) -> None:
        first, last = self._window or (0, seq + 1)
        if first <= seq <= last:
            self.outcome.events += 1
            self.outcome.calls += kind == "tool_started"
            self.outcome.requests += kind == "model_requested"
        if seq >= last:
            self.player.stop()

    def _requested(self, then: RequestDigest | None, now: RequestDigest) -> None:
        self.asked.append(now)
        if not self._compared or then is None or then == now or self._different_request:
            return
        name = next(n for n in ("system", "tools", "messages", "count", "said") if getattr(then, n) != getattr(now, n))
        place = len(self.asked) - 1
        seq = self._requests[place].seq if place < len(self._requests) else 0
        hint = f"the difference is in the request itself: {_SAID[name]}"
        shipped = {page: digest(text) for page, text in self._prompts.in_use()[1].items()}
        changed = [p for p in {**shipped, **self._segment.header.shipped} if not self._same_page(p, shipped)]
        if name == "system" and changed:
            hint += f"; prompts changed since then: {', '.join(sorted(changed))}"
        self._different_request = Difference(
            seq, "request", name, str(getattr(then, name)), str(getattr(now, name)), hint
        )

    def _same_page(self, page: str, shipped: Mapping[str, str]) -> bool:
        return self._segment.header.shipped.get(page) == shipped.get(page) or page in self._segment.header.pages

    def _differs(self, difference: Difference) -> None:
        if self.outcome.equal:
            self.outcome.equal, self.outcome.difference = False, difference
            self.player.stop()

    def _judged(self, waits_for: str) -> ReplayOutcome:
        outcome = self.outcome
        outcome.complete = self._complete
        outcome.unrecorded = next((str(one.value) for one in self._segment.entries if one.kind == UNRECORDED), "")
        if self._different_request and outcome.equal:
            outcome.equal, outcome.difference = False, self._different_request
        if not (self._compared and outcome.equal) or self._window:
            return outcome
        missing = self._made[len(self.posted) :]
        if waits_for or (missing and self._complete):
            first = missing[0] if missing else None
            recorded = encode(first.event).decode() if first else waits_for
            kind = str(type(first.event).__struct_config__.tag) if first else "end"
            hint = f"the replay stopped; the recording continues with: {waits_for}" if waits_for else ""
            outcome.equal = False
            outcome.difference = Difference(first.seq if first else 0, kind, "", recorded, "", hint)
        elif missing:
            outcome.left = len(missing)
        return outcome


_SAID = {
    "system": "what the model gets before the conversation",
    "tools": "the tools in the request",
    "messages": "the conversation",
    "count": "the number of messages",
    "said": "the user's last message",
}


async def _end_all() -> None:
    """End every task but this one; an engine that is cancelled may have to be told more than once."""
    for _ in range(3):
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _difference(then: Recorded, now: dict[str, Any], at: str) -> Difference:
    before = {"at": then.at, **json.decode(encode(then.event))}
    name, was, is_now = _first_difference(before, {"at": at, **now}, "")
    return Difference(then.seq, str(before["type"]), name, _shown(was), _shown(is_now))


def _first_difference(was: Any, now: Any, path: str) -> tuple[str, Any, Any]:
    if isinstance(was, dict) and isinstance(now, dict):
        keys = ["type", *was, *now] if not path else [*was, *now]
        key = next((k for k in keys if was.get(k) != now.get(k)), None)
        if key is not None:
            return _first_difference(was.get(key), now.get(key), f"{path}.{key}".lstrip("."))
    if isinstance(was, list) and isinstance(now, list):
        place = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
        pair = [values[place] if place < len(values) else None for values in (was, now)]
        return _first_difference(pair[0], pair[1], f"{path}[{place}]")
    return path, was, now


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def lines(outcome: ReplayOutcome) -> list[str]:
    """The outcome as a person is told it."""
    made = f"{outcome.events} events, {outcome.requests} requests, {outcome.calls} calls"
    if outcome.difference is None:
        told = [f"equal: {made}"]
    else:
        told = [f"different: {made} are equal, then", *_difference_lines(outcome.difference)]
    if not outcome.complete:
        left = f", {outcome.left} events before the end of the journal" if outcome.left else ""
        why = outcome.unrecorded or "its process did not close it"
        told.append(f"the recording ends early{left}: {why}")
    return told


def _difference_lines(found: Difference) -> list[str]:
    where = f"event     {found.event or 'one more'}  {found.type}{f', field {found.field}' if found.field else ''}"
    recorded, replayed = _excerpts(found.recorded, found.replayed)
    said = [where, f"recorded  {recorded or '(nothing)'}", f"replayed  {replayed or '(nothing)'}"]
    return [*said, f"          {found.hint}"] if found.hint else said


def _excerpts(recorded: str, replayed: str) -> tuple[str, str]:
    """Both from shortly before they part, so that they stand below each other."""
    same = next((i for i, (a, b) in enumerate(zip(recorded, replayed, strict=False)) if a != b), 0)
    start = max(0, same - 30) if recorded and replayed else 0

    def cut(text: str) -> str:
        piece = text[start : start + 100].encode("unicode_escape").decode()
        return f"{'…' if start else ''}{piece}{'…' if len(text) > start + 100 else ''}"

    return cut(recorded), cut(replayed)


def last_of(segment: Segment) -> int | None:
    """The number of the last event it made, if its session was closed as it should be."""
    return next((int(entry.value) for entry in reversed(segment.entries) if entry.kind == LAST), None)


def split(
    events: Sequence[Recorded], segments: Sequence[Segment]
) -> list[tuple[Segment, list[Recorded], list[Recorded]]]:
    """Each segment with the events before it and those it made."""
    found = []
    for place, segment in enumerate(segments):
        after, last = segment.header.after, last_of(segment)
        if last is None and place + 1 < len(segments):
            last = segments[place + 1].header.after
        past = [recorded for recorded in events if recorded.seq <= after]
        made = [r for r in events if r.seq > after and (last is None or r.seq <= last)]
        found.append((segment, past, made))
    return found


__all__ = ["CLOSED", "Difference", "Parts", "Replay", "ReplayOutcome", "lines", "split"]
