"""What a request costs, by the prices of its model."""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import Usage

MILLION = 1_000_000


class Prices(Struct, frozen=True):
    """US dollars for a million tokens; above `long_above` input tokens a request costs so many times as much."""

    input: float = 0.0
    cached: float = 0.0
    cache_write: float = 0.0
    output: float = 0.0
    long_above: int = 0
    long_input: float = 2.0
    long_output: float = 1.5


def cost_of(prices: Prices | None, usage: Usage, cache_writes: int = 0) -> float:
    """The cost of a request; 0 where no price is known."""
    if prices is None:
        return 0.0
    fresh = max(0, usage.input_tokens - usage.cached_tokens - cache_writes)
    read = fresh * prices.input + usage.cached_tokens * prices.cached + cache_writes * prices.cache_write
    written = usage.output_tokens * prices.output
    if prices.long_above and usage.input_tokens > prices.long_above:
        read, written = read * prices.long_input, written * prices.long_output
    return (read + written) / MILLION


def prices_of(settings: ModelSettings) -> Prices | None:
    """The prices that settings hold, `resolved` or the user's own."""
    if settings.price_input is None and settings.price_output is None:
        return None
    price = settings.price_input or 0.0
    return Prices(
        price,
        price if settings.price_cached is None else settings.price_cached,
        price if settings.price_cache_write is None else settings.price_cache_write,
        settings.price_output or 0.0,
        settings.price_long_above,
        settings.price_long_input,
        settings.price_long_output,
    )
