"""A loopback server that speaks /embeddings: a vector has one number for each subject that a text speaks of."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Answer, Asked, serving


@dataclass
class Embedding:
    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def embedding(subjects: Mapping[str, Sequence[str]]) -> Iterator[Embedding]:
    def vector(text: str) -> list[float]:
        said = [float(sum(text.lower().count(word) for word in words)) for words in subjects.values()]
        return [number or -0.1 for number in said]

    def answer(request: Asked) -> Answer:
        assert (request.method, request.path) == ("POST", "/v1/embeddings")
        made.asked.append(request.json)
        rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(request.json["input"])]
        return Answer({"data": rows[::-1], "usage": {"prompt_tokens": 1}})

    with serving(answer) as server:
        made = Embedding(f"{server.url}/v1")
        yield made
