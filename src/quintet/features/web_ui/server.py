"""The server: every request is held against `access` first, then answered with a page, a fragment or a stream.

What changes something is a POST and becomes a submission like any other: the page that sent it learns what came of it
from the stream, as every other page does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from secrets import token_hex
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.stores.chosen import stored_workers
from quintet.app.late_parts import kept
from quintet.app.lookups import lives, needed, stored
from quintet.app.opening_notes import sound_agents
from quintet.app.task_lookups import tasks_here, under_way
from quintet.app.terminal_ui import at_hand
from quintet.app.trust_question import trust_question
from quintet.domain.agents.agent import Agent
from quintet.domain.base.errors import NotFound, QuintetError, UsageError
from quintet.domain.dials.transitions import Scope
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.journal import protocol as p
from quintet.domain.models.model_facts import is_free
from quintet.domain.ports.prompt import PromptSources
from quintet.domain.ports.workers import WorkerState
from quintet.domain.tasks.task import ID_FORM, Task, TaskMove
from quintet.engine.commands.table import NO_FEATURES, usages
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.cycle.task_tables import parse_status
from quintet.engine.reports import accounts
from quintet.engine.reports.conversation_page import KINDS, as_markdown, exchanges
from quintet.engine.reports.forensics import allowance, examine
from quintet.engine.reports.forensics_page import page as forensics_page
from quintet.engine.session.why import BEHIND, decision_behind, why_lines
from quintet.features.registry import REMOTE_DEVICES, SKILL_USAGES, features, offering, remote_devices, tables
from quintet.features.web_ui import measured, pages
from quintet.features.web_ui.access import (
    FORENSICS_POLICY,
    HOW_THERE,
    Doors,
    VisitorRole,
    may_change,
)
from quintet.features.web_ui.board_page import Crew, board_page, task_page
from quintet.features.web_ui.door_keeper import DoorKeeper, body, form
from quintet.features.web_ui.live import LiveSession, LiveSessions
from quintet.features.web_ui.projects import Projects
from quintet.features.web_ui.remote_page import remote_page

STATIC = os.path.join(os.path.dirname(__file__), "static")
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_PICTURE = 8_000_000
MOST_STREAMS = 300
SWEEP_SECONDS = 30.0
PICTURES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"RIFF": ".webp"}
MOST_OFFERS = 8
MOST_DIGITS = 15  # of a number that a request names
MOST_PAST = 500
GROUPED_BY = tuple(one for one in accounts.GROUPINGS if one != "mode")  # a second word for work-mode


class WebServer:
    """The routes, and what they share."""

    def __init__(self, here: Places) -> None:
        self.projects = Projects(here)
        self.live = LiveSessions(time.monotonic)
        self._measured = measured.MeasuredProjects()
        self._streams = 0
        self._sources: dict[str, PromptSources] = {}
        self._uploads: set[str] = set()
        self._sweeper: asyncio.Task[None] | None = None

    # ── life

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._sweeper = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            self._sweeper.cancel()
            await self.live.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.live.sweep()

    # ── what requests name

    def places(self, request: Request) -> Places:
        return self.projects.places(request.path_params["project"])

    def sources(self, places: Places) -> PromptSources:
        if places.root not in self._sources:
            self._sources[places.root] = at_hand(places.root)
        return self._sources[places.root]

    async def session(self, request: Request) -> LiveSession:
        places = self.places(request)
        rows = needed(places)
        try:
            with clear_errors(places.database):
                row = rows.find_session(request.path_params["session"])
        finally:
            rows.close()
        return await self.live.get(places, row.id)

    # ── pages

    async def home(self, request: Request) -> Response:
        return HTMLResponse(pages.home(await asyncio.to_thread(self.projects.all), role(request)))

    async def metrics(self, request: Request) -> Response:
        return Response(await asyncio.to_thread(self._measured.text), media_type=measured.TEXT)

    async def project(self, request: Request) -> Response:
        places = self.places(request)
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        asked = await asyncio.to_thread(trust_question, places)
        card = pages.trust_card(asked.about, asked.listed, asked.changed, digest(asked.text)) if asked else ""
        return HTMLResponse(
            pages.project_page(listed, role(request), card if role(request) is VisitorRole.OWNER else "")
        )

    async def show(self, request: Request) -> Response:
        live = await self.session(request)
        if request.path_params["session"] != live.id:
            return RedirectResponse(f"../{quote(live.id)}/", 303)
        await live.look_at_tasks()  # another session may have moved some
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        asked = request.query_params.get("why", "")
        sheet = self._why(live, number_of(asked)) if number_of(asked) > 0 else ""
        return HTMLResponse(
            pages.session_page(listed.name, listed.slug, live.page(), listed.sessions, live.id, role(request), sheet)
        )

    async def whole(self, request: Request) -> Response:
        """The page's moving parts, for one that begins anew."""
        return Response((await self.session(request)).page_json(), media_type="application/json")

    async def older(self, request: Request) -> Response:
        live = await self.session(request)
        before = number_of(request.query_params.get("before", ""))
        if before < 0:
            raise HTTPException(400, "before: the number of an event")
        html, begin = live.older(before)
        return JSONResponse({"html": html, "begin": begin})

    async def reason(self, request: Request) -> Response:
        live = await self.session(request)
        return HTMLResponse(self._why(live, number_of(request.path_params["event"])))

    def _why(self, live: LiveSession, seq: int) -> str:
        if seq < 1:
            raise NotFound("there is no such event in this session")
        rows = needed(live.places)
        try:
            found = rows.read(live.id, seq - 1, seq)
            if not found:
                raise NotFound(f"there is no event {seq} in this session")
            before = rows.read(live.id, 0, seq - 1, kinds=BEHIND)
            behind = decision_behind(found[0].event, before)
        finally:
            rows.close()
        lines, _ = why_lines(behind or found[0], before)
        return pages.why_sheet(lines, seq)

    async def tasks(self, request: Request) -> Response:
        places = self.places(request)
        found = await asyncio.to_thread(under_way, places)
        crew = await asyncio.to_thread(crew_of, places)
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        as_list = request.query_params.get("as") == "list"
        return HTMLResponse(board_page(listed, found, crew, role(request), as_list=as_list))

    async def move_task(self, request: Request) -> Response:
        """A task moved by hand, as `quintet tasks move` does it."""
        places, sent = self.places(request), await form(request)
        after = parse_status(sent.get("status", ""))

        def move(keeper: TaskKeeper) -> Awaitable[tuple[Task, TaskMove]]:
            return keeper.move(request.path_params["task"], after, "moved in a browser", scope=Scope.NOW)

        task, made = await asyncio.to_thread(kept, places, move)
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"task": task.id, "before": made.before, "after": made.after})
        return RedirectResponse("../../tasks", 303)

    async def task(self, request: Request) -> Response:
        places, wanted = self.places(request), request.path_params["task"]
        found, rows = await asyncio.to_thread(tasks_here, places)
        task = next((one for one in found.tasks if one.id == wanted), None)
        if task is None:
            raise NotFound(f"there is no task {wanted}")
        moves = (
            [(move.at[:16].replace("T", " "), str(move.after), move.reason) for move in rows.moves(task.id)]
            if rows
            else []
        )
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        return HTMLResponse(task_page(listed, task, moves, role(request)))

    async def cost(self, request: Request) -> Response:
        places, by = self.places(request), request.query_params.get("by", "day")
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        rows = stored(places)
        free = partial(is_free, config.load(places).settings)
        events = rows.read_project(accounts.KINDS) if rows else []
        found = accounts.costs(accounts.requests(events), by, free)
        return HTMLResponse(pages.cost_page(listed, by, GROUPED_BY, found, role(request)))

    async def models(self, request: Request) -> Response:
        sources = self.sources(self.places(request))
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        models, found = await asyncio.to_thread(lambda: (sources.models(), sources.found_models()))
        return HTMLResponse(pages.models_page(listed, models, found, role(request)))

    async def agents(self, request: Request) -> Response:
        places = self.places(request)
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        return HTMLResponse(pages.agents_page(listed, await asyncio.to_thread(agents_of, places), role(request)))

    async def settings(self, request: Request) -> Response:
        places, said = self.places(request), ""
        book = self.sources(places).settings
        if request.method == "POST":
            sent = await form(request)
            key, value = sent.get("key", ""), sent.get("value", "").strip()
            if not may_change(key):
                if tables().pattern(key) not in tables().catalogue():
                    raise UsageError(f"{key} is not a setting.")
                raise HTTPException(403, f"{key} is changed in your terminal only: {HOW_THERE}, or in {book.path}.")
            if "\n" in value:
                raise UsageError(f"{key}: a value is one line.")
            try:
                if sent.get("reset"):
                    book.unset(key)
                else:
                    book.change(key, value)
                return RedirectResponse(f"settings#set-{quote(key)}", 303)
            except QuintetError as error:
                said = str(error)
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        rows = await asyncio.to_thread(book.rows)
        return HTMLResponse(pages.settings_page(listed, rows, book.path, said, role(request)), 400 if said else 200)

    async def remote(self, request: Request) -> Response:
        devices = remote_devices()
        if devices is None:
            raise NotFound("remote is not installed here")
        try:
            if request.method == "POST":
                wanted = (await form(request)).get("revoke", "")
                if not devices.revoke(wanted):
                    raise NotFound(f"{wanted} is not paired")
                return RedirectResponse("remote", 303)
            paired, sessions = devices.paired(), devices.sessions()
        finally:
            devices.close()
        listed = await asyncio.to_thread(self.projects.listed, request.path_params["project"])
        here = await asyncio.to_thread(self.projects.all) if sessions else []
        return HTMLResponse(remote_page(listed, paired, sessions, here, role(request)))

    async def forensics(self, request: Request) -> Response:
        live = await self.session(request)
        rows = needed(live.places)
        free = partial(is_free, config.load(live.places).settings)
        with clear_errors(live.places.database):
            found = examine(rows.pieces(live.id), allowance(rows.count(live.id)), None, free)
        page = "".join(forensics_page(found))
        # Its own policy stands in the page; here it is kept from everything of ours as well.
        return HTMLResponse(page, headers={"Content-Security-Policy": FORENSICS_POLICY})

    async def export(self, request: Request) -> Response:
        live = await self.session(request)
        rows = needed(live.places)
        text = as_markdown(live.id, exchanges(rows.read(live.id, kinds=KINDS)))
        name = f"quintet-{live.id}.md"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type="text/markdown; charset=utf-8", headers=headers)

    # ── the stream

    async def events(self, request: Request) -> Response:
        live = await self.session(request)
        seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        epoch, _, number = seen.partition(".")
        share = MOST_STREAMS if role(request) is VisitorRole.OWNER else MOST_STREAMS // 2
        if self._streams >= share:
            raise HTTPException(503, "Too many open pages follow sessions here. Close some.")
        after = number_of(number) if epoch == live.epoch else -1

        async def lines() -> AsyncIterator[bytes]:
            self._streams += 1
            try:
                yield b"retry: 1000\n\n"
                if after < 0:
                    yield b'data: {"reset":true}\n\n'
                    return
                async for frame in live.frames(after):
                    if not frame:
                        yield b": \n\n"
                        continue
                    number = msgspec.json.decode(frame, type=_Numbered).n
                    yield b"id: %s.%d\ndata: %s\n\n" % (live.epoch.encode(), number, frame)
            finally:
                self._streams -= 1

        return StreamingResponse(lines(), media_type="text/event-stream")

    # ── what a person does

    async def new(self, request: Request) -> Response:
        places, sent = self.places(request), await form(request)
        live = await self.live.begin(places, sent.get("agent", ""))
        if sent.get("text", "").strip():
            await self._say(live, sent)
        return RedirectResponse(f"s/{quote(live.id)}/", 303)

    async def say(self, request: Request) -> Response:
        live, sent = await self.session(request), await form(request)
        if not sent.get("text", "").strip():
            raise HTTPException(400, "The input is empty.")
        return self._done(request, await self._say(live, sent))

    async def _say(self, live: LiveSession, sent: dict[str, str]) -> str:
        text = sent["text"]
        by_hand = " ".join(path for path in self._uploads if path in text)
        if not text.startswith("/"):
            with contextlib.suppress(OSError, QuintetError):
                await asyncio.to_thread(self.sources(live.places).past.add, text)
        return await live.submit(p.Say(text=text), sent.get("id", ""), by_hand)

    async def answer(self, request: Request) -> Response:
        live, sent = await self.session(request), await form(request)
        choice = p.Answer(question=sent.get("question", ""), choice=sent.get("choice", ""), note=sent.get("note", ""))
        if choice.question not in live.state.questions:
            raise HTTPException(409, "That question is already answered.")
        return self._done(request, await live.submit(choice))

    async def interrupt(self, request: Request) -> Response:
        return self._done(request, await (await self.session(request)).submit(p.Interrupt()))

    async def accept(self, request: Request) -> Response:
        live, sent = await self.session(request), await form(request)
        control = "autonomous" if sent.get("control") == "autonomous" else "assisted"
        words = ["/accept", "--control", control]
        if profile := sent.get("profile", "").strip():
            words += ["--permission-profile", profile.split()[0]]
        if model := sent.get("model", "").strip():
            words += ["--model-mode", model.split()[0]]
        return self._done(request, await live.submit(p.Say(text=" ".join(words))))

    async def arrange(self, request: Request) -> Response:
        """One task of the plan that waits, in other words."""
        live, sent = await self.session(request), await form(request)
        task, words = sent.get("task", ""), sent.get("words", "").strip()
        if not ID_FORM.fullmatch(task) or not words:
            raise HTTPException(400, "Give the task and its new text.")
        return self._done(request, await live.submit(p.Say(text=f"/arrange edit {task} {words}")))

    async def trust(self, request: Request) -> Response:
        places, sent = self.places(request), await form(request)
        asked = await asyncio.to_thread(trust_question, places)
        if asked and sent.get("seen") != digest(asked.text):
            raise HTTPException(409, "The folder has changed since it was shown. Look at it again.")
        if asked:
            await asyncio.to_thread(asked.decide, sent.get("yes") == "1")
        return RedirectResponse("./", 303)

    async def upload(self, request: Request) -> Response:
        live, data = await self.session(request), await body(request, MOST_PICTURE)
        ending = next((ending for head, ending in PICTURES.items() if data.startswith(head)), "")
        if not ending:
            raise HTTPException(415, "Only PNG, JPEG, GIF and WebP pictures can be added.")
        folder = os.path.join(live.places.outputs, "uploads")
        private_folder(folder)
        path = os.path.join(folder, f"{token_hex(8)}{ending}")
        await asyncio.to_thread(_write, path, data)
        self._uploads.add(path)
        return JSONResponse({"path": path})

    def _done(self, request: Request, submission: str) -> Response:
        """For a script the submission's id; for a page without one, the page again."""
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"id": submission})
        return RedirectResponse("./", 303)

    # ── what is offered while somebody types

    async def offers(self, request: Request) -> Response:
        live, query = await self.session(request), request.query_params.get("q", "")[:200]
        if request.query_params.get("kind") == "command":
            known = await asyncio.to_thread(commands, live.places)
            found = [(f"/{one.name} ", one.usage, one.help) for one in known if one.name.startswith(query.lower())]
            return JSONResponse([{"insert": a, "label": b, "about": c} for a, b, c in found[: 2 * MOST_OFFERS]])
        finder = self.sources(live.places).finder
        files = await finder.find(query, MOST_OFFERS)
        if await finder.renewed():
            files = await finder.find(query, MOST_OFFERS)
        return JSONResponse([{"insert": f"@{name} ", "label": name, "about": ""} for name in files])

    async def past(self, request: Request) -> Response:
        live = await self.session(request)
        if role(request) is not VisitorRole.OWNER:
            raise HTTPException(403, "Only the owner can see past inputs.")
        return JSONResponse((await asyncio.to_thread(self.sources(live.places).past.all))[-MOST_PAST:])

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = TYPES.get(os.path.splitext(name)[1])
        if kind is None or name not in os.listdir(STATIC):
            raise HTTPException(404, "There is no such file.")
        with open(os.path.join(STATIC, name), "rb") as file:
            return Response(file.read(), media_type=kind, headers={"Cache-Control": "no-cache"})


def digest(text: str) -> str:
    """What was shown, so that an answer is to that and nothing else."""
    return sha256(text.encode()).hexdigest()


def number_of(word: str) -> int:
    """A number of an event or a frame; -1 if it is none."""
    return int(word) if word.isdecimal() and len(word) <= MOST_DIGITS else -1


class _Numbered(msgspec.Struct):
    n: int = 0


def role(request: Request) -> VisitorRole:
    found = request.scope["role"]
    assert isinstance(found, VisitorRole)
    return found


def commands(places: Places) -> list[CommandUsage]:
    """The commands, and then the skills by their names: those that no command has."""
    own = [CommandUsage(one.name, one.usage, one.help) for feature in features() for one in feature.slash]
    known = sorted((*usages(NO_FEATURES), *own), key=lambda one: one.name)
    taken, loaded = {one.name for one in known}, config.load(places)
    skills = [one for listed in offering(SKILL_USAGES) for one in listed(places, loaded) if one.name not in taken]
    return [*known, *sorted(skills, key=lambda one: one.name)]


def agents_of(places: Places) -> list[tuple[Agent, str]]:
    loaded = config.load(places)
    protection = make_terms(places, loaded.settings).protection
    return LocalAgents(places, protection, trusted=sound_agents(places, loaded.trust)).listed()


def crew_of(places: Places) -> Crew:
    """The workers that run now, what their tasks claim and whom they wait for."""
    with clear_errors(places.database):
        rows = stored_workers(places)
        if rows is None:
            return Crew()
        try:
            known, claims, waits = rows.workers(), rows.path_claims(), rows.waits()
        finally:
            rows.close()
    live = tuple(one for one in known if one.state is not WorkerState.ENDED and lives(one))
    return Crew(live, claims, tuple(waits))


def _write(path: str, data: bytes) -> None:
    with open(path, "xb", opener=private) as file:
        file.write(data)


Endpoint = Callable[[Request], Awaitable[Response]]


def application(doors: Doors, here: Places, cookie: str) -> DoorKeeper:
    server = WebServer(here)
    pages.SITE.below = doors.below
    pages.SITE.remote = any(REMOTE_DEVICES in one.offers for one in features())
    of_session: list[tuple[str, Endpoint, str]] = [
        ("", server.show, "GET"),
        ("page", server.whole, "GET"),
        ("events", server.events, "GET"),
        ("older", server.older, "GET"),
        ("why/{event}", server.reason, "GET"),
        ("offers", server.offers, "GET"),
        ("past", server.past, "GET"),
        ("forensics", server.forensics, "GET"),
        ("export", server.export, "GET"),
        ("say", server.say, "POST"),
        ("answer", server.answer, "POST"),
        ("interrupt", server.interrupt, "POST"),
        ("accept", server.accept, "POST"),
        ("arrange", server.arrange, "POST"),
        ("upload", server.upload, "POST"),
    ]
    of_project: list[tuple[str, Endpoint, str]] = [
        ("", server.project, "GET"),
        ("new", server.new, "POST"),
        ("trust", server.trust, "POST"),
        ("tasks", server.tasks, "GET"),
        ("tasks/{task}", server.task, "GET"),
        ("tasks/{task}/move", server.move_task, "POST"),
        ("cost", server.cost, "GET"),
        ("models", server.models, "GET"),
        ("agents", server.agents, "GET"),
        ("remote", server.remote, "GET"),
        ("remote", server.remote, "POST"),
        ("settings", server.settings, "GET"),
        ("settings", server.settings, "POST"),
    ]
    routes = [
        Route("/", server.home, methods=["GET"]),
        Route(measured.PATH, server.metrics, methods=["GET"]),
        Route("/static/{name}", server.static, methods=["GET"]),
        *(Route(f"/p/{{project}}/s/{{session}}/{path}", run, methods=[method]) for path, run, method in of_session),
        *(Route(f"/p/{{project}}/{path}", run, methods=[method]) for path, run, method in of_project),
    ]
    app = Starlette(
        routes=routes,
        lifespan=server.lifespan,
        exception_handlers={HTTPException: _http_problem, QuintetError: _own_problem},
    )
    return DoorKeeper(app, doors, cookie)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    unknown = error.status_code == 404 and error.detail == HTTPStatus.NOT_FOUND.phrase  # no route has it
    return _problem(request, error.status_code, "There is no such page." if unknown else str(error.detail))


async def _own_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, QuintetError)
    status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, UsageError) else 500
    return _problem(request, status, error.message, error.hint)


def _problem(request: Request, status: int, text: str, hint: str = "") -> Response:
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"error": text, "hint": hint}, status)
    home = f"{pages.SITE.below}/" if "role" in request.scope else ""  # also a stranger asks for static files
    return HTMLResponse(pages.problem(status, text, hint, home), status)
