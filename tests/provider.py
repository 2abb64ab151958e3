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


def answered(asked: Asked, models: Sequence[str]) -> Answer:
    if asked.method == "GET":
        return Answer({"data": [{"id": name, "object": "model"} for name in models]})
    dialect = message_events if asked.path.endswith("/messages") else events
    stream = {"content-type": "text/event-stream"}
    return Answer(b"".join(dialect(next_reply(asked.json))), headers=stream)


@contextmanager
def provider(
    models: Sequence[str] = CLAUDES, answer: Callable[[Asked], Answer | None] = lambda asked: None
) -> Iterator[Server]:
    """`answer` may answer in the provider's place."""
    with serving(lambda asked: answer(asked) or answered(asked, models)) as server:
        yield server
