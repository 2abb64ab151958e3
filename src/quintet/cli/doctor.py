"""`quintet doctor`: what is wrong with this project and its machine, and `fix`, which mends what can be mended."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.models.health import model_findings
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.protected.left_behind import left_note
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.store import SqliteStore
from quintet.app.late_parts import fix_features, make_keeper, make_look
from quintet.app.opening_notes import not_loaded
from quintet.app.services import Checkup
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import UsageError
from quintet.domain.tasks.health import Finding, HealthScope, Severity
from quintet.engine.cycle.doctor import fix, health_lines
from quintet.engine.cycle.look import Look
from quintet.surfaces.tables import say, say_json


def doctor(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    look = make_look(places, loaded, SystemClock())
    done: list[str] = []
    if arguments.action == "fix":
        if problem := look.store_problem():
            raise UsageError(f"nothing can be fixed, because the state cannot be used: {problem}")
        done = [*_fixed(places, look), *fix_features(Checkup(places, loaded, thorough=True))]
    findings = make_look(places, loaded, SystemClock()).health(thorough=True)
    findings += model_findings(loaded.settings)
    if left := not_loaded(places, loaded.trust):
        advice = "see the changes: quintet trust --check"
        findings.append(Finding("TRUST_CHANGED", Severity.WARNING, HealthScope.PROJECT, places.root, left, advice))
    if killed := left_note(places, loaded.settings):
        advice = "see the files: quintet aside"
        findings.append(Finding("LEFT_BEHIND", Severity.WARNING, HealthScope.PROJECT, places.root, killed, advice))
    if arguments.json:
        say_json({"findings": findings, "fixed": done} if arguments.action == "fix" else findings)
    else:
        say([*done, *[""] * bool(done), *health_lines(findings)])
    return 1 if any(finding.severity is Severity.ERROR for finding in findings) else 0


def _fixed(places: Places, look: Look) -> list[str]:
    async def run() -> list[str]:
        store = SqliteStore(places.database)
        try:
            return await fix(look, make_keeper(store, places, SystemClock(), str), store)
        finally:
            await store.close()

    return asyncio.run(run())


DOCTOR = lookup(
    "doctor",
    "Check this project, its state and this machine; exit code 1 if there is an error.",
    doctor,
    lambda p: p.add_argument("action", nargs="?", choices=("fix",), help="fix what can be fixed, and list it"),
)
