"""A provider on loopback for tests: its list of models, and a model that makes one edit, in either dialect.

The model looks at what it is offered, as a real one does: it enters the toolset, reads, edits and is done, however many
requests that takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.adapters.model_server import Reply, events, message_events
from tests.loopback import Answer, Asked, Server, serving
from tests.surfaces.program import call

CLAUDES = ("claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805")
OLLAMAS = ("nomic-embed-text:latest", "qwen2.5-coder:7b", "llama3.2:latest")
BEFORE, AFTER = "def words", "def tokens"


def next_reply(body: dict[str, Any]) -> Reply:
    """What the model answers to a request."""
    offered = {tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())}
    said = json.dumps(body["messages"])
    if AFTER in said:
        return Reply(text="DONE: words is tokens now.")
    if "Edit" in offered:
        if "len(text.split())" not in said:
            return call("Read", file_path="tally/count.py")
        return call("Edit", file_path="tally/count.py", old_string=BEFORE, new_string=AFTER)
    return call("menu_enter", mode="swe") if "menu_enter" in offered else Reply(text="ok")


SHOWN = {
    "qwen2.5-coder:7b": {
        "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32_768, "qwen2.block_count": 28},
        "capabilities": ["completion", "tools", "insert"],
    },
    "llama3.2:latest": {
        "parameters": 'num_ctx                        8192\nstop                           "<|eot_id|>"',
        "model_info": {"llama.context_length": 131_072},
        "capabilities": ["completion", "vision"],
    },
}


def of_ollama(asked: Asked, loaded: dict[str, int]) -> Answer:
    """Ollama's own paths beside those of OpenAI: a model as it is, and what it is loaded with."""
    if asked.path == "/api/ps":
        return Answer({"models": [{"name": name, "context_length": size} for name, size in loaded.items()]})
    found = SHOWN.get(asked.json["model"]) if asked.path == "/api/show" else None
    return Answer(found) if found else Answer({"error": "not found"}, status=404)


def answered(asked: Asked, models: Sequence[str], loaded: dict[str, int]) -> Answer:
    if asked.path in ("/api/ps", "/api/show"):
        return of_ollama(asked, loaded)
    if asked.method == "GET":
        return Answer({"data": [{"id": name, "object": "model"} for name in models]})
    dialect = message_events if asked.path.endswith("/messages") else events
    stream = {"content-type": "text/event-stream"}
    return Answer(b"".join(dialect(next_reply(asked.json))), headers=stream)


@contextmanager
def provider(
    models: Sequence[str] = CLAUDES,
    answer: Callable[[Asked], Answer | None] = lambda asked: None,
    loaded: dict[str, int] | None = None,
) -> Iterator[Server]:
    """`answer` may answer in the provider's place; `loaded` is what an Ollama holds of each model."""
    with serving(lambda asked: answer(asked) or answered(asked, models, loaded or {})) as server:
        yield server
