"""What of this machine a contained command may see, read-only: the system's programs, the user's toolchains, and keys.

No key that lies in the project or is Quintet's own is shown, whatever a link or `~/.ssh/config` says.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from shutil import rmtree

from quintet.adapters.files.real_path import real_path
from quintet.domain.permission.effects import MACHINE_FACTS
from quintet.domain.permission.exposure import AGENT, KEYS, PRIVATE
from quintet.domain.permission.protected_paths import PROTECTION, Protection

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
CREDENTIALS = (
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".config/git/credentials"),
    *(".rye/credentials", ".local/share/uv/credentials", ".npm-global/etc/npmrc", ".bun/.npmrc"),
)
PROGRAMS = ("bin", "sbin", ".bin", "shims", "scripts", "Scripts", "tools")  # what folders of programs are called
# What is beside the `bin` of a toolchain, and only of one: its programs do not run without their other folders.
MARKS = (
    *("pyvenv.cfg", "conda-meta", "Cellar", "lib/rustlib", "lib/node_modules/npm", "pkg/tool", "src/runtime"),
    *("jmods", "lib/modules", "lib/ruby", "lib/erlang", "lib/dart", "lib/perl5"),
)
AGENT_INSIDE = "/run/ssh-agent"
MOST_CONFIG = 262_144  # bytes of ~/.ssh/config
_NAMES_KEYS = ("identityfile", "certificatefile")


def home() -> str:
    return _real(os.path.expanduser("~"))


@lru_cache(maxsize=8)
def _real(folder: str) -> str:
    """Asked two dozen times for each command, and no command can change a link on the way there."""
    return real_path(folder)


def toolchains(protection: Protection = PROTECTION, own: tuple[str, ...] = ()) -> list[str]:
    """Folders outside the system that programs on PATH, and Quintet's own, come from; `own` is what no command sees."""
    at_home = [os.path.join(home(), name) for name in TOOLCHAINS]
    prefixes = [sys.prefix, sys.base_prefix]
    for folder in (os.path.join(os.environ.get("VIRTUAL_ENV", ""), "bin"), *os.environ.get("PATH", "").split(":")):
        if os.path.isabs(folder):
            real = real_path(folder)
            above, name = os.path.split(real)
            if shows_programs(real, protection, own):
                whole = name == "shims" or is_toolchain(above)
                prefixes.append(above if whole and not any(below(one, above) for one in own) else real)
    wanted = [real_path(path) for path in (*at_home, *prefixes) if path]
    return _outermost([path for path in dict.fromkeys(wanted) if os.path.exists(path) and not _too_much(path)])


def shows_programs(folder: str, protection: Protection, own: tuple[str, ...]) -> bool:
    """Whether a folder on PATH is for programs: no place of secrets or of Quintet's own, and below a hidden folder of
    the home only by its name."""
    if protection.is_secret_folder(folder) or any(below(folder, one) or below(one, folder) for one in own):
        return False
    hidden = folder.removeprefix(home().rstrip("/") + "/")[:1] == "."
    return not (hidden and below(folder, home())) or os.path.basename(folder) in PROGRAMS


def is_toolchain(folder: str) -> bool:
    """Whether what lies beside a `bin` is what its programs run on. Beside others lie the settings of a program, and
    in `~/.local` those of many."""
    if folder == os.path.join(home(), ".local"):
        return False
    if any(os.path.exists(os.path.join(folder, mark)) for mark in MARKS):
        return True
    try:
        libraries = os.listdir(os.path.join(folder, "lib"))
    except OSError:
        return False
    return any(os.path.isfile(os.path.join(folder, "lib", name, "os.py")) for name in libraries if name[:6] == "python")


def credentials() -> list[str]:
    """Files inside the toolchains that are none of a command's business."""
    return [path for name in CREDENTIALS if os.path.exists(path := os.path.join(home(), name))]


def _too_much(path: str) -> bool:
    """The root, the home folder or one above it: a prefix that would show everything."""
    return (home() + "/").startswith(path.rstrip("/") + "/") or any(below(path, system) for system in SYSTEM)


def shown_folders() -> tuple[str, ...]:
    """The system's own folders and facts about the machine, which every sandbox shows read-only."""
    return (*(path for path in (*SYSTEM, *ALIASES) if os.path.isdir(path)), *MACHINE_FACTS)


def _outermost(paths: list[str]) -> list[str]:
    return [path for path in paths if not any(other != path and below(path, other) for other in paths)]


def below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def sweep(parent: str) -> None:
    """Remove the scratch folders of processes that are gone."""
    if os.path.isdir(parent):
        for name in os.listdir(parent):
            if name.isdigit() and not os.path.exists(f"/proc/{name}"):
                rmtree(os.path.join(parent, name), ignore_errors=True)


def interpreter(root: str) -> str:
    """The Python that scripts run on: the one a virtual environment stands on, if that environment is the project's."""
    base = getattr(sys, "_base_executable", "") or sys.executable
    for path in (sys.executable, base, real_path(base)):
        if not below(path, root) and not below(real_path(path), root):
            return path
    return sys.executable


def shown_keys(names: Sequence[str], root: str, own: Sequence[str]) -> list[tuple[str, str]]:
    """The user's own keys that a grant names: where each is, links followed, and where it is shown.

    `own` are Quintet's folders.
    """
    found: dict[str, str] = {}
    for name in names:
        paths = [os.path.join(home(), path) for path in KEYS[name].paths] if name in KEYS else []
        for place in (*paths, *(_named_in_config() if name == PRIVATE else ())):
            real = real_path(place)
            apart = not any(below(one, other) or below(other, one) for one in (real, place) for other in own)
            if apart and os.path.exists(real) and not below(place, root) and not below(real, root):
                found[place] = real
    return [(real, place) for place, real in found.items()]


def _named_in_config() -> Iterator[str]:
    """The keys that ~/.ssh/config names, where they lie in the home."""
    try:
        with open(os.path.join(home(), ".ssh", "config"), encoding="utf-8", errors="replace") as file:
            lines = file.read(MOST_CONFIG).splitlines()
    except OSError:
        return
    for line in lines:
        word, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if word.lower() in _NAMES_KEYS:
            value = value.strip().strip('"').replace("%d", home())
            path = os.path.normpath(os.path.join(home(), value[2:] if value[:2] == "~/" else value))
            if below(path, home()) and os.path.isfile(path):
                yield from (path, *filter(os.path.isfile, (f"{path}.pub",)))


def agent_socket(names: Sequence[str]) -> str:
    """The socket of the user's ssh agent, if the grant has it and there is one."""
    path = os.environ.get("SSH_AUTH_SOCK", "") if AGENT in names else ""
    try:
        return real_path(path) if os.path.isabs(path) and stat.S_ISSOCK(os.stat(path).st_mode) else ""
    except OSError:
        return ""


def system_mounts() -> list[str]:
    """The system as words for bubblewrap."""
    words: list[str] = []
    for path in SYSTEM:
        words += ["--ro-bind", path, path] if os.path.isdir(path) else []
    for path in ALIASES:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    return words
