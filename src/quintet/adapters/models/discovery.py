"""What is on this machine that could answer as a model: keys by name, servers on loopback, AI CLIs on PATH."""

from __future__ import annotations

import os
import socket

from msgspec import Struct

from quintet.adapters.files.loose_json import as_dict, as_list, as_text, decoded
from quintet.adapters.processes.host_programs import program

OPENAI, ANTHROPIC = "openai", "anthropic"
SECONDS = 0.3  # for a server on loopback


class FoundModel(Struct, frozen=True):
    """Something that could answer, not what the user configured. An AI CLI has no wire."""

    name: str
    how: str  # what gave it away, for a person
    wire: str = ""
    base_url: str = ""
    api_key_env: str = ""
    models: tuple[str, ...] = ()  # what a server on loopback says it has


HOSTED = (
    FoundModel("openrouter", "", OPENAI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    FoundModel("openai", "", OPENAI, "https://api.openai.com/v1", "OPENAI_API_KEY"),
    FoundModel("anthropic", "", ANTHROPIC, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    FoundModel("gemini", "", OPENAI, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    FoundModel("groq", "", OPENAI, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    FoundModel("deepseek", "", OPENAI, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
)
LOCAL = (("ollama", "Ollama", 11434), ("lmstudio", "LM Studio", 1234), ("vllm", "vLLM", 8000))
CLIS = ("codex", "claude", "gemini")


def keys() -> list[FoundModel]:
    return [
        FoundModel(found.name, f"{found.api_key_env} is set", found.wire, found.base_url, found.api_key_env)
        for found in HOSTED
        if os.environ.get(found.api_key_env)
    ]


def clis() -> list[FoundModel]:
    return [FoundModel(name, f"{name} on PATH") for name in CLIS if program(name)]


def servers(usual: tuple[tuple[str, str, int], ...] = LOCAL) -> list[FoundModel]:
    """Servers at their usual ports that list their models; a port alone may be anybody's."""
    found = []
    for name, title, port in usual:
        base_url = f"http://127.0.0.1:{port}/v1"
        models = _models_at(port) if _listens(port) else None
        if models is not None:
            found.append(FoundModel(name, f"a local {title}", OPENAI, base_url, models=models))
    return found


def found_here() -> list[str]:
    """The same in a few words, quickly."""
    _, title, port = LOCAL[0]
    found = [one.how for one in (*keys(), *clis())]
    return [*found, f"a local {title}"] if _listens(port) else found


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(SECONDS)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _models_at(port: int) -> tuple[str, ...] | None:
    from http.client import HTTPConnection, HTTPException  # 9 ms

    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/v1/models")
        answer = as_dict(decoded(connection.getresponse().read(1_000_000)))
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
    names = [as_text(as_dict(one).get("id")) for one in as_list(answer.get("data"))]
    return tuple(name for name in names if name) if "data" in answer else None
