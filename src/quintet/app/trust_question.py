"""Asks whether to trust a folder that brings settings, tools, prompts, agents or MCP servers of its own.

Asked at the first interactive start, and again when any of them is new or has changed since, with the difference. What
the person saw is what is trusted: it is read once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.mcp_servers import in_words
from quintet.adapters.settings.trust import (
    Link,
    accept,
    decline,
    former,
    pieces,
    server_piece,
    set_trust,
    trust_of,
    unlooked,
)
from quintet.domain.base.errors import SettingsError
from quintet.domain.base.safe_text import on_one_line, visible
from quintet.domain.base.wording import listed
from quintet.domain.permission import trust_summary, trusted_content
from quintet.domain.permission.exposure import given_to, may_be_secret
from quintet.domain.permission.trusted_content import AGENTS, MOST_DIFF, PROMPTS, SETTINGS, SKILLS, TOOLS, Pieces, Trust
from quintet.domain.settings.settings import Settings
from quintet.surfaces.typed_line import typed_line


class TrustQuestion(Struct, frozen=True):
    """`decide` records the answer, for what was there when the question was made."""

    about: str  # what is asked, and what a yes would mean
    listed: tuple[str, ...]  # the pieces, a line each
    changed: tuple[str, ...]  # how they differ from what was trusted, as lines of a diff
    decide: Callable[[bool], None]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join((self.about, *self.listed, *self.changed))

    def fitted(self, columns: int, rows: int) -> list[str]:
        """It as lines for a screen of this size: cut, with a count of the rest."""
        about = self.about.split("\n")
        columns = max(columns, 20)
        used = sum(1 + max(len(line) - 1, 0) // columns for line in about)
        of_list, of_changes = trusted_content.shares(max(rows - used, 4), len(self.listed), len(self.changed))
        lines = [_cut(line, columns) for line in self.listed[:of_list]]
        if of_list < len(self.listed):
            lines.append(f"  … {len(self.listed) - of_list} more")
        lines += [_cut(line, columns) for line in self.changed[:of_changes]]
        if of_changes < len(self.changed):
            rest = len(self.changed) - of_changes
            lines.append(_cut(f"… {rest} more lines of {len(self.changed)}: quintet trust --check", columns))
        return [*about, *lines]


def trust_question(places: Places) -> TrustQuestion | None:
    """What to ask the person; None where there is nothing to ask, or it has been answered."""
    trust = trust_of(places.trust_file, places.root)
    if trust.decided and not trust.trusted:
        return None
    found = pieces(places)
    if not trust.decided:
        brought = [name for name, data in found.items() if not isinstance(data, Link)]
        if all(_kind(name) == "agents" for name in brought):  # they are only read until a program of theirs is called
            return None
        lines = tuple(on_one_line(f"  {line}") for line in effects(places, found))
        return TrustQuestion(_first(places, brought, bool(lines)), lines, (), lambda yes: _decided(places, found, yes))
    if not trusted_content.to_ask(trust, found):
        return None
    return _again(places, trust, found)


def _decided(places: Places, found: Pieces, yes: bool) -> None:
    if yes:
        accept(places, found)
    else:
        set_trust(places.trust_file, places.root, False)


def _decided_again(places: Places, found: Pieces, yes: bool) -> None:
    if yes:
        accept(places, found)
    else:
        decline(places, found)


def _first(places: Places, brought: list[str], does: bool) -> str:
    what = listed(list(dict.fromkeys(map(_kind, brought))))
    then = "If you trust it, it does this:" if does else "It loosens nothing and starts nothing."
    return f"{on_one_line(places.root)} has its own {what}. Later changes need your approval again.\n{then}"


def _again(places: Places, trust: Trust, found: Pieces) -> TrustQuestion:
    asked = trusted_content.to_ask(trust, found)
    old = any(one.kind is trusted_content.ChangeKind.NOT_RECORDED for one in asked)
    why = "You trusted this folder before its contents were recorded." if old else "You trusted this folder."
    about = (
        f"{on_one_line(places.root)}: {why}\nThis is not loaded until you say yes; the rest is "
        "loaded. Changed since then:"
    )
    pieces = [f"  {named(one.name, found, one.kind)}" for one in asked]
    shown = [on_one_line(line) for one in asked for line in difference(places, trust, one.name, found)]
    if len(shown) > MOST_DIFF:
        shown[MOST_DIFF:] = [f"… {len(shown) - MOST_DIFF} more lines: quintet trust --check"]
    new = {one.name: found[one.name] for one in asked}
    lines = (*pieces, *(on_one_line(f"  {line}") for line in effects(places, new)))
    return TrustQuestion(about, lines, tuple(shown), lambda yes: _decided_again(places, found, yes))


def _cut(line: str, columns: int) -> str:
    return line if len(line) < columns else f"{line[: columns - 2]}…"


def named(name: str, found: Pieces, kind: str = "") -> str:
    """A piece in a list; a link out of the project says where it leads, and nothing more is shown of it."""
    data = found[name]
    words = data.decode("utf-8", "replace") if isinstance(data, Link) else kind
    return on_one_line(f"{name}  {words}".rstrip())


def difference(places: Places, trust: Trust, name: str, found: Pieces) -> list[str]:
    if isinstance(found[name], Link):
        return []
    return trusted_content.difference(name, former(places, trust, name), found[name])


def effects(places: Places, found: Pieces) -> list[str]:
    """What these pieces of a project would do once it is trusted, the gravest first; a link does nothing."""
    loaded = {name: data for name, data in found.items() if not isinstance(data, Link)}
    try:
        changed = config.would_change(places, loaded.get(SETTINGS, b""))
        own = config.load(places).settings
    except SettingsError as error:
        return [visible(f"has settings that cannot be used: {error}"), *_loaded_files(loaded)]
    hooks = [text for one in changed if one.key.startswith("hooks.") for text in one.value]
    lines = trust_summary.settings_lines(changed, unlooked(places.root, hooks))
    lines += _servers(own, {**_entries(loaded), **trust_summary.servers_set(changed)})
    return [visible(line) for line in lines] + _loaded_files(loaded)


def _servers(own: Settings, entries: dict[str, Any]) -> list[str]:
    if not entries:
        return []
    given = getattr(own.features.get("mcp"), "variables", ())  # set only where that feature is there

    def refused(server: str, variable: str) -> bool:
        secret = may_be_secret(variable, own.secrets.patterns)
        return secret and not given_to(server, variable, given)

    return in_words(entries, refused)


def _entries(found: Pieces) -> dict[str, Any]:
    """The servers of a project's `.mcp.json`, as they stand there."""
    start = server_piece("")
    return {name.removeprefix(start): json.loads(data) for name, data in found.items() if name.startswith(start)}


def _loaded_files(found: Pieces) -> list[str]:
    def below(*folders: str) -> list[str]:
        starts = tuple(f"{folder}/" for folder in folders)
        return [visible(name.partition("/")[2]) for name in sorted(found) if name.startswith(starts)]

    return trust_summary.file_lines(below(TOOLS), below(PROMPTS), below(*AGENTS), below(*SKILLS))


def _kind(name: str) -> str:
    if name == SETTINGS:
        return "settings"
    if name.startswith(server_piece("")):
        return "MCP servers"
    below = {TOOLS: "tools", PROMPTS: "prompts", **dict.fromkeys(AGENTS, "agents"), **dict.fromkeys(SKILLS, "skills")}
    return next((word for folder, word in below.items() if name.startswith(f"{folder}/")), "hook scripts")


def ask_for_trust(path: str) -> None:
    """Ask in line, for a surface that has no screen."""
    if question := trust_question(locate(path)):
        columns, rows = shutil.get_terminal_size()
        lines = question.fitted(columns, rows - 2)
        answer = typed_line("\n".join([*lines, "Trust this folder? [y/N] "]))
        question.decide(answer.lower() in ("y", "yes"))
