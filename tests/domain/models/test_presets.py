"""The providers Quintet knows: their addresses from the usual variables, and which of their models are proposed."""

import pytest

from quintet.domain.base.errors import UsageError
from quintet.domain.models import presets
from quintet.domain.models.presets import BY_NAME, PRESETS, ListedModel, ProposedModels, base_url_of, choose, find

WANTED = [
    *("anthropic", "openai", "openrouter", "google", "mistral", "groq", "deepseek", "xai", "together"),
    *("azure", "bedrock", "vertex", "ollama", "lmstudio", "vllm", "llamacpp"),
]


def listed(*names: str) -> list[ListedModel]:
    return [ListedModel(name) for name in names]


def test_the_presets_are_those_that_were_promised() -> None:
    assert list(BY_NAME) == WANTED
    for preset in PRESETS:
        assert preset.local or preset.account
        assert preset.keys or not preset.key_needed
        assert all(preset.usual) or preset.local or preset.name == "azure"


@pytest.mark.parametrize(
    ("typed", "name"), [("Anthropic", "anthropic"), ("claude", "anthropic"), ("gemini", "google"), ("grok", "xai")]
)
def test_a_preset_is_found_by_the_names_people_have_for_it(typed: str, name: str) -> None:
    assert find(typed).name == name


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean openrouter") as raised:
        find("openruoter")
    assert "quintet models add" in raised.value.hint


@pytest.mark.parametrize(
    ("preset", "environ", "base_url"),
    [
        ("anthropic", {}, "https://api.anthropic.com/v1"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, "http://127.0.0.1:9/v1"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/"}, "http://127.0.0.1:9/v1"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "https://proxy.example/anthropic"}, "https://proxy.example/anthropic/v1"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "https://proxy.example/v1"}, "https://proxy.example/v1"),
        ("anthropic", {"ANTHROPIC_BASE_URL": " "}, "https://api.anthropic.com/v1"),
        ("openai", {"OPENAI_BASE_URL": "https://proxy.example/openai/v1/"}, "https://proxy.example/openai/v1"),
        ("openai", {"OPENAI_BASE_URL": "https://proxy.example"}, "https://proxy.example/v1"),
        ("google", {"GOOGLE_GEMINI_BASE_URL": "http://h:1"}, "http://h:1/v1beta/openai"),
        ("groq", {"GROQ_BASE_URL": "https://api.groq.com"}, "https://api.groq.com/openai/v1"),
        ("azure", {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"}, "https://r.openai.azure.com/openai/v1"),
        ("bedrock", {"AWS_DEFAULT_REGION": "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws/v1"),
        ("ollama", {}, "http://127.0.0.1:11434/v1"),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/v1"),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0:8888"}, "http://127.0.0.1:8888/v1"),
        ("ollama", {"OLLAMA_HOST": "[::]:8888"}, "http://[::1]:8888/v1"),
        ("ollama", {"OLLAMA_HOST": "gpu.example"}, "http://gpu.example:11434/v1"),
        ("ollama", {"OLLAMA_HOST": "https://gpu.example"}, "https://gpu.example/v1"),
        ("ollama", {"OLLAMA_HOST": "http://127.0.0.1:1/"}, "http://127.0.0.1:1/v1"),
    ],
)
def test_the_usual_variables_say_where_a_provider_is(preset: str, environ: dict[str, str], base_url: str) -> None:
    assert base_url_of(BY_NAME[preset], environ) == base_url


def test_what_was_given_wins_over_a_variable() -> None:
    environ = {"OLLAMA_HOST": "gpu.example"}
    assert base_url_of(BY_NAME["ollama"], environ, "127.0.0.1:5") == "http://127.0.0.1:5/v1"
    assert base_url_of(BY_NAME["azure"], {}, resource="mine") == "https://mine.openai.azure.com/openai/v1"


@pytest.mark.parametrize(
    ("preset", "environ", "words"),
    [
        ("bedrock", {}, "--region"),
        ("bedrock", {"AWS_REGION": "evil.example/"}, "letters, digits"),
        ("azure", {}, "--resource NAME or AZURE_OPENAI_ENDPOINT"),
        ("ollama", {"OLLAMA_HOST": "ftp://x"}, "not an address"),
        ("ollama", {"OLLAMA_HOST": "http://x:port"}, "not an address"),
    ],
)
def test_an_address_that_cannot_be_made_says_what_is_missing(preset: str, environ: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        base_url_of(BY_NAME[preset], environ)


ANTHROPIC = listed(
    "claude-3-haiku-20240307",
    "claude-3-5-haiku-20241022",
    "claude-haiku-4-5-20251001",
    "claude-3-7-sonnet-20250219",
    "claude-sonnet-4-20250514",
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-1-20250805",
    "claude-opus-4-20250514",
)
OPENAI = listed(
    "gpt-4", "gpt-4o", "gpt-4.1", "gpt-4.1-mini", "gpt-5", "gpt-5.1", "gpt-5-mini", "gpt-5.1-2025-11-13", "gpt-5-codex"
) + listed("gpt-4o-mini-tts", "text-embedding-3-large", "dall-e-3", "whisper-1", "gpt-realtime", "o3")
OPENROUTER = listed(
    "anthropic/claude-sonnet-4.5", "anthropic/claude-3.7-sonnet:thinking", "anthropic/claude-haiku-4.5", "x/free:free"
) + listed("anthropic/claude-opus-4.5", "openai/gpt-5.1")
GOOGLE = listed("gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.5-flash-image") + listed(
    "gemini-2.5-pro", "gemini-3-pro-preview", "text-embedding-004", "gemini-2.5-pro-preview-tts"
)
XAI = listed("grok-3", "grok-3-mini", "grok-4-0709", "grok-4-1-fast-non-reasoning", "grok-4-fast-reasoning")
OLLAMA = listed("nomic-embed-text:latest", "llama3.2:latest", "qwen2.5-coder:1.5b", "qwen2.5-coder:32b", "phi4:14b")


@pytest.mark.parametrize(
    ("preset", "models", "fast", "smart", "deep"),
    [
        ("anthropic", ANTHROPIC, ANTHROPIC[2].id, ANTHROPIC[5].id, ANTHROPIC[6].id),
        ("openai", OPENAI, "gpt-5-mini", "gpt-5.1", "gpt-5.1"),
        ("openrouter", OPENROUTER, OPENROUTER[2].id, OPENROUTER[0].id, OPENROUTER[4].id),
        ("google", GOOGLE, "gemini-2.5-flash", "gemini-2.5-pro", "gemini-2.5-pro"),
        ("google", listed("gemini-3-pro-preview"), *["gemini-3-pro-preview"] * 3),
        ("xai", XAI, "grok-4-1-fast-non-reasoning", "grok-4-0709", "grok-4-0709"),
        ("ollama", OLLAMA, *["qwen2.5-coder:32b"] * 3),
        ("ollama", listed("nomic-embed-text", "some-model:7b"), *["some-model:7b"] * 3),
        ("vllm", listed("org/Anything-70B"), *["org/Anything-70B"] * 3),
        ("deepseek", [], "deepseek-chat", "deepseek-chat", "deepseek-reasoner"),
    ],
)
def test_the_newest_sensible_models_are_proposed(
    preset: str, models: list[ListedModel], fast: str, smart: str, deep: str
) -> None:
    assert choose(BY_NAME[preset], models) == ProposedModels(fast, smart, deep)
    assert choose(BY_NAME[preset], models[::-1]) == ProposedModels(fast, smart, deep)


@pytest.mark.parametrize("preset", [preset.name for preset in PRESETS if all(preset.usual)])
def test_the_usual_models_are_what_would_be_proposed_of_a_list_of_them(preset: str) -> None:
    known = BY_NAME[preset]
    fast, smart, deep = known.usual
    assert choose(known, []) == ProposedModels(fast, smart, deep)
    if known.lists:
        assert choose(known, listed(*known.usual)) == ProposedModels(fast, smart, deep)


@pytest.mark.parametrize("preset", ["azure", "ollama"])
def test_where_there_is_nothing_to_choose_from_nothing_is_proposed(preset: str) -> None:
    assert choose(BY_NAME[preset], []) is None
    assert choose(BY_NAME["ollama"], listed("nomic-embed-text")) is None


def test_a_model_is_named_directly_by_its_provider() -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    assert presets.direct_model("anthropic/claude-x", environ) == {
        "wire": "anthropic",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "claude-x",
        "api_key_env": "ANTHROPIC_API_KEY",
    }
    assert presets.direct_model("openrouter/vendor/model", {}) == {
        "wire": "openai",
        "base_url": "https://openrouter.ai/api/v1",
        "model": "vendor/model",
        "api_key_env": "OPENROUTER_API_KEY",
    }
    local = presets.direct_model("ollama/qwen3:8b", {})
    assert local == {"wire": "openai", "base_url": "http://127.0.0.1:11434/v1", "model": "qwen3:8b"}
    assert presets.direct_model("google/x", {"GOOGLE_API_KEY": "k"})["api_key_env"] == "GOOGLE_API_KEY"  # type: ignore[index]
    for no_such in ("anthropic", "anthropic/", "nobody/model", "builtin"):
        assert presets.direct_model(no_such, environ) is None
