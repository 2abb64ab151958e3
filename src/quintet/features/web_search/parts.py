"""What a search of the web needs of the machine."""

from __future__ import annotations

import os

from quintet.adapters.processes.python_environment import package_part
from quintet.app.machine_parts import PartSources
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.web_search.values import chosen


def web_search(around: PartSources) -> MachinePart:
    web = around.settings.web
    name = chosen(web, os.environ)
    missing = {
        "brave": "" if os.environ.get(web.brave_key_env) else f"export {web.brave_key_env}=… with your key",
        "exa": "" if os.environ.get(web.exa_key_env) else f"export {web.exa_key_env}=… with your key",
        "searxng": "" if web.searxng_url else 'set its address: [web] searxng_url = "https://…"',
        "ddgs": package_part("ddgs", "ddgs", "ddgs>=9").missing.removeprefix("ddgs: "),
    }[name]
    return MachinePart("web search", not missing, "" if missing else name, f"{name}: {missing}" if missing else "")
