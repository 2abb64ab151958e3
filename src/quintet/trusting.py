"""Asks whether to trust a folder that brings settings, tools, prompts, agents or MCP servers of its own.

Asked at the first interactive start, and again when any of them is new or has changed since, with the difference. What
the person saw is what is trusted: it is read once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from msgspec import Struct

from quintet.adapters.places import Places, locate
from quintet.adapters.project_pieces import Link, files_below, pieces, server_piece
from quintet.adapters.trust import accept, decline, former, set_trust, trust_of
from quintet.domain import trusted_content
from quintet.domain.protected import inside
from quintet.domain.trusted_content import AGENTS, MOST_DIFF, PROMPTS, SETTINGS, TOOLS, Pieces, Trust
from quintet.domain.visible import visible


class TrustQuestion(Struct, frozen=True):
    """`decide` records the answer, for what was there when the question was made."""

    text: str
    decide: Callable[[bool], None]


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
        return TrustQuestion(_first(places, brought), lambda yes: _decided(places, found, yes))
    if not trusted_content.to_ask(trust, found):
        return None
    return TrustQuestion(_again(places, trust, found), lambda yes: _decided_again(places, found, yes))


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


def _first(places: Places, brought: list[str]) -> str:
    what = " and ".join(dict.fromkeys(map(_kind, brought)))
    return "\n".join(
        [
            f"{places.root} has {what} of its own.",
            "Trusted, its settings may choose models, loosen permissions and run hooks;",
            "its tools run with your rights, its MCP servers in the sandbox. What changes later is asked about again.",
            *server_lines(places),
        ]
    )


def _again(places: Places, trust: Trust, found: Pieces) -> str:
    asked = trusted_content.to_ask(trust, found)
    old = any(one.kind == "not recorded" for one in asked)
    why = "You trusted this folder before its contents were recorded." if old else "You trusted this folder."
    lines = [f"{places.root}: {why} Since then:", *(f"  {named(one.name, found, one.kind)}" for one in asked)]
    shown = [visible(line) for one in asked for line in difference(places, trust, one.name, found)]
    lines += ["", *shown[:MOST_DIFF]]
    if len(shown) > MOST_DIFF:
        lines.append(f"… {len(shown) - MOST_DIFF} more lines: quintet trust --check")
    return "\n".join([*lines, *server_lines(places), "", "Until you say yes it is not loaded; the rest is."])


def named(name: str, found: Pieces, kind: str = "") -> str:
    """A piece in a list; a link out of the project says where it leads, and nothing more is shown of it."""
    data = found[name]
    words = data.decode("utf-8", "replace") if isinstance(data, Link) else kind
    return visible(f"{name}  {words}".rstrip()).replace("\n", "␊")


def difference(places: Places, trust: Trust, name: str, found: Pieces) -> list[str]:
    if isinstance(found[name], Link):
        return []
    return trusted_content.difference(name, former(places, trust, name), found[name])


def server_lines(places: Places) -> list[str]:
    """What each MCP server of the project would be: what it starts or reaches, and which variables it takes."""
    from quintet.adapters.mcp_client.server_files import in_words

    return [visible(line) for line in in_words(places.root)]


def _kind(name: str) -> str:
    if name == SETTINGS:
        return "settings"
    if name.startswith(server_piece("")):
        return "MCP servers"
    below = {TOOLS: "tools", PROMPTS: "prompts", **dict.fromkeys(AGENTS, "agents")}
    return next((word for folder, word in below.items() if name.startswith(f"{folder}/")), "hook scripts")


def not_loaded(places: Places, trust: Trust) -> str:
    """What of a trusted folder is left out because it is new or has changed; empty if nothing is."""
    found = trusted_content.changes(trust, pieces(places)) if trust.trusted else []
    return trusted_content.said(found) if found else ""


def at_home(places: Places) -> str:
    """What to know where the project is the user's home, or holds it; empty elsewhere."""
    home = os.path.realpath(os.path.expanduser("~"))
    if inside(home, places.root) is None:
        return ""
    return (
        f"The project {places.root} holds your home folder: commands see everything in it but known secrets and "
        "Quintet's own files. Its hidden files and `bin` are read-only for them, and writing one asks each time."
    )


def sound_agents(places: Places, trust: Trust) -> bool:
    """Whether programs of the project's agents may be run: it is trusted, and none of their files is new or changed."""
    return trust.trusted and all(trust.covers_below(folder, files_below(places.root, folder)) for folder in AGENTS)


def ask_for_trust(path: str) -> None:
    """Ask in line, for a surface that has no screen."""
    if question := trust_question(locate(path)):
        sys.stdout.write(f"{question.text}\nTrust this folder? [y/N] ")
        sys.stdout.flush()
        question.decide(sys.stdin.readline().strip().lower() in ("y", "yes"))
