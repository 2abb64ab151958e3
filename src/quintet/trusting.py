"""The first interactive start in a folder with settings, tools or MCP servers of its own asks whether to trust it."""

from __future__ import annotations

import os
import sys

from quintet.adapters import user_tools
from quintet.adapters.mcp_client.server_files import FILE
from quintet.adapters.places import Places, locate
from quintet.adapters.trust import decided, set_trust


def trust_question(places: Places) -> str:
    """What to ask the person; empty where there is nothing to ask, or it has been answered."""
    here = {
        "settings": os.path.exists(places.project_settings),
        "tools": bool(user_tools.files(places.project_tools)),
        "MCP servers": os.path.exists(os.path.join(places.root, FILE)),
    }
    if not any(here.values()) or decided(places.trust_file, places.root):
        return ""
    what = " and ".join(word for word, there in here.items() if there)
    return (
        f"{places.root} has {what} of its own.\n"
        "Trusted, its settings may choose models, loosen permissions and run hooks; its tools run with your rights,\n"
        "its MCP servers in the sandbox."
    )


def decide(places: Places, trusted: bool) -> None:
    set_trust(places.trust_file, places.root, trusted)


def ask_for_trust(path: str) -> None:
    """Ask in line, for a surface that has no screen."""
    places = locate(path)
    if question := trust_question(places):
        sys.stdout.write(f"{question}\nTrust this folder? [y/N] ")
        sys.stdout.flush()
        decide(places, sys.stdin.readline().strip().lower() in ("y", "yes"))
