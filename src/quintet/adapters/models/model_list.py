"""A provider's own list of its models: GET {base_url}/models, in each of the shapes that providers give it."""

from __future__ import annotations

from typing import Any

from quintet import __version__
from quintet.adapters.files.loose_json import as_count, as_dict, as_list, as_text, decoded
from quintet.adapters.http.client import HttpClient
from quintet.adapters.models.errors import Failures
from quintet.domain.models.presets import MESSAGES, ListedModel

VERSION = "2023-06-01"
MOST_BYTES = 8_000_000
SECONDS = 30.0
MILLION = 1_000_000.0


async def listed_models(base_url: str, wire: str, key: str, name: str) -> list[ListedModel]:
    """What a server says it has; a ModelError where it says something else. `name` is what hints call it."""
    failures = Failures(f"models.{name}", key, "")
    client = HttpClient(base_url, SECONDS, f"models.{name}")
    try:
        path = "/models?limit=1000" if wire == MESSAGES else "/models"
        async with client.get(path, list_headers(wire, key)) as response:
            body = bytearray()
            async for data in response:
                body += data
                if len(body) > MOST_BYTES:
                    raise failures.of_reply("the list of models is too long", again=False)
            if not 200 <= response.status < 300:
                raise failures.of_status(response.status, decoded(body), bytes(body))
    finally:
        await client.close()
    found = models_in(decoded(body))
    if found is None:
        raise failures.of_reply("the answer is not a list of models", bytes(body), again=False)
    return found


def list_headers(wire: str, key: str) -> dict[str, str]:
    own = {"user-agent": f"quintet/{__version__}", "accept": "application/json"}
    if wire == MESSAGES:
        return {**own, "anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
    return {**own, **({"authorization": f"Bearer {key}"} if key else {})}


def models_in(answer: Any) -> list[ListedModel] | None:
    """The models in a list's JSON; None if it is no such list."""
    rows = answer if isinstance(answer, list) else as_dict(answer).get("data", as_dict(answer).get("models"))
    if not isinstance(rows, list):
        return None
    found = [_listed(as_dict(row)) for row in as_list(rows)]
    return [model for model in found if model.id]


def _listed(row: dict[str, Any]) -> ListedModel:
    prices = as_dict(row.get("pricing"))
    name = as_text(row.get("id")) or as_text(row.get("name")) or as_text(row.get("model"))
    window = ("context_length", "context_window", "max_context_length", "max_model_len", "max_input_tokens")
    created = row.get("created")
    return ListedModel(
        id=name.removeprefix("models/"),
        created=float(created) if isinstance(created, int | float) else 0.0,
        context_window=next((count for key in window if (count := as_count(row.get(key)))), 0),
        price_input=_price(prices.get("prompt"), prices.get("input")),
        price_cached=_price(prices.get("input_cache_read"), None),
        price_output=_price(prices.get("completion"), prices.get("output")),
    )


def _price(each: Any, million: Any) -> float:
    """Of a million tokens: some say the price of one, in a text, others that of a million."""
    try:
        price = float(each) * MILLION if isinstance(each, str) else float(million or 0.0)
    except (TypeError, ValueError):
        return 0.0
    return round(price, 6) if 0.0 < price < MILLION else 0.0
