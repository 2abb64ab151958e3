"""What the gate's decisions rest on in a project, from its places and settings; and the user's rules."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from quintet.adapters import sandbox
from quintet.adapters.files import private_files
from quintet.adapters.files.paths import Places, cache_folder, home_links, own_paths
from quintet.adapters.processes.python_environment import run_from
from quintet.adapters.protected.linked_git import hooks_in
from quintet.adapters.sandbox.host_mounts import home, shown_folders
from quintet.adapters.sandbox.opened_places import opened_here
from quintet.domain.base.errors import NotFound, SettingsError
from quintet.domain.permission.gate import Sandbox, Terms
from quintet.domain.permission.protected_paths import PROTECTION, Protection
from quintet.domain.permission.rules import Rule
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
        os.path.realpath(os.path.expanduser("~")),
        dict.fromkeys((cache_folder(), os.path.realpath(cache_folder()), *run_from(places.root))),
    )


def one_rule(rules: Sequence[Rule], wanted: str) -> Rule:
    """The rule of this id, or of the only id that begins so."""
    whole = [rule for rule in rules if rule.id == wanted]
    found = whole or [rule for rule in rules if wanted and rule.id.startswith(wanted)]
    if len(found) != 1:
        many = "more than one rule begins" if found else "there is no rule that begins"
        raise NotFound(f'{many} with "{wanted}"', hint="`quintet rules list` shows them.")
    return found[0]


class FileRuleBook:
    """The user's rules: a file in the user's configuration, never in the project.

    Read anew for every decision, so that a rule revoked in one terminal stops working in all of them.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def rules(self) -> tuple[Rule, ...]:
        content = private_files.read_json(self._path, "until then no call that a rule could cover runs")
        try:
            return msgspec.convert([] if content is None else content, tuple[Rule, ...])
        except msgspec.ValidationError as error:
            raise SettingsError(f"{self._path}: not a list of rules ({error})", hint="Fix or delete it.") from None

    def add(self, rule: Rule) -> None:
        with private_files.locked(self._path):
            self._write((*self.rules(), rule))

    def revoke(self, wanted: str) -> Rule:
        """Remove a rule, named by its id or the beginning of one."""
        with private_files.locked(self._path):
            rules = self.rules()
            found = one_rule(rules, wanted)
            self._write(tuple(rule for rule in rules if rule is not found))
            return found

    def _write(self, rules: tuple[Rule, ...]) -> None:
        private_files.write_json(self._path, msgspec.to_builtins(rules))
