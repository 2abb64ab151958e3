"""Puts the executors of a project together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places
from quintet.adapters.git.own_branch import branch_of_worktree
from quintet.adapters.protected.scan import Scanner
from quintet.adapters.sandbox.containment import Containment, SandboxSetup
from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.permission.gate import Terms
from quintet.domain.settings.settings import Settings
from quintet.features.ai_clis.executors import LocalExecutors
from quintet.features.ai_clis.settings import ExecutorSettings

if TYPE_CHECKING:
    from quintet.app.services import Opening


def make_executors(
    places: Places,
    settings: Settings,
    terms: Terms,
    redactor: Redactor | None = None,
    unreachable: tuple[str, ...] = (),
) -> LocalExecutors:
    """The AI CLIs, each with a scratch folder of its own."""
    private = (places.state, places.config)
    scanner = Scanner(places.root, terms.protection)

    def contain(name: str) -> Containment:
        scratch = os.path.join(places.scratch, "executors", name)
        file_bytes = settings.sandbox.file_bytes
        networks = () if terms.loopback_open else sandbox.networks()
        setup = SandboxSetup(places.root, private, scratch, file_bytes, terms.protection, networks, unreachable)
        setup.own_branch = branch_of_worktree(places)
        return sandbox.contain(terms.sandbox, setup, scanner, places.crash_records)

    return LocalExecutors(
        places.root, private, settings.named("executors", ExecutorSettings), contain, redactor or Redaction()
    )


def open_executors(opening: Opening) -> LocalExecutors:
    hidden = opening.containment.setup.unreachable
    return make_executors(opening.places, opening.settings, opening.terms, opening.vault, hidden)
