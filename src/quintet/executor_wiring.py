"""Puts the executors of a project together."""

from __future__ import annotations

import os

from quintet.adapters import sandbox
from quintet.adapters.ai_clis.local_executors import LocalExecutors
from quintet.adapters.places import Places
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.sandbox.ground import Ground
from quintet.adapters.sandbox.guarded import Scanner
from quintet.domain.gate import Terms
from quintet.domain.redaction import Redaction, Redactor
from quintet.domain.settings import Settings


def make_executors(
    places: Places, settings: Settings, terms: Terms, redactor: Redactor | None = None
) -> LocalExecutors:
    """The AI CLIs, each with a scratch folder of its own."""
    private = (places.state, places.config)
    scanner = Scanner(places.root, terms.protection)

    def contain(name: str) -> Containment:
        scratch = os.path.join(places.scratch, "executors", name)
        file_bytes = settings.sandbox.file_bytes
        networks = () if terms.loopback_open else sandbox.networks()
        ground = Ground(
            places.root, private, scratch, file_bytes, terms.protection, scanner, networks, places.unsettled
        )
        return sandbox.contain(terms.sandbox, ground)

    return LocalExecutors(places.root, private, settings.executors, contain, redactor or Redaction())
