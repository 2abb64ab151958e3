"""What a search of the web needs of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.processes.python_environment import package_part
from quintet.app.machine_parts import PartSources
from quintet.domain.settings.settings import WebSettings
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.web_search.values import chosen

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup


def web_search(around: PartSources) -> MachinePart:
    missing = _missing(around.settings.web)
    return MachinePart("web search", not missing, "" if missing else chosen(around.settings.web, os.environ), missing)


def _missing(web: WebSettings) -> str:
    """What the engine that is used lacks; empty if nothing."""
    name = chosen(web, os.environ)
    missing = {
        "brave": "" if os.environ.get(web.brave_key_env) else f"export {web.brave_key_env}=… with your key",
        "exa": "" if os.environ.get(web.exa_key_env) else f"export {web.exa_key_env}=… with your key",
        "searxng": "" if web.searxng_url else 'set its address: [web] searxng_url = "https://…"',
        "ddgs": package_part("ddgs", "ddgs", "web").missing.removeprefix("ddgs: "),
    }[name]
    return f"{name}: {missing}" if missing else ""


WEB_SEARCH_UNUSABLE = FindingKind(
    "WEB_SEARCH_UNUSABLE",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`web.search` names an engine that lacks its key or address.",
    "Set what the finding asks for.",
)
KINDS = (WEB_SEARCH_UNUSABLE,)


def chosen_engine_is_set_up(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor: an engine that the settings name can be asked."""
    if checkup.settings.web.search != "auto" and (missing := _missing(checkup.settings.web)):
        problem = f'web.search is "{missing.partition(":")[0]}", which cannot be used'
        yield WEB_SEARCH_UNUSABLE.of(checkup.settings.web.search, problem, missing)
