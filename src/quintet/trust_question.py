"""The first interactive start in a folder with things of its own asks whether to trust it."""

from __future__ import annotations

import os
import sys

from quintet.adapters import user_tools
from quintet.adapters.mcp_client.server_files import FILE
from quintet.adapters.places import locate
from quintet.adapters.trust import decided, set_trust


def ask_for_trust(path: str) -> None:
    places = locate(path)
    here = {
        "settings": os.path.exists(places.project_settings),
        "tools": bool(user_tools.files(places.project_tools)),
        "MCP servers": os.path.exists(os.path.join(places.root, FILE)),
    }
    if not any(here.values()) or decided(places.trust_file, places.root):
        return
    what = " and ".join(word for word, there in here.items() if there)
    sys.stdout.write(
        f"{places.root} has {what} of its own.\n"
        "Trusted, its settings may choose models, loosen permissions and run hooks; its tools run with your rights, "
        "its MCP servers in the sandbox.\n"
        "Trust this folder? [y/N] "
    )
    sys.stdout.flush()
    answer = sys.stdin.readline().strip().lower()
    set_trust(places.trust_file, places.root, answer in ("y", "yes"))
