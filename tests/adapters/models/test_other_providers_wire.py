"""Providers through pydantic-ai: what its packages raise, warn of and leave out; and where it is not installed."""

import asyncio
import sys
import warnings

import pytest

from quintet.adapters.models.registry import Models
from quintet.app.model_setup import try_model
from quintet.domain.base.errors import ModelError, SettingsError
from quintet.domain.settings.settings import ModelSettings, Settings
from quintet.domain.turn.messages import EndPart, Finish, Message, Part, Request, Role, TextPart, Usage
from tests.adapters.models import pydantic_ai_stand_in as stand_in
from tests.adapters.models.pydantic_ai_stand_in import Fake, pydantic_ai

__all__ = ["pydantic_ai"]
ASKED = Request("x", (Message(Role.USER, "hello"),))


def settings(model: str = "google:a-model", address: str = "") -> Settings:
    return Settings(models={"other": ModelSettings(address, model, wire="pydantic-ai", timeout=9.0)})


def reply(model: str = "google:a-model", address: str = "") -> list[Part]:
    async def go() -> list[Part]:
        return [part async for part in Models(settings(model, address)).get("other").stream(ASKED)]

    return asyncio.run(go())


def test_a_missing_extra_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pydantic_ai"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)  # as Python marks a package that is not there
    with pytest.raises(SettingsError, match=r"models\.other\.wire .* not installed") as caught:
        Models(settings()).get("other")
    assert "quintet install providers" in caught.value.hint


def test_a_reply_with_who_answered(pydantic_ai: Fake) -> None:
    assert reply() == [TextPart("hello"), EndPart(Finish.STOP, Usage(3, 2), model="m-1", id="r-1")]


@pytest.mark.parametrize(
    "raised",
    [
        TypeError("Invalid type for parameter toolConfig.tools[0], value: ('a',), type: <class 'tuple'>"),
        KeyError("region"),
        RuntimeError("You must specify a region."),
    ],
)
def test_whatever_a_providers_package_raises_is_an_error_of_the_models(pydantic_ai: Fake, raised: Exception) -> None:
    pydantic_ai.raises = raised
    with pytest.raises(ModelError, match=type(raised).__name__) as caught:
        reply()
    assert not caught.value.retryable
    assert "models.other" in caught.value.hint


def test_whatever_it_raises_when_it_is_made_is_an_error_of_the_settings(pydantic_ai: Fake) -> None:
    pydantic_ai.building = AssertionError("no such provider")
    with pytest.raises(SettingsError, match=r"models\.other: no such provider"):
        reply()


@pytest.mark.parametrize(
    ("error", "code", "again"),
    [
        (stand_in.ModelAPIError("no", 401), "LLM_AUTH_FAILED", False),
        (stand_in.ModelAPIError("slow down", 429), "LLM_RATE_LIMITED", True),
        (stand_in.ModelAPIError("broken", 503), "LLM_HTTP_ERROR", True),
        (stand_in.ModelAPIError("Response validation failed"), "LLM_BAD_RESPONSE", True),
        (stand_in.ModelConnectionError("refused"), "LLM_HTTP_ERROR", True),
        (stand_in.ModelTimeoutError("late"), "LLM_TIMEOUT", True),
        (stand_in.UnexpectedModelBehavior("half a call"), "LLM_BAD_RESPONSE", True),
    ],
)
def test_its_errors_have_our_kinds(pydantic_ai: Fake, error: Exception, code: str, again: bool) -> None:
    pydantic_ai.raises = error
    with pytest.raises(ModelError) as caught:
        reply()
    assert (caught.value.code, caught.value.retryable) == (code, again)
    assert "HTTP 0" not in caught.value.message


def test_a_reply_that_does_not_say_that_it_is_over_was_cut(pydantic_ai: Fake) -> None:
    pydantic_ai.finish = None
    with pytest.raises(ModelError, match="incomplete") as caught:
        reply()
    assert caught.value.retryable
    pydantic_ai.details = {"finish_reason": "A_NEW_WORD"}  # it did, in a word that pydantic-ai does not know
    assert isinstance(reply()[-1], EndPart)


def test_what_its_packages_warn_of_is_not_printed(pydantic_ai: Fake) -> None:
    pydantic_ai.warns = "The `timeout` setting is not supported"
    with warnings.catch_warnings(record=True) as heard:
        reply()
    assert heard == []


def test_the_limit_of_silence_goes_to_the_client_that_takes_it_there(pydantic_ai: Fake) -> None:
    reply("bedrock:us.amazon.nova-lite-v1:0", "http://127.0.0.1:1")
    assert pydantic_ai.built == [("bedrock", {"base_url": "http://127.0.0.1:1", "aws_read_timeout": 9.0})]
    assert "timeout" not in pydantic_ai.asked[0]["model_settings"]
    reply()
    assert pydantic_ai.asked[1]["model_settings"]["timeout"] == 9.0


class Odd:
    """A model that ends as `how` says."""

    name = "odd"

    def __init__(self, how: Exception | None) -> None:
        self._how = how

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]
        yield TextPart("hel")
        if self._how:
            raise self._how

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        (TypeError("a tuple"), "UNKNOWN", "TypeError: a tuple"),
        (None, "LLM_BAD_RESPONSE", "the reply ended before it was complete"),
    ],
)
def test_a_model_that_breaks_or_is_cut_gets_its_row(how: Exception | None, code: str, said: str) -> None:
    row, failed = asyncio.run(try_model(Odd(how), "odd"))
    assert (row["ok"], row["code"], row["error"]) == (False, code, said)
    assert failed
