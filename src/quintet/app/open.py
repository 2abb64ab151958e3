"""The composition root: the only file that knows everything. Puts a Session together and takes it apart."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import structs

from quintet.adapters import sandbox
from quintet.adapters.agents.agents_md import head_page, nested_pages
from quintet.adapters.files import state_files
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.files.private_files import private
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.files.state_files import Artifacts
from quintet.adapters.files.write_record import WriteRecord
from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.adapters.git.git_folders import branch_name
from quintet.adapters.git.own_branch import branch_of_worktree
from quintet.adapters.models import ollama
from quintet.adapters.models.registry import direct_settings
from quintet.adapters.processes.background_shells import BackgroundShells
from quintet.adapters.processes.processes import LocalProcesses, ShellHooks
from quintet.adapters.processes.system import RandomIds, SystemClock, process_identity
from quintet.adapters.sandbox.containment import Containment, SandboxSetup
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings import user_tools
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.adapters.stores.chosen import open_store
from quintet.app.input_images import InputImages
from quintet.app.machine_parts import find_ripgrep
from quintet.app.models import SessionModels, Watch
from quintet.app.opening_notes import opening_notes, sound_agents
from quintet.app.prompts import own_prompts
from quintet.app.services import KeptLessons, Opening, Recollections, Services, feature_commands
from quintet.app.session_orders import as_command, first_axes
from quintet.app.tool_registry import tools_for
from quintet.domain.base.errors import StoreDamaged, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.dials.axes import Axes, AxesChange, Surface
from quintet.domain.helpers.bounds import Bounds, no_bounds
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal.protocol import Event, Noticed, ReasoningSwitched
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.models.model_facts import resolved
from quintet.domain.permission.gate import Terms
from quintet.domain.ports.ports import Agents, Clock, Ids, Lease, Model, Repository, ShellGrammar, Workbench
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.agent_pages import AgentsPage
from quintet.domain.turn.surroundings import Surroundings
from quintet.engine.replay.record import header, recorded, recording_ended, saying_so
from quintet.engine.replay.recorder import Recorder
from quintet.engine.session.core import CommandParts, Core, CycleParts, Log, ModelAccess, Ownership, TurnParts
from quintet.engine.session.leases import is_owned, new_lease, take_lease
from quintet.engine.session.open_session import create_session, fork_session
from quintet.engine.session.owner import Owner
from quintet.engine.session.queries import unnamed
from quintet.engine.session.session import Session
from quintet.engine.turn.toolbox import ToolAccess, Toolbox
from quintet.features.registry import SKILLS_HEAD, features, offering
from quintet.package import load
from quintet.tools.images import FOLDER as IMAGES
from quintet.tools.meta import finish_step

if TYPE_CHECKING:
    from quintet.app.session_orders import NestedOrder, TaskOrder
    from quintet.domain.ports.stores import ProjectStore
    from quintet.domain.ports.tasks import Plans
    from quintet.domain.tasks.executors import Executors
    from quintet.engine.cycle.doctor_checks import DoctorChecks
    from quintet.engine.cycle.task_keeper import TaskKeeper

LATEST = "latest"
WORKER = "worker"  # what begins a session that is held to one task
SHELL = "bash"  # that the lines of calls are written for


class Late:
    """Stands for what `load(name)(*words, **named)` makes, when something of it is first wanted."""

    def __init__(self, name: str, *words: Any, **named: Any) -> None:
        self._name = name
        self._words = words
        self._named = named
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = load(self._name)(*self._words, **self._named)
        return getattr(self._made, name)


@asynccontextmanager
async def open_session(
    path: str = ".",
    *,
    surface: Surface | str = Surface.RPC,
    person: bool = False,
    resume: str = "",
    fork: bool = False,
    axes: AxesChange | None = None,
    settings: Mapping[str, Any] | None = None,
    model: Model | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    json_schema: dict[str, Any] | None = None,
    agent: str = "",
    executors: Executors | None = None,
    seen: dict[str, str] | None = None,
    order: TaskOrder | None = None,
    hidden: tuple[str, ...] = (),
    begun_by: str = "",
    watch: Watch | None = None,
    held: bool = False,
) -> AsyncIterator[Session]:
    """Open a session on the project at `path`, and close it at the end of the block.

    `person` says whether somebody can answer questions. `resume` takes an id, the beginning of one, or "latest"; a
    session that another process owns is attached to instead. `axes` turns dials, `settings` overrides settings by
    dotted key, `model` stands in for every configured model. With `json_schema` the answer of a turn is JSON of that
    schema, or the turn fails. `agent` is entered first: its id, its name, or its file. `executors` stands in for the
    AI CLIs. `seen` is what files were read, where sessions share that. With an `order` the session is a worker's.
    `hidden` are folders outside the project that no call reaches, whoever says yes. `begun_by` names what opens it, if
    that is no person: resuming without an id passes over it. `watch` is told of each request to a model, helpers' too.
    `held`: nobody turns a dial above where it begins.
    """
    places = order.places if order else locate(path)
    loaded = config.load(order.project if order else places, settings)
    own = user_tools.load(places, loaded.trust)
    core = make_core(
        places,
        loaded,
        own=own,
        start=path,
        person=person,
        model=model,
        clock=clock,
        ids=ids,
        seen=seen,
        hidden=hidden,
        watch=watch,
    )
    core.turn.answer_schema = json_schema
    core.ownership.held = held or order is not None
    if executors:
        core.cycle.executors = lambda: executors
    notes = opening_notes(places, loaded, own)
    if order:
        notes = [*notes, *order.notes]
        _assign(core, order)
    store = cast("ProjectStore", core.store)
    surface = Surface(surface)
    try:
        if agent:
            core.agents.find(agent)  # before there is a session of nobody
        if resume:
            session = await _take_up(core, store, surface, resume, fork, notes, agent, places)
        else:
            first = first_axes(loaded.settings, surface, person, axes)
            try:
                id, by = (order.session, WORKER) if order else ("", begun_by)
                session = await _begin(core, surface, first, notes, agent, places, id, by)
            except StoreDamaged as error:  # nothing new can be written beside the damage: begin afresh, and say so
                core.store = store = await store.begun_afresh(error)
                session = await _begin(core, surface, first, notes, agent, places, by=by)
    except BaseException:
        await store.close()
        raise
    try:
        if resume and axes:
            await session.say(as_command(axes))
        yield session
    finally:
        await session.close()


@asynccontextmanager
async def open_nested(
    order: NestedOrder,
    loaded: config.LoadedSettings,
    own: user_tools.OwnTools | None,
    *,
    person: bool,
    model: Model | None,
    clock: Clock | None,
    ids: Ids | None,
    hidden: tuple[str, ...],
    watch: Watch | None,
) -> AsyncIterator[Session]:
    """Open a helper's session in this process, and close it at the end of the block; UsageError if another has it.

    What is `hidden` from its parent is hidden from it.
    """
    places = order.places
    loaded = structs.replace(loaded, settings=order.settings)
    core = make_core(
        places,
        loaded,
        own=own,
        start=places.root,
        person=person,
        model=model,
        clock=clock,
        ids=ids,
        bounds=order.bounds,
        hidden=hidden,
        watch=watch,
    )
    core.turn.widen = order.widen
    store = cast("ProjectStore", core.store)
    opening: list[Event] = [*order.opening]
    try:
        since = store.last_seq(order.session) if order.begun else 0
        if order.begun:
            owner = await _take_over(core, store, places, order.session, opening, "", "resumed")
        else:
            lease = new_lease(core, order.session)
            state = await create_session(core, order.axes, lease)
            owner = await _owned(core, places, state, lease, store.last_seq(order.session), opening, "")
        if owner is None:
            raise UsageError(f"session {order.session} is open in another process")
    except BaseException:
        await store.close()
        raise
    session = Session(core, order.session, Surface.RPC, owner, since)
    try:
        yield session
    finally:
        closing = asyncio.ensure_future(session.close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:  # whoever interrupts twice still leaves nothing open
            await closing
            raise


def make_core(
    places: Places,
    loaded: config.LoadedSettings,
    *,
    own: user_tools.OwnTools | None = None,
    start: str = "",
    person: bool = False,
    model: Model | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    seen: dict[str, str] | None = None,
    bounds: Callable[[], Bounds | None] = no_bounds,
    hidden: tuple[str, ...] = (),
    watch: Watch | None = None,
) -> Core:
    given = loaded
    loaded = structs.replace(loaded, settings=ollama.filled(loaded.settings))
    settings = resolved(loaded.settings)
    terms = make_terms(places, loaded.settings)
    if hidden:
        kept = structs.replace(terms.protection, private=(*terms.protection.private, *hidden))
        terms = structs.replace(terms, protection=kept)
    containment = make_containment(places, loaded.settings, terms, hidden)
    record = WriteRecord(places.writes)
    files = ProjectFiles(places.root, terms.protection, containment, record)
    files.sweep_left()
    prompts = own_prompts(places.root, loaded.trust)
    vault = Vault(places, loaded.settings)
    models = SessionModels(loaded.settings, vault, prompts.page, model, os.path.join(places.outputs, IMAGES), watch)
    shells = BackgroundShells(containment, places.outputs, vault)
    rule_book = FileRuleBook(places.rules_file)
    processes = LocalProcesses(containment, vault)
    services = Services(
        places,
        loaded,
        terms,
        files,
        processes,
        containment,
        vault,
        bounds,
        lambda order: open_nested(
            order, given, own, person=person, model=model, clock=clock, ids=ids, hidden=hidden, watch=watch
        ),
    )
    bench = Workbench(
        root=places.root,
        files=files,
        processes=processes,
        shells=shells,
        ripgrep=find_ripgrep(),
        outputs=places.outputs,
        services=services,
        secrets=vault,
        advisers=models.advisers,
        seen={} if seen is None else seen,
    )

    def crashed(error: BaseException) -> None:
        log_crash(places, error, vault.text)

    images = InputImages(places, files, bench)
    artifacts = Artifacts(places.runs)
    checkpoints = ShadowCheckpoints(places.checkpoints, places.root, terms.protection, record, containment.commands_run)
    core = Core(
        project=places.root,
        store=open_store(places, clock),
        clock=clock or SystemClock(),
        ids=ids or RandomIds(),
        settings=settings,
        agents=cast(
            Agents,
            Late(
                "adapters.agents.agents:LocalAgents",
                places,
                terms.protection,
                trusted=sound_agents(places, loaded.trust),
            ),
        ),
        checkpoints=checkpoints,
        turn=TurnParts(
            models=ModelAccess(settings, models.get, direct=direct_settings),
            toolbox=Toolbox(
                {**tools_for(loaded.settings), finish_step.name: finish_step, **(own.specs if own else {})},
                ToolAccess(bench, rule_book, vault, crashed, containment.put_right, bounds),
                cast(ShellGrammar, Late("adapters.shell_grammar.parse:BashGrammar")),
                terms,
                loaded.settings.tools,
            ),
            prompts=prompts,
            rule_book=rule_book,
            repository=cast(Repository, Late("app.late_parts:repository", services.opening)),
            hook_runner=ShellHooks(loaded.hook_problem, containment.watched),
            keep_images=images.keep,
            bring_images=images.bring,
            look_around=lambda: looked_around(places, loaded, start or places.root, files, vault.text),
            nested_pages=lambda touched: pages_below(touched, start, files, vault.text),
            recall=Recollections(services.opening, crashed),
            lessons=KeptLessons(services.opening, crashed),
            keep_artifact=artifacts.keep,
        ),
        cycle=CycleParts(plans=cast("Plans", Late("adapters.tasks.drafts:PlanFolder", places))),
        commands=CommandParts(
            features=feature_commands(services.opening),
            settings_text=lambda: "\n".join(config.as_lines(loaded)),
            keep_page=lambda *words: asyncio.to_thread(artifacts.keep_page, *words),
            sessions_text=lambda: str(load("app.session_lists:sessions_text")(places)),
            find_session=lambda beginning: str(load("app.session_lists:session_beginning")(places, beginning)),
            project_facts=lambda: load("adapters.files.project_facts:look")(places.root, places.name),
            export=lambda *words: asyncio.to_thread(load("app.session_lists:export"), places, artifacts, *words),
            board_rows=lambda: load("app.late_parts:board_rows")(services),
            under_way=lambda: load("app.task_lookups:under_way")(places),
        ),
        ownership=Ownership(
            process_identity=process_identity,
            stop_command=checkpoints.stop_restoring,
            closing=(
                services.close,
                checkpoints.close,
                shells.close,
                models.close,
                processes.close,
                containment.close,
                record.close,
            ),
        ),
        person=person,
        redactor=vault,
        log=Log(note=lambda text: log(places, vault.text(text)), crash=crashed),
    )
    core.ownership.served = lambda owner: services.served(
        lambda surface: _attached(core, owner, surface), nested=bounds is not no_bounds
    )
    core.ownership.open_elsewhere = lambda session: _is_open(core, session)
    core.cycle.tasks = cache(
        lambda: cast("TaskKeeper", load("app.late_parts:make_keeper")(core.store, places, core.clock, vault.text))
    )
    core.cycle.look = lambda: cast("DoctorChecks", load("app.health.checks:make_look")(places, loaded, core.clock))
    core.cycle.executors = cache(lambda: _executors(core, services.opening))
    return core


def looked_around(
    places: Places, loaded: config.LoadedSettings, start: str, files: ProjectFiles, redacted: Callable[[str], str] = str
) -> Surroundings:
    """What a model is told of where it is; the date is the clock's."""
    machine = os.uname()
    return Surroundings(
        system=f"{machine.sysname} {machine.machine}",
        shell=SHELL,
        branch=branch_name(places.root),
        page=redacted(head_page(start, files, places.config)),
        skills=redacted("\n".join(filter(None, (tell(places, loaded) for tell in offering(SKILLS_HEAD))))),
    )


def pages_below(
    touched: tuple[str, ...], start: str, files: ProjectFiles, redacted: Callable[[str], str]
) -> tuple[AgentsPage, ...]:
    """What a model is told of the folders that its calls touched files in."""
    return tuple(AgentsPage(page.place, redacted(page.text)) for page in nested_pages(touched, start, files))


def _executors(core: Core, opening: Opening) -> Executors:
    """Those who can do the work of a task, of the first feature that has any."""
    for feature in features():
        if feature.executors:
            made = feature.load(feature.executors)(opening)
            core.ownership.closing = (made.close, *core.ownership.closing)
            return cast("Executors", made)
    raise UsageError("no AI CLI can be started here")


def _attached(core: Core, owner: Owner, surface: Surface) -> Session:
    """One more attachment to the session that this process owns, for a feature that is a surface of its own."""
    return Session(core, owner.state.session, surface, owner, core.store.last_seq(owner.state.session))


def _is_open(core: Core, session: str) -> bool:
    row = core.store.session(session)
    return row is not None and is_owned(core, row)


def make_containment(places: Places, settings: Settings, terms: Terms, hidden: tuple[str, ...] = ()) -> Containment:
    networks = () if terms.loopback_open else sandbox.networks()
    own, file_bytes = places.make_own(), settings.sandbox.file_bytes
    setup = SandboxSetup(places.root, own, places.scratch, file_bytes, terms.protection, networks, hidden)
    setup.own_branch = branch_of_worktree(places)
    return sandbox.contain(terms.sandbox, setup, records=places.crash_records)


def _assign(core: Core, order: TaskOrder) -> None:
    """All that is done in this session is done for one task, which its process has claimed."""
    core.cycle.integration = order.integration
    make = core.cycle.tasks

    @cache
    def tasks() -> TaskKeeper:
        keeper = make()
        keeper.assign(order.claim)
        return keeper

    core.cycle.tasks = tasks


async def _begin(
    core: Core,
    surface: Surface,
    axes: Axes,
    notes: list[Noticed],
    agent: str,
    places: Places,
    id: str = "",
    by: str = "",
) -> Session:
    lease = new_lease(core, id or core.ids.new("q5"))
    state = await create_session(core, axes, lease, by=by)
    since = core.store.last_seq(lease.session)
    owner = await _owned(core, places, state, lease, since, notes, agent)
    return Session(core, lease.session, surface, owner, since)


async def _owned(
    core: Core,
    places: Places,
    state: SessionState,
    lease: Lease,
    since: int,
    notes: Sequence[Event],
    agent: str,
    reason: str = "",
) -> Owner:
    """Make this process the session's owner, and tell the person what there is to know."""
    opening: list[Event] = [*notes]
    served = core.ownership.served
    listeners = []
    for feature in features():
        if feature.observer and any(table in core.settings.features for table in feature.settings):
            told, listener = feature.load(feature.observer)(core, state.session)
            opening += told
            listeners += [listener] if listener else []
    if notice := cast("ProjectStore", core.store).notice:
        opening.append(Noticed(level="error", code="STORE_DAMAGED", text=notice))
    if core.settings.runs.reasoning and not reason:
        opening.insert(0, ReasoningSwitched(enabled=True))
    recorder = None
    if core.settings.runs.record:
        core, recorder = _on_record(core, places, lease, since, reason, opening, agent)
    owner = Owner(core, state, lease)
    if recorder:
        recorder.on_end = saying_so(owner.journal)
    for listener in listeners:
        owner.feed.listen(listener)
    await owner.start(reason, opening, agent)
    served(owner)
    return owner


def _on_record(
    core: Core, places: Places, lease: Lease, since: int, reason: str, opening: list[Event], agent: str
) -> tuple[Core, Recorder | None]:
    """The core with a recording of what comes into it; without one where none can be written, which `opening` says."""
    try:
        file = state_files.RecordingFile(state_files.recording_path(places.runs, lease.session))
        state_files.drop_old_recordings(places.runs, max(1, core.settings.runs.keep_recordings))
    except OSError as error:
        opening.append(recording_ended(str(error)))
        return core, None
    recorder = Recorder(file, core.redactor)
    recorder.begin(header(core, lease, since, reason, opening, agent))
    if recorder.ended:
        opening.append(recording_ended(recorder.ended))
        return core, None

    async def close() -> None:
        recorder.close()

    core.ownership.closing = (*core.ownership.closing, close)
    return recorded(core, recorder, lease.session), recorder


async def _take_up(
    core: Core,
    store: ProjectStore,
    surface: Surface,
    wanted: str,
    fork: bool,
    notes: list[Noticed],
    agent: str,
    places: Places,
) -> Session:
    if wanted == LATEST:
        row = unnamed(store.sessions(), surface)
    else:
        row = store.find_session(wanted)
    if fork:
        forked = store.session(await fork_session(core, row.id))
        assert forked
        row = forked

    async def take_over(agent: str = "", reason: str = "resumed") -> Owner | None:
        return await _take_over(core, store, places, row.id, notes, agent, reason)

    since = store.last_seq(row.id)
    if owner := await take_over(agent, "forked" if fork else "resumed"):
        return Session(core, row.id, surface, owner, since)
    attached = Session(core, row.id, surface, None, since, take_over)
    if agent:
        await attached.say(format_command(CommandLine("agents", (agent,))))
    return attached


async def _take_over(
    core: Core, store: ProjectStore, places: Places, session: str, notes: Sequence[Event], agent: str, reason: str
) -> Owner | None:
    """Make this process the session's owner; None while another one lives, or if another process was faster."""
    lease = await take_lease(core, session)
    if lease is None:
        return None
    since = store.last_seq(session)  # from here on nobody else writes
    state = fold(recorded.event for recorded in store.read(session))
    if not os.path.isdir(state.project):
        text = f"{state.project}, where this session began, no longer exists; it continues in {places.root}"
        notes = [*notes, Noticed(level="warning", code="FOLDER_GONE", text=text)]
    return await _owned(core, places, state, lease, since, notes, agent, reason)


async def fork(path: str, session: str, at: str = "") -> str:
    """Fork a session of the project at `path`, up to a turn of it; returns the new one's id."""
    places = locate(path)
    core = make_core(places, config.load(places))
    try:
        return await fork_session(core, cast("ProjectStore", core.store).find_session(session).id, at)
    finally:
        await core.store.close()


def log_crash(places: Places, error: BaseException, redacted: Callable[[str], str] | None = None) -> None:
    redacted = redacted or Vault(places, Settings()).text
    log(places, redacted("".join(traceback.format_exception(error))))


def log(places: Places, text: str) -> None:
    try:
        with open(places.log, "a", encoding="utf-8", opener=private) as file:
            file.write(f"{SystemClock().now()}\n{text}\n")
    except OSError:
        sys.stderr.write(f"{visible(text)}\n")


__all__ = ["LATEST", "make_core", "open_session"]
