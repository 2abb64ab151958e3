"""What of this machine a contained command may see: the system's programs, and the user's toolchains, read-only."""

from __future__ import annotations

import os
import sys

from quintet.adapters.host_programs import program

SYSTEM = ("/usr", "/opt", "/nix", "/snap", "/etc")
ALIASES = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr, or folders on older systems
HIDDEN_SYSTEM = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
)
TOOLCHAINS = (  # below the home folder
    *(".asdf", ".bun", ".cargo", ".deno", ".gem", ".ghcup", ".npm-global", ".nvm", ".opam", ".pyenv", ".rbenv"),
    *(".rustup", ".rye", ".sdkman", ".volta", "anaconda3", "bin", "go", "miniconda3", "miniforge3"),
    *(".local/bin", ".local/lib", ".local/pipx", ".local/share/mise", ".local/share/pipx", ".local/share/uv"),
    *(".gitconfig", ".config/git"),
)
CACHES = (".cache", ".npm", ".m2", ".gradle", ".nuget", ".yarn")  # below the home: kept for the session
CREDENTIALS = (".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".config/git/credentials")


def on_path(name: str) -> str:
    """Where a program is, empty if it is nowhere that counts: outside every project, whatever folder we stand in."""
    return program(name)


def home() -> str:
    return os.path.realpath(os.path.expanduser("~"))


def toolchains() -> list[str]:
    """Folders outside the system that programs on PATH, and Quintet's own, come from."""
    at_home = [os.path.join(home(), name) for name in TOOLCHAINS]
    prefixes = [sys.prefix, sys.base_prefix, os.environ.get("VIRTUAL_ENV", "")]
    for folder in os.environ.get("PATH", "").split(":"):
        if os.path.isabs(folder):
            above = os.path.dirname(folder)
            prefixes.append(above if os.path.basename(folder) in ("bin", "sbin", "shims") else folder)
    wanted = [os.path.realpath(path) for path in (*at_home, *prefixes) if path]
    return _outermost([path for path in dict.fromkeys(wanted) if os.path.exists(path) and not _too_much(path)])


def credentials() -> list[str]:
    """Files inside the toolchains that are none of a command's business."""
    return [path for name in CREDENTIALS if os.path.exists(path := os.path.join(home(), name))]


def _too_much(path: str) -> bool:
    """The root, the home folder or one above it: a prefix that would show everything."""
    return (home() + "/").startswith(path.rstrip("/") + "/") or any(below(path, system) for system in SYSTEM)


def _outermost(paths: list[str]) -> list[str]:
    return [path for path in paths if not any(other != path and below(path, other) for other in paths)]


def below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
