"""What is known of models: names as they are sold, settings before the table, silence rather than a wrong price."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from quintet.domain.models.known_models import ROWS
from quintet.domain.models.model_facts import KNOWN, LOCAL, OWN, UNKNOWN, facts_of, is_local, resolved, unpriced
from quintet.domain.models.prices import Prices, cost_of, prices_of
from quintet.domain.settings.settings import ModelSettings, RoutingSettings, Settings
from quintet.domain.turn.messages import Usage

HOST = "https://api.example/v1"


def of(name: str, base_url: str = HOST, **more: Any) -> Any:
    return facts_of(ModelSettings(base_url, name, **more))


@pytest.mark.parametrize(
    ("name", "window", "price"),
    [
        ("claude-sonnet-4-5", 200_000, 3.0),
        ("claude-sonnet-4-5-20250929", 200_000, 3.0),
        ("claude-sonnet-4-5@20250929", 200_000, 3.0),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 3.0),
        ("anthropic/claude-sonnet-4.5", 200_000, 3.0),
        ("claude-opus-5-5", 1_000_000, 4.0),
        ("gpt-5", 272_000, 1.25),
        ("gpt-5-2025-08-07", 272_000, 1.25),
        ("openai/gpt-5-mini", 272_000, 0.25),
        ("GPT-4.1-nano", 1_047_576, 0.1),
        ("gpt-4o-2024-11-20", 128_000, 2.5),
        ("gemini-2.5-pro-preview-05-06", 1_048_576, 1.25),
        ("google/gemini-3.1-pro-preview", 1_048_576, 2.0),
        ("grok-4.5-latest", 500_000, 2.0),
    ],
)
def test_a_name_is_found_as_it_is_sold(name: str, window: int, price: float) -> None:
    found = of(name)
    assert (found.window, found.prices.input) == (window, price)
    assert found.sources == {
        "window": KNOWN, "output_limit": KNOWN, "prices": KNOWN, "vision": KNOWN,
        "efforts": KNOWN if found.efforts is not None else UNKNOWN,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["gpt-5.9", "gpt-5-huge", "claude-opus-9", "gemini-9-pro", "gpt-5.1-max", "grok-9"])
def test_a_name_that_is_only_like_a_known_one_has_no_price(name: str) -> None:
    found = of(name)
    assert (found.prices, found.sources["prices"]) == (None, UNKNOWN)
    assert found.window  # what is sure of its family


def test_nothing_is_known_of_a_stranger() -> None:
    found = of("vendor/large-model")
    assert (found.window, found.output_limit, found.prices, found.vision, found.efforts) == (0, 0, None, None, None)
    assert set(found.sources.values()) == {UNKNOWN}


def test_settings_come_before_the_table() -> None:
    found = of("gpt-4o", context_window=9, max_tokens=8, price_input=7.0, price_output=6.0, vision=False)
    assert (found.window, found.output_limit, found.vision) == (9, 8, False)
    assert found.prices == Prices(7.0, 7.0, 7.0, 6.0)
    assert {found.sources[name] for name in ("window", "output_limit", "prices", "vision")} == {OWN}


def test_a_server_of_this_machine_costs_nothing_unless_it_passes_a_known_model_on() -> None:
    here = "http://127.0.0.1:11434/v1"
    assert of("qwen3:8b", here).prices == of("anything", here).prices == Prices()
    assert of("qwen3:8b", here).sources["prices"] == LOCAL
    assert of("qwen3:8b", here).window == 0  # how much it keeps is the server's to say
    assert of("claude-opus-5", here).prices == of("claude-opus-5").prices
    assert of("qwen3:8b").prices is None


def test_an_open_model_has_its_makers_price_at_its_maker_alone() -> None:
    assert of("deepseek-chat", "https://api.deepseek.com/v1").prices.input == 0.28
    assert of("deepseek-chat", "https://elsewhere.example/v1").prices is None
    assert of("vendor/some:free", "https://openrouter.ai/api/v1").prices == Prices()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.8.8.8/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost:1", True),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("https://api.example", False),
        ("", False),
    ],
)
def test_what_is_on_this_machine(url: str, local: bool) -> None:
    assert is_local(url) is local


def test_the_apis_that_can_be_told_which_tools_may_be_called() -> None:
    openai, google = "https://api.openai.com/v1", "https://generativelanguage.googleapis.com/v1beta"
    assert of("gpt-5", openai, wire="responses").allowed_tools
    assert of("gemini-2.5-pro", google, wire="gemini").allowed_tools
    assert not of("gpt-5", openai).allowed_tools
    assert not of("gpt-5", "https://elsewhere.example/v1", wire="responses").allowed_tools
    assert of("gpt-5", HOST, allowed_tools=True).allowed_tools
    assert not of("gpt-5", openai, wire="responses", allowed_tools=False).allowed_tools


def test_every_row_is_reached_by_each_of_its_names_and_no_price_is_absurd() -> None:
    for row in ROWS:
        for name in row.names.split():
            found = of(name.replace("*", "-x"), f"https://x{row.hosts[0]}" if row.hosts else HOST)
            assert found.window == row.window, name
            assert found.prices == row.prices, name
        if row.prices:
            assert 0 < row.prices.cached <= row.prices.input <= row.prices.cache_write, row
            assert row.prices.input < row.prices.output <= 200 or row.names.startswith("ministral"), row


USED = Usage(1_000_000, 100_000, 600_000)


@pytest.mark.parametrize(
    ("prices", "writes", "cost"),
    [
        (None, 0, 0.0),
        (Prices(), 0, 0.0),
        (Prices(3.0, 0.3, 3.75, 15.0), 0, 0.4 * 3.0 + 0.6 * 0.3 + 0.1 * 15.0),
        (Prices(3.0, 0.3, 3.75, 15.0), 400_000, 0.4 * 3.75 + 0.6 * 0.3 + 0.1 * 15.0),
        (Prices(3.0, 0.3, 3.75, 15.0), 900_000, 0.9 * 3.75 + 0.6 * 0.3 + 0.1 * 15.0),  # counts that do not add up
        (Prices(3.0, 0.3, 3.75, 15.0, 1_000_000), 0, 0.4 * 3.0 + 0.6 * 0.3 + 0.1 * 15.0),
        (Prices(3.0, 0.3, 3.75, 15.0, 999_999), 0, 2 * (0.4 * 3.0 + 0.6 * 0.3) + 1.5 * 0.1 * 15.0),
        (Prices(0.1, 0.01, 0.125, 0.5, 100_000, 5.0, 5.0), 0, 5 * (0.4 * 0.1 + 0.6 * 0.01 + 0.1 * 0.5)),
    ],
)
def test_a_request_costs_what_its_fresh_cached_and_written_tokens_cost(
    prices: Prices | None, writes: int, cost: float
) -> None:
    assert cost_of(prices, USED, writes) == pytest.approx(cost)


def test_resolved_settings_hold_all_that_a_cost_needs_and_resolving_again_changes_nothing() -> None:
    models = {"a": ModelSettings(HOST, "gemini-2.5-pro"), "b": ModelSettings(HOST, "stranger")}
    once = resolved(Settings(models=models))
    assert prices_of(once.models["a"]) == of("gemini-2.5-pro").prices
    assert (once.models["a"].context_window, once.models["a"].vision) == (1_048_576, True)
    assert once.models["b"] == models["b"]
    assert resolved(once) == once
    assert prices_of(models["b"]) is None
    assert resolved(Settings()) == Settings()


def test_a_price_of_nothing_is_a_price() -> None:
    free = ModelSettings(HOST, "stranger", price_input=0.0)
    assert prices_of(free) == Prices()
    assert facts_of(free).sources["prices"] == OWN


def test_routed_models_without_a_price_are_named_once() -> None:
    stranger, known = ModelSettings(HOST, "stranger"), ModelSettings(HOST, "gpt-5")
    routing = RoutingSettings(fast="known", smart="strange", deep="strange", vision="builtin")
    settings = Settings(models={"strange": stranger, "known": known, "unused": stranger}, routing=routing)
    assert unpriced(settings) == ["strange"]
    assert unpriced(structs.replace(settings, routing=RoutingSettings())) == []


def test_the_effort_of_a_model_mode() -> None:
    routing = RoutingSettings(deep_effort="high", fast_effort="low")
    assert [routing.effort(use) for use in ("fast", "smart", "deep", "vision")] == ["low", "", "high", ""]
