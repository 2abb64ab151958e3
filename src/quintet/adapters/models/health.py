"""What is wrong with configured models, as far as it can be seen without a request that costs: keys and local servers.

All at once, each within a second; a server elsewhere is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from quintet.adapters.models.discovery import answers
from quintet.adapters.secrets.model_keys import has_key
from quintet.domain.models.presets import PRESETS, host_of, is_loopback
from quintet.domain.settings.settings import ROUTES, ModelSettings, Settings
from quintet.domain.tasks.health import Finding, HealthScope, Severity

SECONDS = 1.0


def model_findings(settings: Settings) -> list[Finding]:
    if not settings.models:
        return []
    with ThreadPoolExecutor(min(len(settings.models), 16)) as workers:
        looks = workers.map(lambda item: list(_of(settings, *item)), settings.models.items())
        return [finding for found in looks for finding in found]


def _of(settings: Settings, name: str, model: ModelSettings) -> Iterator[Finding]:
    uses = [use for use in ROUTES if settings.routing.model(use) == name]
    role = f" (routing: {', '.join(uses)})" if uses else ""
    variable = model.api_key_env
    if variable and not model.api_key_command and not has_key(variable):
        problem = f"models.{name}{role}: the key is not set ({variable})"
        advice = f"Export it, or store it: quintet secrets set {variable}"
        yield Finding("MODEL_KEY_MISSING", Severity.WARNING, HealthScope.MACHINE, name, problem, advice)
    if is_loopback(model.base_url) and not answers(model.base_url, SECONDS):
        host = host_of(model.base_url)
        problem = f"models.{name}{role}: no server answers at {host}"
        starts = next((p.server.starts for p in PRESETS if p.server and f":{p.server.port}" in host), "")
        advice = f"Start the server{f' ({starts})' if starts else ''}, or change models.{name}.base_url."
        yield Finding("MODEL_SERVER_DOWN", Severity.WARNING, HealthScope.MACHINE, name, problem, advice)
