"""What is on this machine that could answer as a model: keys by name, servers on loopback, AI CLIs on PATH."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.json import encode

from quintet.adapters.files.loose_json import decoded
from quintet.adapters.processes.host_programs import program
from quintet.domain.base.errors import UsageError
from quintet.domain.models.connecting import ModelOffer
from quintet.domain.models.presets import PRESETS, Preset, base_url_of, host_of, is_loopback, key_variable

SECONDS = 0.3  # for a server on loopback
ELSEWHERE_SECONDS = 2.0
MOST_SECONDS = 5.0  # for the whole of an answer
CLIS = ("codex", "claude", "gemini")
ADD = "quintet models add"


class FoundModel(Struct, frozen=True):
    """Something that could answer, not what the user configured. An AI CLI has no wire."""

    name: str
    how: str  # what gave it away, for a person
    wire: str = ""
    base_url: str = ""
    api_key_env: str = ""
    models: tuple[str, ...] = ()  # what a server on loopback says it has
    title: str = ""

    @property
    def offer(self) -> ModelOffer:
        how = f"{self.how} at {host_of(self.base_url)}" if self.models else self.how
        return ModelOffer(self.name, self.title, how, self.base_url, bool(self.api_key_env), self.models)


def keys(environ: Mapping[str, str] | None = None) -> list[FoundModel]:
    """The providers whose usual variable is set, and that need nothing more."""
    around = os.environ if environ is None else environ
    found = []
    for preset in PRESETS:
        variable = key_variable(preset, around) if preset.key_needed else ""
        if variable and (base_url := address_of(preset, around)):
            found.append(
                FoundModel(preset.name, f"{variable} is set", preset.wire, base_url, variable, title=preset.title)
            )
    return found


def clis() -> list[FoundModel]:
    return [FoundModel(name, f"{name} on PATH") for name in CLIS if program(name)]


def servers(
    environ: Mapping[str, str] | None = None, presets: Sequence[Preset] = PRESETS, seconds: float = 0.0
) -> list[FoundModel]:
    """Servers where they usually are that list their models; a port alone may be anybody's."""
    around = os.environ if environ is None else environ
    found = []
    for preset in presets:
        base_url = address_of(preset, around) if preset.local else ""
        if not base_url:
            continue
        key = key_variable(preset, around)
        models = _models_at(base_url, seconds or (SECONDS if is_loopback(base_url) else ELSEWHERE_SECONDS))
        if models:
            how = f"{'a local ' if is_loopback(base_url) else ''}{preset.title}"
            found.append(FoundModel(preset.name, how, preset.wire, base_url, key, models, preset.title))
    return found


def offers() -> list[ModelOffer]:
    """What `quintet models use` can connect at once, and what a person is offered where nothing is configured."""
    return [one.offer for one in (*keys(), *servers())]


def found_here() -> list[str]:
    """What is here, in a few words, quickly."""
    return [one.how for one in (*keys(), *servers(), *clis())]


def connect_line() -> str:
    """What to type to have a model."""
    return next((offer.command for offer in offers()), ADD)


def cli_line() -> str:
    """What to type to have an AI CLI that is here plan and do the work; empty where there is none."""
    return next((f'quintet flow "…" --planner {cli.name} --executor {cli.name}' for cli in clis()), "")


def host(preset: Preset) -> str:
    """Where a preset's key would go; empty where that is not known yet."""
    return host_of(address_of(preset, os.environ))


def address_of(preset: Preset, environ: Mapping[str, str]) -> str:
    """Where it is; empty where that takes something that is not known, or its variable holds no address."""
    try:
        return base_url_of(preset, environ)
    except UsageError:
        return ""


def _models_at(base_url: str, seconds: float) -> tuple[str, ...]:
    answer = ask(base_url, "/models", seconds)
    if answer is None:
        return ()
    from quintet.adapters.models.model_list import models_in  # brings the HTTP client

    return tuple(model.id for model in models_in(answer) or ())


def ask(base_url: str, path: str, seconds: float, body: dict[str, Any] | None = None, key: str = "") -> Any:
    """The JSON that a server answers a GET, or a POST of `body`, with; None where it answers nothing good in time."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # 9 ms

    parts = urlsplit(base_url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if not _listens(host, port, seconds):
        return None
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, port, timeout=seconds)
    try:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        sent = None if body is None else encode(body)
        connection.request("GET" if sent is None else "POST", f"{parts.path}{path}", sent, headers)
        response = connection.getresponse()
        read = _read_within(response, MOST_SECONDS)
        return decoded(read) if response.status < 300 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def answers(base_url: str, seconds: float) -> bool:
    """Whether a server answers a request for its list of models in time, with whatever."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # 9 ms
    from ssl import SSLError

    parts = urlsplit(base_url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    except ValueError:
        return False
    try:
        connection.request("GET", f"{parts.path}/models")
        return connection.getresponse().status > 0
    except (OSError, HTTPException) as error:
        return isinstance(error, SSLError)  # somebody is there; its certificate is for a request to judge
    finally:
        connection.close()


def _read_within(response: Any, seconds: float) -> bytes:
    """What comes in this time, a megabyte at most: a server that drips must not hold up a start."""
    until, read = monotonic() + seconds, bytearray()
    while len(read) < 1_000_000 and monotonic() < until and (piece := response.read1(65_536)):
        read += piece
    return bytes(read)


def _listens(host: str, port: int, seconds: float) -> bool:
    try:
        with socket.create_connection((host, port), timeout=seconds):
            return True
    except OSError:
        return False
