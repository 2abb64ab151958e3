"""What the gate's decisions rest on in a project, from its places and settings."""

from __future__ import annotations

import os

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places, cache_folder, home_links, own_paths
from quintet.adapters.processes.own_code import run_from
from quintet.adapters.protected.linked_git import hooks_in
from quintet.domain.permission.gate import Terms
from quintet.domain.permission.protected_paths import PROTECTION, Protection
from quintet.domain.settings.settings import Settings


def make_terms(places: Places, settings: Settings, use: str = "") -> Terms:
    """`use` names another sandbox than the settings do."""
    protect = settings.protect
    kind = sandbox.chosen(use or settings.sandbox.use)
    return Terms(
        root=places.root,
        sandbox=kind,
        protection=protection_of(places, settings),
        specs=protect.specs,
        reports=protect.reports,
        expose=settings.secrets.expose,
        shelves=(places.outputs,),
        hooks=hooks_in(places.root),
        loopback_open=sandbox.loopback_open(kind, settings.sandbox.loopback),
    )


def protection_of(places: Places, settings: Settings) -> Protection:
    """What is secret or kept in a project."""
    protect = settings.protect
    usual = PROTECTION.with_settings(protect.secrets, protect.not_secrets)
    return usual.with_home_links(places.root, home_links()).at(
        places.root,
        own_paths(places),
        (places.outputs,),
        os.path.realpath(os.path.expanduser("~")),
        dict.fromkeys((cache_folder(), os.path.realpath(cache_folder()), *run_from(places.root))),
    )
