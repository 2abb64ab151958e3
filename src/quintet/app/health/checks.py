"""Every check of the doctor's: those of the core's rooms, a line each, and those of the features; run side by side.

A check that breaks is a finding itself, and keeps no other from its own.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from quintet.adapters.files.paths import Places
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.settings.checkup import Checkup
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.settings.trust import read_own
from quintet.adapters.stores.chosen import open_store
from quintet.adapters.tasks.health_probe import ProjectHealth
from quintet.app import machine_parts as here
from quintet.app.late_parts import make_keeper
from quintet.app.prompts import PROMPTS
from quintet.domain.base.errors import QuintetError, StoreError
from quintet.domain.permission.trusted_content import PROMPTS as OWN
from quintet.domain.permission.trusted_content import Trust
from quintet.domain.ports.ports import Clock
from quintet.domain.tasks import finding_kinds
from quintet.domain.tasks.health import Finding, FindingKind, OwnPrompts
from quintet.domain.turn.tool_spec import MachinePart
from quintet.engine.cycle.doctor import fix
from quintet.engine.cycle.doctor_checks import DoctorChecks
from quintet.engine.turn.prompts import checked_page, page_names
from quintet.features.feature import FeatureCheck
from quintet.features.registry import features
from quintet.package import load

Told = Callable[[int, int], None]  # how many checks are over, of how many
AT_ONCE = 8
FILES, GIT, PROCESSES, SETTINGS, SQLITE = (
    f"adapters.{room}.checks" for room in ("files", "git", "processes", "settings", "sqlite")
)
KEPT = "adapters.git.checkpoint_checks"
ROOMS: tuple[FeatureCheck, ...] = (
    FeatureCheck(f"{SETTINGS}:settings_are_taken", kinds=f"{SETTINGS}:KINDS"),
    FeatureCheck(f"{SETTINGS}:rules_have_an_effect"),
    FeatureCheck(f"{SETTINGS}:trust_is_current", f"{SETTINGS}:forget_gone"),
    FeatureCheck(f"{SETTINGS}:hooks_can_run"),
    FeatureCheck(f"{SETTINGS}:own_tools_are_python"),
    FeatureCheck(f"{FILES}:nobody_else_reads", f"{FILES}:take_rights_away", f"{FILES}:KINDS"),
    FeatureCheck(f"{FILES}:no_write_is_left", f"{FILES}:sweep_writes"),
    FeatureCheck(f"{FILES}:no_folder_is_left", f"{FILES}:remove_folders"),
    FeatureCheck(f"{FILES}:inputs_are_whole", f"{FILES}:drop_unreadable"),
    FeatureCheck(f"{FILES}:temporary_files_have_a_place"),
    FeatureCheck(f"{SQLITE}:history_is_whole", f"{SQLITE}:remove_history", f"{SQLITE}:KINDS"),
    FeatureCheck("app.health.session_files:recordings_have_sessions", "app.health.session_files:drop_orphans"),
    FeatureCheck("app.health.session_files:recordings_are_whole", "app.health.session_files:cut_torn_lines"),
    FeatureCheck("app.health.session_files:inbox_can_be_read", kinds="app.health.session_files:KINDS"),
    FeatureCheck(f"{GIT}:repository_is_whole", kinds=f"{GIT}:KINDS"),
    FeatureCheck(f"{GIT}:no_lock_is_left", f"{GIT}:remove_locks"),
    FeatureCheck(f"{KEPT}:checkpoints_are_whole", f"{KEPT}:forget_lost", f"{KEPT}:KINDS"),
    FeatureCheck("adapters.protected.checks:nothing_was_left_behind", kinds="adapters.protected.checks:KINDS"),
    FeatureCheck("adapters.sandbox.checks:folders_are_shown", kinds="adapters.sandbox.checks:KINDS"),
    FeatureCheck("adapters.sandbox.checks:quintet_lies_outside"),
    FeatureCheck(f"{PROCESSES}:clock_is_right", kinds=f"{PROCESSES}:KINDS"),
    FeatureCheck(f"{PROCESSES}:zone_is_known"),
    FeatureCheck(f"{PROCESSES}:texts_are_utf8"),
    FeatureCheck(f"{PROCESSES}:no_sandbox_is_left"),
    FeatureCheck("app.health.installation:copy_is_whole", kinds="app.health.installation:KINDS"),
    FeatureCheck("app.health.installation:owners_are_current"),
    FeatureCheck("app.health.installation:checkout_is_the_same"),
    FeatureCheck("app.health.installation:plugins_can_be_used"),
    FeatureCheck("adapters.agents.checks:agents_can_be_used", kinds="adapters.agents.checks:KINDS"),
    FeatureCheck("adapters.models.health:models_are_described", kinds="adapters.models.health:KINDS"),
    FeatureCheck("adapters.models.health:models_can_be_asked"),
)


def make_look(places: Places, loaded: LoadedSettings, clock: Clock, told: Told | None = None) -> DoctorChecks:
    settings = loaded.settings

    def parts() -> list[MachinePart]:
        around = here.PartSources(places.root, here.find_ripgrep(), own_code=False, pythons=())
        needed = [here.look(name, around) for name in ("git", "ripgrep")]
        return [*needed, here.sandbox_in_force(settings.sandbox.use)]

    def of_rooms(thorough: bool) -> list[Finding]:
        return found_in_rooms(Checkup(places, loaded, thorough), told)

    def own_prompts() -> OwnPrompts:
        return own_pages(places.root, loaded.trust)

    def fix_rooms() -> list[str]:
        return fixed_in_rooms(Checkup(places, loaded, thorough=True))

    probe = ProjectHealth(places, parts, of_rooms, own_prompts, fix_rooms)
    return DoctorChecks(probe, settings.doctor.free_bytes, clock, process_identity)


def fix_project(places: Places, loaded: LoadedSettings) -> list[str]:
    """Fix by rule what can be fixed, for a command without a session; returns what was done."""

    async def run() -> list[str]:
        store = open_store(places)
        try:
            look = make_look(places, loaded, SystemClock())
            done = await fix(look, make_keeper(store, places, SystemClock(), str), store)
            return [*done, *await look.fixed_in_rooms()]
        finally:
            await store.close()

    return asyncio.run(run())


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


def every_check() -> Iterator[tuple[str, FeatureCheck, Callable[[str], Any]]]:
    """Each with the name of its feature, and what loads its parts; those of the core's rooms first."""
    for check in ROOMS:
        yield "Quintet", check, load
    for feature in features():
        for check in feature.checks:
            yield feature.name, check, feature.load


def every_kind() -> list[FindingKind]:
    """All that the doctor may find, as the reference lists it."""
    found = dict.fromkeys(finding_kinds.KINDS)
    for _, check, loads in every_check():
        found |= dict.fromkeys(loads(check.kinds) if check.kinds else ())
    return list(found)


def found_in_rooms(checkup: Checkup, told: Told | None = None) -> list[Finding]:
    """What rooms and features find wrong with their own, in the order of the checks."""
    checks = list(every_check())
    over = 0

    def run(one: tuple[str, FeatureCheck, Callable[[str], Any]]) -> list[Finding]:
        nonlocal over
        found = list(_found(checkup, *one))
        over += 1
        if told:
            told(over, len(checks))
        return found

    with ThreadPoolExecutor(AT_ONCE) as workers:
        return [finding for found in workers.map(run, checks) for finding in found]


def _found(checkup: Checkup, name: str, check: FeatureCheck, loads: Callable[[str], Any]) -> Iterator[Finding]:
    try:
        yield from loads(check.look)(checkup)
    except StoreError:  # a finding of the doctor's own
        return
    except Exception as error:  # its own code
        problem = f"a check of {name} failed: {type(error).__name__}: {error}"
        yield finding_kinds.CHECK_BROKEN.of(check.look, problem)


def fixed_in_rooms(checkup: Checkup) -> list[str]:
    """Have rooms and features fix what can be fixed, one after the other; returns what was done."""
    done: list[str] = []
    for name, check, loads in every_check():
        try:
            done += loads(check.fix)(checkup) if check.fix else ()
        except StoreError:  # a finding of its own
            continue
        except Exception as error:  # its own code
            done.append(f"{name} could not be fixed: {type(error).__name__}: {error}")
    return done
