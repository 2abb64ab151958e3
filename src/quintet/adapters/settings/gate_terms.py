"""What the gate's decisions rest on in a project, from its places and settings."""

from __future__ import annotations

import os

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places, cache_folder, home_links, own_paths
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.python_environment import run_from
from quintet.adapters.protected.linked_git import hooks_in
from quintet.adapters.sandbox.host_mounts import home, shown_folders
from quintet.adapters.sandbox.opened_places import opened_here
from quintet.domain.permission.gate import Sandbox, Terms
from quintet.domain.permission.protected_paths import PROTECTION, Protection
from quintet.domain.settings.settings import Settings


def make_terms(places: Places, settings: Settings, use: str = "") -> Terms:
    """`use` names another sandbox than the settings do."""
    protect = settings.protect
    kind = sandbox.chosen(use or settings.sandbox.use)
    protection = protection_of(places, settings)
    opened = opened_here(settings.sandbox, places, protection)
    return Terms(
        root=places.root,
        sandbox=kind,
        protection=protection,
        specs=protect.specs,
        reports=protect.reports,
        expose=settings.secrets.expose,
        readable_folders=(places.outputs,),
        hooks=hooks_in(places.root),
        loopback_open=sandbox.loopback_open(kind, settings.sandbox.loopback),
        home=home(),
        shown=(*shown_folders(), *opened.shown, *opened.given) if kind is Sandbox.BWRAP else (),
        places=opened,
    )


def protection_of(places: Places, settings: Settings) -> Protection:
    """What is secret or kept in a project."""
    protect = settings.protect
    usual = PROTECTION.with_settings(protect.secrets, protect.not_secrets)
    return usual.with_home_links(places.root, home_links()).at(
        places.root,
        own_paths(places),
        (places.outputs,),
        real_path(os.path.expanduser("~")),
        dict.fromkeys((cache_folder(), real_path(cache_folder()), *run_from(places.root))),
    )
