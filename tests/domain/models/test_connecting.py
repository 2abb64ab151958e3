"""What a person is told to do when a provider refuses."""

import pytest

from quintet.domain.base import errors
from quintet.domain.models.connecting import ModelOffer, advice, chosen, no_key, sends
from quintet.domain.models.presets import BY_NAME, ProposedModels

USED_UP = errors.ModelRateLimited("no")
USED_UP.retryable = False
LISTED = ["claude-sonnet-4-5", "claude-haiku-4-5"]


@pytest.mark.parametrize(
    ("preset", "error", "words"),
    [
        ("anthropic", errors.ModelAuthFailed("no"), "refuses the key from ANTHROPIC_API_KEY"),
        ("anthropic", errors.ModelHttpError("no", status=402), "Add credit at console.anthropic.com"),
        ("openai", USED_UP, "Add credit at platform.openai.com"),
        ("openai", errors.ModelRateLimited("no"), "check your limits"),
        ("anthropic", errors.ModelHttpError("no", status=404), "Did you mean claude-sonnet-4-5"),
        ("anthropic", errors.ModelBadResponse("no"), "a sign-in page, a proxy or another server"),
        ("anthropic", errors.ModelUnreachable("no"), "Check your network and the proxy variables"),
        ("ollama", errors.ModelUnreachable("no"), "ollama serve"),
        ("anthropic", errors.ModelHttpError("no", status=500), "Try again later"),
    ],
)
def test_each_refusal_says_what_to_do(preset: str, error: errors.ModelError, words: str) -> None:
    known = BY_NAME[preset]
    said = advice(
        known, error, base_url=known.base_url, key_from="ANTHROPIC_API_KEY", model="claude-sonet-4-5", listed=LISTED
    )
    assert words in said


def test_a_server_that_wants_a_key_after_all_is_told_so() -> None:
    known = BY_NAME["vllm"]
    error = errors.ModelAuthFailed("no")
    said = advice(known, error, base_url=known.base_url, key_from="", model="m", listed=[])
    assert "127.0.0.1:8000 needs a key" in said
    assert "VLLM_API_KEY" in said


def test_a_model_that_ollama_does_not_have_is_pulled() -> None:
    known, error = BY_NAME["ollama"], errors.ModelHttpError("no", status=404)
    said = advice(known, error, base_url=known.base_url, key_from="", model="zzz", listed=["llama3.2:latest"])
    assert "ollama pull zzz" in said
    assert "llama3.2" in said


def test_the_host_is_said_before_a_key_goes_there() -> None:
    assert sends("https://user:pw@api.example:8443/v1", key=True) == "sends your key to api.example:8443"
    assert sends("http://127.0.0.1:11434/v1", key=False) == "sends a request to 127.0.0.1:11434, on this machine"
    offer = ModelOffer("anthropic", "Anthropic", "ANTHROPIC_API_KEY is set", "https://api.anthropic.com/v1", True)
    assert offer.words == "Anthropic: ANTHROPIC_API_KEY is set; sends your key to api.anthropic.com"
    assert offer.command == "quintet models use anthropic"


def test_what_to_do_without_a_key_has_all_the_ways() -> None:
    said = no_key(BY_NAME["mistral"])
    assert [word for word in ("export MISTRAL_API_KEY=", "--key-stdin", "--key-command") if word not in said] == []


def test_models_that_are_the_same_are_said_once() -> None:
    assert chosen(ProposedModels("a", "a", "a")) == "a for fast, smart and deep"
    assert chosen(ProposedModels("a", "b", "c")) == "fast a · smart b · deep c"
