"""What is known of a model by its name: what it can read and write, its prices, whether it sees, how it thinks.

Settings come before the table, and the table is silent rather than wrong: a name that it does not have gets its
family's sure facts at most, and no price. Prices are US dollars for a million tokens, as published in November 2026.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field, structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.models.known_models import ADAPTIVE as ADAPTIVE
from quintet.domain.models.known_models import BUDGET as BUDGET
from quintet.domain.models.known_models import LEVEL as LEVEL
from quintet.domain.models.known_models import ROWS, KnownModel
from quintet.domain.models.presets import BY_NAME
from quintet.domain.models.prices import Prices, prices_of
from quintet.domain.settings.settings import REPLAYED, ROUTES, ModelSettings, Settings

OWN, KNOWN, LOCAL, UNKNOWN = "settings", "known", "local", "unknown"
# APIs that can be told which of the tools may be called, by wire: the hosts that have it for sure.
_ALLOWED_TOOLS = {"responses": ("api.openai.com",), "gemini": ("generativelanguage.googleapis.com",)}
# What may follow a known name without making another model of it: dates, and words for a state of the same model.
_SAME = regex(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{3,4}|-(preview|exp|beta)(-[\w-]+)?|-v\d+|-it)*$")


class ModelFacts(Struct, frozen=True):
    """0, None and an empty text are what nobody knows; `sources` says of each fact where it is from."""

    window: int = 0  # tokens it can read
    output_limit: int = 0  # tokens it can write
    prices: Prices | None = None
    vision: bool | None = None
    efforts: tuple[str, ...] | None = None  # empty: it has none
    thinking: str = ""  # how it is asked to think: adaptive, budget or level
    allowed_tools: bool = False  # whether the API can be told which tools may be called
    sources: dict[str, str] = field(default_factory=dict)


def facts_of(settings: ModelSettings) -> ModelFacts:
    """What is known of a model: its settings first, then the table, and nothing where neither says."""
    row = _row(_plain(settings.model, settings.wire))
    local = is_local(settings.base_url)
    prices, priced = _prices(settings, row, local)
    allowed = settings.allowed_tools
    if allowed is None:
        allowed = urlsplit(settings.base_url).hostname in _ALLOWED_TOOLS.get(settings.wire, ())
    # A server here may hold less of the conversation than the model could read.
    window, windowed = _first(settings.context_window, 0 if local and row.open else row.window)
    limit, limited = _first(settings.max_tokens, row.output_limit)
    seen = settings.vision is not None
    vision = settings.vision if seen else row.vision
    sources = {
        "window": windowed,
        "output_limit": limited,
        "prices": priced,
        "vision": OWN if seen else KNOWN if row.vision is not None else UNKNOWN,
        "efforts": KNOWN if row.efforts is not None else UNKNOWN,
    }
    return ModelFacts(window, limit, prices, vision, row.efforts, row.thinking, allowed, sources)


def resolved(settings: Settings) -> Settings:
    """Settings whose models hold what is known of them: a session goes by these, and its recording keeps them."""
    if not settings.models:
        return settings
    return structs.replace(settings, models={name: resolved_model(model) for name, model in settings.models.items()})


def unpriced(settings: Settings) -> list[str]:
    """The models of the routing table whose price nobody knows, each once."""
    routed = dict.fromkeys(settings.routing.model(use) for use in ROUTES)
    own = (name for name in routed if name in settings.models and not name.startswith(REPLAYED))
    return [name for name in own if facts_of(settings.models[name]).prices is None]


def is_free(settings: Settings, name: str) -> bool:
    """Whether a model by its name in the settings, or as PRESET/MODEL, costs nothing: it runs on this machine."""
    if model := settings.models.get(name):
        return facts_of(model).prices == Prices()
    preset = BY_NAME.get(name.partition("/")[0])
    return "/" in name and preset is not None and preset.local


def is_local(base_url: str) -> bool:
    """Whether a server is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def resolved_model(settings: ModelSettings) -> ModelSettings:
    facts = facts_of(settings)
    more: dict[str, Any] = {"context_window": facts.window, "vision": facts.vision}
    if prices := facts.prices:
        more |= {
            "price_input": prices.input,
            "price_cached": prices.cached,
            "price_cache_write": prices.cache_write,
            "price_output": prices.output,
            "price_long_above": prices.long_above,
            "price_long_input": prices.long_input,
            "price_long_output": prices.long_output,
        }
    return structs.replace(settings, **more)


def _prices(settings: ModelSettings, row: KnownModel, local: bool) -> tuple[Prices | None, str]:
    if own := prices_of(settings):
        return own, OWN
    if settings.model.endswith(":free"):
        return Prices(), KNOWN
    if local and (row.open or not row.family):
        return Prices(), LOCAL
    host = urlsplit(settings.base_url).hostname or ""
    if row.prices is None or (row.open and not host.endswith(row.hosts or ("-",))):
        return None, UNKNOWN  # what anyone may serve, each prices differently
    return row.prices, KNOWN


def _first(own: int, known: int) -> tuple[int, str]:
    return (own, OWN) if own else (known, KNOWN if known else UNKNOWN)


def _plain(name: str, wire: str) -> str:
    """A model's name without what a reseller puts around it: `us.anthropic.claude-x-v1:0`, `openai/gpt-x`."""
    name = name.lower()
    name = name.partition(":")[2] if wire == "pydantic-ai" and ":" in name else name
    name = name.rpartition("/")[2].replace(".", "-")
    at = name.find("claude-")
    return name[at:] if at > 0 else name


@lru_cache(maxsize=64)
def _row(name: str) -> KnownModel:
    """The row with the longest name that fits; a model's own before its family's."""
    bare = name.partition(":")[0].partition("@")[0].partition("[")[0]
    found = [
        (len(key.rstrip("*")), not key.endswith("*"), row)
        for row in ROWS
        for key in row.names.split()
        if _fits(bare, key)
    ]
    return max(found, key=lambda one: one[:2], default=(0, False, KnownModel()))[2]


def _fits(name: str, key: str) -> bool:
    if key.endswith("*"):
        return name.startswith(key[:-1])
    return name.startswith(key) and bool(_SAME.match(name[len(key) :]))
