"""The part of pydantic-ai that the adapter uses, for tests where the extra is not installed: `FAKE` says what it does.

`scripts/check providers` runs the real one, with the real clients of four providers.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

MODULES = ("messages", "direct", "exceptions", "models", "output", "providers", "tools")


class ModelAPIError(Exception):
    body: Any = None
    retry_after: float | None = None

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        if status:
            self.status_code = status


class ModelConnectionError(ModelAPIError):
    pass


class ModelTimeoutError(ModelConnectionError):
    pass


class UnexpectedModelBehavior(Exception):
    pass


@dataclass
class Fake:
    """What it will do, and what it was given."""

    raises: Exception | None = None
    building: Exception | None = None
    warns: str = ""
    finish: str | None = "stop"
    details: dict[str, str] | None = None
    built: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)


class _Response(SimpleNamespace):
    pass


def _installed(fake: Fake) -> Iterator[tuple[str, ModuleType]]:
    root = ModuleType("pydantic_ai")
    parts = {name: ModuleType(f"pydantic_ai.{name}") for name in MODULES}
    for name, module in parts.items():
        setattr(root, name, module)
        yield f"pydantic_ai.{name}", module
    yield "pydantic_ai", root

    @asynccontextmanager
    async def model_request_stream(model: Any, sent: Any, **given: Any) -> AsyncIterator[Any]:
        fake.asked.append(given)
        if fake.warns:
            warnings.warn_explicit(fake.warns, UserWarning, "models.py", 1, module="pydantic_ai.models")
        if fake.raises:
            raise fake.raises
        usage = SimpleNamespace(input_tokens=3, output_tokens=2, cache_read_tokens=0)
        words = SimpleNamespace(part_kind="text", content="hello")
        response = _Response(
            parts=[words], finish_reason=fake.finish, provider_details=fake.details, usage=usage, model_name="m-1"
        )
        response.provider_response_id = "r-1"

        async def events() -> AsyncIterator[Any]:
            yield SimpleNamespace(event_kind="part_start", part=words)

        stream = events()
        stream_like: Any = _Stream(stream, response)
        yield stream_like

    def infer_model(name: str, provider: Any) -> Any:
        if fake.building:
            raise fake.building
        return provider(name.partition(":")[0])

    def infer_provider_class(name: str) -> Any:
        return lambda **given: fake.built.append((name, given)) or name

    parts["direct"].model_request_stream = model_request_stream  # type: ignore[attr-defined]
    for kind in (ModelAPIError, ModelConnectionError, ModelTimeoutError, UnexpectedModelBehavior):
        setattr(parts["exceptions"], kind.__name__, kind)
    parts["models"].infer_model = infer_model  # type: ignore[attr-defined]
    parts["models"].ModelRequestParameters = SimpleNamespace  # type: ignore[attr-defined]
    parts["output"].OutputObjectDefinition = SimpleNamespace  # type: ignore[attr-defined]
    parts["providers"].infer_provider_class = infer_provider_class  # type: ignore[attr-defined]
    parts["tools"].ToolDefinition = SimpleNamespace  # type: ignore[attr-defined]
    kinds: Any = parts["messages"]
    kinds.ModelRequest = kinds.ModelResponse = lambda given: SimpleNamespace(parts=given)
    kinds.UserPromptPart = kinds.SystemPromptPart = lambda text: text
    kinds.ModelResponse = _Response
    kinds.ModelMessagesTypeAdapter = SimpleNamespace(dump_json=lambda found: b"[]")


class _Stream:
    def __init__(self, events: AsyncIterator[Any], response: Any) -> None:
        self._events, self._response = events, response

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._events

    def get(self) -> Any:
        return self._response


@pytest.fixture
def pydantic_ai(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    fake, ours = Fake(), "quintet.adapters.models.pydantic_ai"
    for name in [name for name in sys.modules if name.partition(".")[0] == "pydantic_ai" or name == ours]:
        monkeypatch.delitem(sys.modules, name)
    for name, module in _installed(fake):
        monkeypatch.setitem(sys.modules, name, module)
    with warnings.catch_warnings():
        yield fake
    sys.modules.pop(ours, None)  # it holds the stand-in
