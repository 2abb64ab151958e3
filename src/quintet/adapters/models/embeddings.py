"""Vectors of texts from an OpenAI-compatible server: POST {base_url}/embeddings; and comparing them without a library.

Vectors are kept twice: as signs, one bit a number, which are compared by the thousand, and as numbers, which decide
among the few that are nearest by their signs.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from urllib.parse import urlencode

import msgspec

from quintet import __version__
from quintet.adapters.files.loose_json import as_dict, as_list, decoded
from quintet.adapters.http.client import HttpClient
from quintet.adapters.models.errors import Failures
from quintet.adapters.models.keys import Key
from quintet.domain.settings.settings import ModelSettings

MOST_CHARACTERS = 6000  # of a page; servers refuse what is longer than their model reads
AT_ONCE = 32  # texts in one request
ANSWER_BYTES = 50_000_000
ERROR_SECONDS = 5.0


class Embedder:
    def __init__(self, settings: ModelSettings, name: str) -> None:
        self.model = settings.model
        self._key = Key(settings, name)
        self._more = {name.lower(): value for name, value in settings.headers.items()}
        self._path = f"/embeddings?{urlencode(settings.query)}" if settings.query else "/embeddings"
        self._failures = Failures(f"models.{name}", "", settings.api_key_env)
        self._client = HttpClient(settings.base_url, settings.timeout, f"models.{name}")

    async def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """A vector of length 1 for each text. Raises ModelError."""
        body = msgspec.json.encode({"model": self.model, "input": [text[:MOST_CHARACTERS] for text in texts]})
        headers = {"content-type": "application/json", "user-agent": f"quintet/{__version__}"}
        if key := await self._key.value():
            headers["authorization"] = f"Bearer {key}"
            self._failures.key = key
        async with self._client.post(self._path, {**headers, **self._more}, body) as response:
            if response.status != 200:
                said = await response.rest(ERROR_SECONDS)
                raise self._failures.of_status(response.status, decoded(said), said)
            answer = bytearray()
            async for data in response:
                answer += data
                if len(answer) > ANSWER_BYTES:
                    raise self._failures.of_reply("the embedding server's answer is too long", again=False)
        vectors = _vectors(decoded(answer))
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
            raise self._failures.of_reply(
                "the embedding server's answer contains no vectors", bytes(answer), again=False
            )
        return vectors

    async def close(self) -> None:
        await self._client.close()


def _vectors(answer: object) -> list[array[float]]:
    rows = [as_dict(row) for row in as_list(as_dict(answer).get("data"))]
    rows.sort(key=lambda row: row["index"] if isinstance(row.get("index"), int) else 0)
    try:
        return [_unit(as_list(row.get("embedding"))) for row in rows]
    except (TypeError, OverflowError):
        return []


def _unit(numbers: Sequence[float]) -> array[float]:
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return array("f", [number / length for number in numbers])


def signs(vector: Sequence[float]) -> bytes:
    bits = 0
    for number in vector:
        bits = bits << 1 | (number > 0)
    return bits.to_bytes((len(vector) + 7) // 8, "big")


def nearest_by_signs(wanted: bytes, others: Iterable[tuple[int, bytes]], limit: int) -> list[int]:
    """The keys of those that differ in the fewest signs, the nearest first."""
    bits = int.from_bytes(wanted, "big")
    apart = (((bits ^ int.from_bytes(other, "big")).bit_count(), key) for key, other in others)
    return [key for _, key in nsmallest(limit, apart)]


def likeness(one: Sequence[float], other: bytes) -> float:
    numbers = array("f", other)
    return sum(a * b for a, b in zip(one, numbers, strict=False)) if len(numbers) == len(one) else 0.0
