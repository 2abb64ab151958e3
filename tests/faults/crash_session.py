"""The session that the crash tests cut short: a project, a model, what a person says, and a store that reports.

A label such as m1 stands for one job: m runs a script that adds a line to a file (asked), g commits to git (unasked
at trusted), w writes a file. A call's id is its label and a count, so a job done twice shows in the project and in
the journal. The model is a function of the conversation alone, as a careful one would be: it asks for each job once,
and again only when it was told that the call was not run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.adapters.git.repository import GitRepository
from quintet.adapters.processes.background_shells import BackgroundShells
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.tasks.drafts import PlanFolder
from quintet.app.machine_parts import find_ripgrep
from quintet.app.open import make_containment
from quintet.app.prompts import PROMPTS
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import INTERACTIVE, Surface
from quintet.domain.journal import protocol as p
from quintet.domain.journal.protocol import Answer, Recorded, Submitted
from quintet.domain.ports.ports import Batch, Clock, Ids, SessionRow, Workbench
from quintet.domain.settings.settings import SandboxSettings, Settings, ToolSettings
from quintet.domain.turn.messages import CallPart, Part, Request, Role
from quintet.domain.turn.stage_policy import CallContext
from quintet.domain.turn.tool_menu import Presentation
from quintet.domain.turn.tool_spec import ToolResult
from quintet.engine.session.core import Core, CycleParts, ModelAccess, Ownership, TurnParts
from quintet.engine.session.leases import new_lease
from quintet.engine.session.open_session import create_session
from quintet.engine.session.owner import Owner
from quintet.engine.session.session import Session
from quintet.engine.turn.prompts import Prompts
from quintet.engine.turn.toolbox import Prepared, ToolAccess, Toolbox
from quintet.testing import ScriptedModel, call

MARK = """\
#!/bin/sh
echo "$1" >> effects
[ -z "$2" ] || sleep "$2"
"""
MARK_SECONDS = 0.03
NOT_STARTED = "not run: the turn ended first"

# What a person says, each when the one before has come to its end; a tuple is said all at once.
SCRIPT: tuple[str | tuple[str, ...], ...] = (
    "/mode build --permission-profile normal",
    "do m1 w1",
    "/steer permission-profile trusted for-next-unit",
    "do g1 m2+w2",
    "/status",
    "/model builtin",
    "/mdoe chat",
    "/steer model-mode fast next-milestone",
    "!ls",
    "/model-mode fast",
    "/mode review",
    "/mode build --autonomous --permission-profile trusted",
    "do g2 m3+g3 w3",
    ("do m4", "do w4 m5", "/control assisted"),
    "/model-mode deep",
    "do m6+w5+g4",
    "do m7 w6",
)
SHORT = SCRIPT[:4]
# What the same person says when a call has started, or a command has run.
WHEN_STARTED = {
    "m1.1": "/model-mode deep after-current-tool",
    "m2.1": "/mode repair after-current-unit",
    "m3.1": "/pause",
    "m4.1": "/model-mode smart",
    "m6.1": "/stop",
}
WHEN_RAN = {"/pause": "/resume"}

Report = Callable[[dict[str, Any]], None]


class Vanished(Exception):
    """The session ended under its reader."""


# ── the project


def make_project(folder: str) -> str:
    """An empty git repository with the `mark` script; returns its path."""
    os.makedirs(folder)
    path = os.path.join(folder, "mark")
    with open(path, "w", encoding="utf-8") as file:
        file.write(MARK)
    os.chmod(path, 0o755)
    for words in ("init -q --template= -b main", "config user.name Ada", "config user.email ada@example.com"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)
    return folder


def effects_in(folder: str) -> Counter[str]:
    """How often each job was done, as the project itself shows it."""
    done: Counter[str] = Counter()
    with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, "effects"), encoding="utf-8") as file:
        done.update(file.read().split())
    history = subprocess.run(["git", "log", "--format=%s"], cwd=folder, capture_output=True, text=True)
    done.update(history.stdout.split())
    with contextlib.suppress(FileNotFoundError):
        done.update(name.removesuffix(".txt") for name in os.listdir(os.path.join(folder, "out")))
    return done


# ── the model


def label_of(call_id: str) -> str:
    return call_id.partition(".")[0]


def _job(label: str, count: int, tag: str) -> CallPart:
    call_id = f"{label}.{count}"
    match label.removeprefix(tag)[0]:
        case "m":
            return call("bash", call_id, command=f"./mark {label} {MARK_SECONDS}")
        case "g":
            return call("bash", call_id, command=f"git commit --quiet --allow-empty -m {label}")
        case _:
            return call("Write", call_id, file_path=f"out/{label}.txt", content=f"{label}\n")


def careful(tag: str = "") -> Callable[[Request], str | list[Part]]:
    """A model that does every job it was ever told to do, once. `tag` goes before each label."""

    def reply(request: Request) -> str | list[Part]:
        if request.tool_choice == "none":  # it is asked whether it delivered
            return "DONE\nall of it is done"
        wanted: list[list[str]] = []
        asked: Counter[str] = Counter()
        settled: set[str] = set()
        for message in request.messages:
            if message.role is Role.USER and message.text.startswith("do "):
                wanted += [[f"{tag}{label}" for label in step.split("+")] for step in message.text.split()[1:]]
            asked.update(label_of(made.id) for made in message.calls)
            if message.role is Role.TOOL and message.text != NOT_STARTED:
                settled.add(label_of(message.call_id))
        for step in wanted:
            if left := [label for label in step if label not in settled]:
                return [_job(label, asked[label] + 1, tag) for label in left]
        return "all of it is done"

    return reply


def careful_model(tag: str = "") -> ScriptedModel:
    return ScriptedModel([careful(tag)] * 1000)


# ── the person


def last_seq(session: Session) -> int:
    """The number of the session's newest event."""
    return session._core.store.last_seq(session.id)


class Person:
    """Follows a session's events, answers its questions, and speaks up at the moments the tables name."""

    def __init__(self, session: Session, *, tag: str = "", interjects: bool = True) -> None:
        self._session = session
        self._started = {f"{tag}{key}": line for key, line in WHEN_STARTED.items()} if interjects else {}
        self._seen: list[Recorded] = []
        self._news = asyncio.Event()
        self._following = asyncio.create_task(self._follow(last_seq(session)))

    async def say(self, *texts: str) -> list[p.CommandRan | p.TurnFinished]:
        """Say all of it at once, and wait until each has come to its end."""
        submissions = [await self._session.say(text) for text in texts]
        return [await self._end_of(submission) for submission in submissions]

    async def run(self, script: tuple[str | tuple[str, ...], ...] = SCRIPT) -> None:
        for step in script:
            await self.say(*([step] if isinstance(step, str) else step))
            await self.idle()

    async def idle(self) -> None:
        """Wait until the session has nothing left to do."""
        while self._session.state.turns.open or self._session.state.turns.waiting or self._session.state.questions:
            await self._next()

    async def leave(self) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    async def _end_of(self, submission: str) -> p.CommandRan | p.TurnFinished:
        turn = ""
        looked = 0
        while True:
            for recorded in self._seen[looked:]:
                match recorded.event:
                    case p.CommandRan(submission=of) as ran if of == submission:
                        return ran
                    case p.TurnStarted(submission=of) as started if of == submission:
                        turn = started.turn
                    case p.TurnFinished(turn=of) as finished if turn and of == turn:
                        return finished
            looked = len(self._seen)
            await self._next()

    async def _next(self) -> None:
        self._news.clear()
        waiting = asyncio.ensure_future(self._news.wait())
        await asyncio.wait({waiting, self._following}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._following.done():
            await self._following
            raise Vanished()

    async def _follow(self, after: int) -> None:
        async for item in self._session.events(after):
            if not isinstance(item, Recorded):
                continue
            self._seen.append(item)
            match item.event:
                case p.QuestionAsked(question=question, kind=kind):
                    await self._session.submit(Answer(question=question, choice="y" if kind == "approve" else "d"))
                case p.ToolStarted(call=call_id) if line := self._started.get(call_id):
                    await self._session.say(line)
                case p.CommandRan(line=said, ok=True) if line := WHEN_RAN.get(said):
                    await self._session.say(line)
            self._news.set()


# ── a session that reports


class ReportingStore(SqliteStore):
    """Says what it has acknowledged, at the moment it does."""

    def __init__(self, path: str, report: Report, vfs: str | None = None) -> None:
        super().__init__(path, vfs=vfs)
        self._report = report

    async def create(self, row: SessionRow, batch: Batch) -> list[int]:
        return self._reported(row.id, batch, await super().create(row, batch))

    async def append(self, session: str, batch: Batch) -> list[int]:
        return self._reported(session, batch, await super().append(session, batch))

    async def submit(self, session: str, submitted: Submitted, at: str) -> None:
        await super().submit(session, submitted, at)
        answers = submitted.body.question if isinstance(submitted.body, Answer) else ""
        self._report({"submitted": submitted.id, "answers": answers})

    def _reported(self, session: str, batch: Batch, seqs: list[int]) -> list[int]:
        for seq, (_, data) in zip(seqs, batch.events, strict=True):
            self._report({"session": session, "event": [seq, data.decode()]})
        return seqs


FLAT = {"tools.presentation": "flat", "sandbox.use": "none"}  # the scripted model calls tools by name


class ReportingToolbox(Toolbox):
    """Says when a call begins to have effects."""

    def __init__(self, root: str, report: Report) -> None:
        places, settings = locate(root), Settings(sandbox=SandboxSettings(use="none"))
        terms = make_terms(places, settings)
        containment = make_containment(places, settings, terms)
        self.processes = processes = LocalProcesses(containment)
        bench = Workbench(
            root,
            ProjectFiles(root),
            processes,
            BackgroundShells(containment, places.outputs),
            find_ripgrep(),
            places.outputs,
        )
        super().__init__(BY_NAME, ToolAccess(bench), BashGrammar(), terms, ToolSettings(presentation=Presentation.FLAT))
        self._report = report

    async def run(
        self, prepared: Prepared, context: CallContext, *, person: bool, progress: Callable[[str], None]
    ) -> ToolResult:
        self._report({"began": prepared.call.id})
        return await super().run(prepared, context, person=person, progress=progress)


@contextlib.asynccontextmanager
async def reporting_session(
    project: str, store: ReportingStore, report: Report, clock: Clock, ids: Ids, process_start: str = "", tag: str = ""
) -> AsyncIterator[Session]:
    """A new session over `store`, put together as `quintet.app.open` does it.

    Its lease names a process that started at `process_start`, by default one that is gone.
    """
    model = careful_model(tag)
    toolbox = ReportingToolbox(project, report)
    core = Core(
        project=project,
        store=store,
        clock=clock,
        ids=ids,
        settings=Settings(),
        agents=LocalAgents(locate(project)),
        checkpoints=ShadowCheckpoints(locate(project).checkpoints, project),
        turn=TurnParts(
            models=ModelAccess(Settings(), lambda name: model),
            toolbox=toolbox,
            prompts=Prompts(PROMPTS),
            rule_book=FileRuleBook(locate(project).rules_file),
            repository=GitRepository(toolbox.processes, ProjectFiles(project)),
        ),
        cycle=CycleParts(plans=PlanFolder(locate(project))),
        ownership=Ownership(process_identity=lambda pid: process_start or "gone"),
        person=True,
    )
    lease = new_lease(core, ids.new("q5"))
    owner = Owner(core, await create_session(core, INTERACTIVE, lease), lease)
    await owner.start()
    session = Session(core, lease.session, Surface.TUI, owner)
    try:
        yield session
    finally:
        await session.close()
