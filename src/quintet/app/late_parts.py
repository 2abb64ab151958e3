"""Parts that most sessions never ask for: the repository, durable tasks, the doctor's look, rows of the board."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from quintet.adapters.files.paths import Places
from quintet.adapters.git.repository import GitRepository
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import LoadedSettings, load
from quintet.adapters.settings.trust import read_own
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.adapters.tasks.health_probe import ProjectHealth
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.app import machine_parts as here
from quintet.app.prompts import PROMPTS
from quintet.app.services import Checkup, Opening, Services
from quintet.domain.base.errors import QuintetError
from quintet.domain.permission.trusted_content import PROMPTS as OWN
from quintet.domain.permission.trusted_content import Trust
from quintet.domain.ports.ports import Clock, Repository, Store
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.domain.tasks.health import Finding, HealthScope, OwnPrompts, Severity
from quintet.domain.turn.tool_spec import MachinePart
from quintet.engine.cycle.look import Look
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.turn.prompts import checked_page, page_names
from quintet.features.registry import features
from quintet.surfaces.tables import complain

T = TypeVar("T")


def repository(opening: Opening) -> Repository:
    """The project's repository, with what features add that can be reviewed."""
    found: Repository = GitRepository(opening.processes, opening.files)
    for feature in features():
        if feature.subjects:
            found = feature.load(feature.subjects)(opening, found)
    return found


def make_keeper(store: Store, places: Places, clock: Clock, redacted: Callable[[str], str]) -> TaskKeeper:
    assert isinstance(store, SqliteStore)
    return TaskKeeper(SqliteTasks(store), TaskFolder(places.root, places.runs), clock, process_identity, redacted)


def kept(places: Places, work: Callable[[TaskKeeper], Awaitable[T]]) -> T:
    """Does some work with the project's task keeper, for a command without a session."""

    async def run() -> T:
        store = SqliteStore(places.database)
        if store.notice:
            complain(store.notice)
        try:
            redacted = Vault(places, load(places).settings).text
            return await work(make_keeper(store, places, SystemClock(), redacted))
        finally:
            await store.close()

    return asyncio.run(run())


def make_look(places: Places, loaded: LoadedSettings, clock: Clock) -> Look:
    settings = loaded.settings

    def parts() -> list[MachinePart]:
        around = here.PartSources(places.root, here.find_ripgrep(), own_code=False, pythons=())
        needed = [here.look(name, around) for name in ("git", "ripgrep")]
        return [*needed, here.sandbox_in_force(settings.sandbox.use)]

    def of_features(thorough: bool) -> list[Finding]:
        return feature_findings(Checkup(places, loaded, thorough))

    def own_prompts() -> OwnPrompts:
        return own_pages(places.root, loaded.trust)

    probe = ProjectHealth(places, parts, of_features, own_prompts)
    return Look(probe, settings.doctor.free_bytes, clock, process_identity)


def own_pages(root: str, trust: Trust) -> OwnPrompts:
    """The pages of a trusted project's own, by what came of them; what the yes does not cover is unused."""
    shipped = set(page_names(PROMPTS))
    used, unknown, refused = [], [], []
    for name in sorted(page_names(os.path.join(root, OWN))) if trust.trusted else ():
        path = f"{OWN}/{name}"
        data = read_own(root, path)
        if data is None or not trust.covers(path, data):
            continue
        if name not in shipped:
            unknown.append(name)
            continue
        try:
            checked_page(path, data)
        except QuintetError as error:
            refused.append((name, error.message))
        else:
            used.append(name)
    return OwnPrompts(tuple(used), tuple(unknown), tuple(refused))


def feature_findings(checkup: Checkup) -> list[Finding]:
    """What features find wrong with their own. A check that breaks is a finding itself."""
    found: list[Finding] = []
    for feature in features():
        for check in feature.checks:
            try:
                found += feature.load(check.look)(checkup)
            except Exception as error:  # its own code
                problem = f"a check of {feature.name} failed: {type(error).__name__}: {error}"
                advice = "The doctor's other findings are valid; report it to its author."
                found.append(
                    Finding("CHECK_BROKEN", Severity.WARNING, HealthScope.MACHINE, check.look, problem, advice)
                )
    return found


def fix_features(checkup: Checkup) -> list[str]:
    """Have features mend what can be mended; returns what was done."""
    done: list[str] = []
    for feature in features():
        for check in feature.checks:
            try:
                done += feature.load(check.fix)(checkup) if check.fix else ()
            except Exception as error:  # its own code
                done.append(f"{feature.name} could not be fixed: {type(error).__name__}: {error}")
    return done


def board_rows(services: Services) -> list[BoardEntry]:
    """What features have under way in a session: of those that it has asked for something."""
    rows: list[BoardEntry] = []
    for feature, service in services.opened():
        try:
            rows += feature.load(feature.board)(service) if feature.board else ()
        except Exception as error:  # its own code: the board is shown all the same
            about = f"its rows cannot be shown: {type(error).__name__}: {error}"
            rows.append(BoardEntry(BoardKind.FEATURE, feature.name, "✗", feature.name, about, "warning"))
    return rows
