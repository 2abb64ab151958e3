"""What is wrong with configured models, as far as it can be seen without a request that costs: keys and local servers.

All at once, each within a second; a server elsewhere is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from quintet.adapters.models.discovery import answers
from quintet.adapters.secrets.model_keys import has_key
from quintet.domain.models.model_facts import facts_of, is_local, unpriced
from quintet.domain.models.presets import PRESETS, host_of, is_loopback
from quintet.domain.settings.settings import ROUTES, ModelSettings, Settings
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

SECONDS = 1.0
MODEL_KEY_MISSING = FindingKind(
    "MODEL_KEY_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "A model's `api_key_env` names a variable that is not set.",
    "Export it, or store it: quintet secrets set NAME",
)
MODEL_SERVER_DOWN = FindingKind(
    "MODEL_SERVER_DOWN",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The server of a model on this machine does not answer.",
    "Start the server, or change the model's base_url.",
)
MODEL_PRICE_UNKNOWN = FindingKind(
    "MODEL_PRICE_UNKNOWN",
    Severity.WARNING,
    HealthScope.USER,
    "`limits.max_cost` is set, and the price of a model is not known, so its requests count as 0.",
    "Set its price_input and price_output.",
)
MODEL_WINDOW_UNKNOWN = FindingKind(
    "MODEL_WINDOW_UNKNOWN",
    Severity.INFO,
    HealthScope.USER,
    "The context window of a model is not known, so a conversation may become too long for it.",
    "Set its context_window.",
)
KINDS = (MODEL_KEY_MISSING, MODEL_SERVER_DOWN, MODEL_PRICE_UNKNOWN, MODEL_WINDOW_UNKNOWN)


def models_are_described(checkup: Checkup) -> Iterator[Finding]:
    settings = checkup.settings
    for name in unpriced(settings) if settings.limits.max_cost else ():
        problem = f"limits.max_cost cannot stop models.{name}: its price is not known"
        yield MODEL_PRICE_UNKNOWN.of(name, problem, f"Set models.{name}.price_input and models.{name}.price_output.")
    for name in dict.fromkeys(settings.routing.model(use) for use in ROUTES):
        model = settings.models.get(name)
        if model and not is_local(model.base_url) and not facts_of(model).window:
            yield MODEL_WINDOW_UNKNOWN.of(
                name, f"models.{name}: its context window is not known", f"Set models.{name}.context_window."
            )


def models_can_be_asked(checkup: Checkup) -> list[Finding]:
    """Only a thorough look, for servers are asked."""
    settings = checkup.settings
    if not settings.models or not checkup.thorough:
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
        yield MODEL_KEY_MISSING.of(name, problem, advice)
    if is_loopback(model.base_url) and not answers(model.base_url, SECONDS):
        host = host_of(model.base_url)
        problem = f"models.{name}{role}: no server answers at {host}"
        starts = next((p.server.starts for p in PRESETS if p.server and f":{p.server.port}" in host), "")
        advice = f"Start the server{f' ({starts})' if starts else ''}, or change models.{name}.base_url."
        yield MODEL_SERVER_DOWN.of(name, problem, advice)
