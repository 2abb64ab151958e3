"""The token for the forge: from the environment, else the one that the gh program keeps."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from urllib.parse import urlsplit

from quintet.adapters.processes.host_programs import host_path, program
from quintet.features.forge.settings import ForgeSettings

GH_SECONDS = 10.0
_HOSTED = ("GH_TOKEN", "GITHUB_TOKEN")
_ENTERPRISE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", *_HOSTED)
_FOR_GH = ("PATH", "HOME", "XDG_CONFIG_HOME", "GH_CONFIG_DIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")  # keyring
MISSING = "no token for the forge: export GH_TOKEN=… or run gh auth login"


def variables(settings: ForgeSettings) -> tuple[str, ...]:
    if settings.token_env:
        return (settings.token_env,)
    return _HOSTED if web_host(settings) == "github.com" else _ENTERPRISE


def find_token(settings: ForgeSettings, environment: Mapping[str, str]) -> tuple[str, str]:
    """The token and where it is from; both empty if there is none."""
    for name in variables(settings):
        if token := environment.get(name, "").strip():
            return token, name
    gh = program("gh")
    if settings.token_env or not gh:
        return "", ""
    kept = {key: value for key, value in environment.items() if key in _FOR_GH} | {"PATH": host_path()}
    try:
        done = subprocess.run(
            (gh, "auth", "token", "--hostname", web_host(settings)),
            cwd="/",
            env=kept,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GH_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    token = done.stdout.strip() if done.returncode == 0 else ""
    return (token, "gh auth token") if token else ("", "")


def web_host(settings: ForgeSettings) -> str:
    """The forge's own host: that of its API, but for the `api.` that hosted ones have before it."""
    return (urlsplit(settings.url).hostname or "").removeprefix("api.")
