"""For the doctor: the user's settings, rules, trust, hooks and tools, as far as something in them has no effect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import structs

from quintet.adapters.settings import user_tools
from quintet.adapters.settings.layers import load
from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.adapters.settings.trust import forget, gone_folders, not_loaded, trust_of
from quintet.adapters.shell_grammar.programs import missing_programs
from quintet.domain.base.errors import SettingsError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.rules import about, without_effect
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

SETTINGS_BROKEN = FindingKind(
    "SETTINGS_BROKEN",
    Severity.ERROR,
    HealthScope.USER,
    "A settings file, a variable, or the file of trusted folders cannot be read, or has a value that is not allowed.",
    "Correct what the finding names.",
)
SETTINGS_UNKNOWN = FindingKind(
    "SETTINGS_UNKNOWN",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A settings file has an unknown setting, which has no effect.",
    "Correct the name, or remove it: quintet settings lists every setting.",
)
SETTINGS_IGNORED = FindingKind(
    "SETTINGS_IGNORED",
    Severity.INFO,
    HealthScope.USER,
    "The project's settings set something that only you may set, or only in a trusted folder.",
    "Set it in your own settings, or trust the folder: quintet trust",
)
RULES_BROKEN = FindingKind(
    "RULES_BROKEN",
    Severity.ERROR,
    HealthScope.USER,
    "The file of your rules cannot be read, so no call that a rule could cover runs.",
    "Correct rules.json, or delete it.",
)
RULE_WITHOUT_EFFECT = FindingKind(
    "RULE_WITHOUT_EFFECT",
    Severity.WARNING,
    HealthScope.USER,
    "A rule can never match: its folder no longer exists, its effects are never allowed by a rule, or another rule "
    "denies all that it allows.",
    "quintet rules revoke ID",
)
TRUST_CHANGED = FindingKind(
    "TRUST_CHANGED",
    Severity.WARNING,
    HealthScope.USER,
    "Something in a trusted folder is new or changed, so it is not loaded.",
    "see the changes: quintet trust --check",
)
TRUST_GONE = FindingKind(
    "TRUST_GONE",
    Severity.WARNING,
    HealthScope.USER,
    "A folder that you trust no longer exists; whoever makes one at its path would be trusted.",
    "no longer trust it; if it comes back, you are asked again",
    fixable=True,
)
HOOK_UNUSABLE = FindingKind(
    "HOOK_UNUSABLE",
    Severity.WARNING,
    HealthScope.USER,
    "A hook names a program that is not on PATH, or its script is new or changed since you trusted the folder.",
    "Install the program, correct the hook in the settings, or trust the folder again.",
)
OWN_TOOL_UNUSABLE = FindingKind(
    "OWN_TOOL_UNUSABLE",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A file of your own tools, or of a trusted project's, is not valid Python.",
    "Correct the file: quintet tools list",
)
KINDS = (
    SETTINGS_BROKEN,
    SETTINGS_UNKNOWN,
    SETTINGS_IGNORED,
    RULES_BROKEN,
    RULE_WITHOUT_EFFECT,
    TRUST_CHANGED,
    TRUST_GONE,
    HOOK_UNUSABLE,
    OWN_TOOL_UNUSABLE,
)


def settings_are_taken(checkup: Checkup) -> Iterator[Finding]:
    """As the files are now: a session may have begun with others."""
    try:
        loaded = load(checkup.places)
    except SettingsError as error:
        yield SETTINGS_BROKEN.of("settings", on_one_line(error.message), error.hint)
        return
    for warning in loaded.warnings:
        kind = SETTINGS_UNKNOWN if warning in loaded.unknown else SETTINGS_IGNORED
        shown = on_one_line(warning)
        yield kind.of(shown.partition(": ")[0], shown)


def rules_have_an_effect(checkup: Checkup) -> Iterator[Finding]:
    try:
        rules = FileRuleBook(checkup.places.rules_file).rules()
    except SettingsError as error:
        yield RULES_BROKEN.of("rules.json", on_one_line(error.message), error.hint)
        return
    for rule, why in without_effect(rules, os.path.isdir):
        named = on_one_line(f"{rule.verdict} {rule.tool}: {about(rule)}")
        yield RULE_WITHOUT_EFFECT.of(rule.id, f"rule {rule.id} ({named}): {why}", f"quintet rules revoke {rule.id}")


def trust_is_current(checkup: Checkup) -> Iterator[Finding]:
    """A session says what is left out when it opens; so only a thorough look tells it again."""
    if not checkup.thorough:
        return
    places = checkup.places
    try:
        left = not_loaded(places, trust_of(places.trust_file, places.root))
        gone = gone_folders(places.trust_file)
    except SettingsError:  # a finding of the settings'
        return
    if left:
        yield TRUST_CHANGED.of(on_one_line(places.root), left)
    for folder in map(on_one_line, gone):
        yield TRUST_GONE.of(folder, f"you trust {folder}, which no longer exists")


def forget_gone(checkup: Checkup) -> list[str]:
    path = checkup.places.trust_file
    try:
        gone = gone_folders(path)
    except SettingsError:
        return []
    return [f"{on_one_line(folder)} is no longer trusted" for folder in gone if forget(path, folder)]


def hooks_can_run(checkup: Checkup) -> Iterator[Finding]:
    hooks = structs.asdict(checkup.settings.hooks)
    for event, command in ((event, command) for event, commands in hooks.items() for command in commands):
        problem = checkup.loaded.hook_problem(command)
        if not problem and (missing := missing_programs(command, checkup.places.root)):
            problem = f"{', '.join(missing)} is not installed"
        if problem:
            yield HOOK_UNUSABLE.of(event, on_one_line(f"hooks.{event}: {command}: {problem}"))


def own_tools_are_python(checkup: Checkup) -> Iterator[Finding]:
    for warning in map(on_one_line, user_tools.not_python(checkup.places, checkup.loaded.trust)):
        yield OWN_TOOL_UNUSABLE.of(warning.partition(": ")[0], warning)
