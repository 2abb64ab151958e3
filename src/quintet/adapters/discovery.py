"""What is on this machine that could answer as a model: keys by name, AI CLIs on PATH, a local server."""

from __future__ import annotations

import os
import shutil
import socket

KEYS = (
    "OPENROUTER_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "DEEPSEEK_API_KEY",
)
CLIS = ("codex", "claude", "gemini")
OLLAMA = ("127.0.0.1", 11434)


def found_here() -> list[str]:
    found = [f"{key} is set" for key in KEYS if os.environ.get(key)]
    found += [f"{name} on PATH" for name in CLIS if shutil.which(name)]
    with socket.socket() as probe:
        probe.settimeout(0.2)
        if probe.connect_ex(OLLAMA) == 0:
            found.append("a local Ollama")
    return found
