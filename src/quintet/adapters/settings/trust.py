"""Which folders the user trusts, or has said no to, and the pieces of a project that trust covers.

A folder stands in a file of the user's configuration with true or false, or with the digests of what its yes covers.
What was covered is kept in Quintet's state, for a later diff. A piece is what a project brings that Quintet would load
or run. A link that leads out of the project is named and never followed: what lies there is not the project's to bring.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from quintet.adapters.files import private_files
from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import SettingsError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.protected_paths import inside
from quintet.domain.permission.trusted_content import (
    AGENTS,
    PROMPTS,
    SERVERS,
    SETTINGS,
    SKILLS,
    TOOLS,
    Pieces,
    Trust,
    changes,
    digest,
)
from quintet.domain.permission.trusted_content import not_loaded as left_out

MOST_FILES = 2_000  # of one folder
MOST_BYTES = 20_000_000  # of one file
MOST_SERVER_BYTES = 1_000_000  # of a list of servers
_COMMANDS = regex(r"[;|&()`\n]|\$\(")
_WORDS = regex(r"(?<![<>])[^\s<>\"'$]+")
_INTERPRETERS = regex(
    r"(ba|z|da|k|fi)?sh|python[\d.]*|node|ruby|perl|php|lua|deno|bun|env|exec|source|\.|timeout|nice|nohup|run|\d+[smh]?"
)
_PLAIN = frozenset(
    (
        *("true", "false", "echo", "printf", "exit", "test", "[", "cat", "grep", "jq", "touch", "mkdir"),
        *("date", "sleep", "logger", "notify-send"),
    )
)
_SCRIPT = regex(r"\.(sh|bash|zsh|fish|py|js|mjs|cjs|ts|rb|pl|php|lua)\Z")


class _Yes(msgspec.Struct, omit_defaults=True):
    content: dict[str, str] = {}
    declined: dict[str, str] = {}


def _decisions(path: str) -> dict[str, bool | _Yes]:
    folders = private_files.read_json(path, "no folder is trusted until then")
    if folders is None:
        return {}
    try:
        return msgspec.convert(folders, dict[str, bool | _Yes])
    except msgspec.ValidationError:
        raise SettingsError(
            f"{path}: expected folders with true, false or their recorded content", hint="Fix or delete it."
        ) from None


def trusted_folders(path: str) -> list[str]:
    return sorted(folder for folder, said in _decisions(path).items() if said is not False)


def gone_folders(path: str) -> list[str]:
    """Those that are trusted and no longer exist."""
    return [folder for folder in trusted_folders(path) if not os.path.isdir(folder)]


def forget(path: str, folder: str) -> bool:
    """Forget what was said of a folder; returns whether there was something."""
    with private_files.locked(path):
        folders = _decisions(path)
        if folder in folders:
            left = {name: said for name, said in folders.items() if name != folder}
            private_files.write_json(path, msgspec.to_builtins(left))
        return folder in folders


def trust_of(path: str, root: str) -> Trust:
    said = _decisions(path).get(root)
    if isinstance(said, _Yes):
        return Trust(True, True, said.content, said.declined)
    return Trust(said is not None, bool(said), None if said else {})


def set_trust(path: str, root: str, trusted: bool, content: dict[str, str] | None = None) -> bool:
    """Trust a folder with this content, or distrust it; returns whether that changed anything."""
    said: Any = _Yes(content or {}) if trusted else False
    return _record(path, root, said)


def accept(places: Places, pieces: Pieces) -> bool:
    """Trust the folder with these pieces, as they were shown; returns whether that changed anything."""
    changed = set_trust(places.trust_file, places.root, True, {name: digest(data) for name, data in pieces.items()})
    with contextlib.suppress(OSError):  # without its copy a piece is shown whole
        _keep(_copies(places), pieces)
    return changed


def _keep(folder: str, pieces: Pieces) -> None:
    private_folder(folder)
    for data in pieces.values():
        path = os.path.join(folder, digest(data))
        if not os.path.exists(path):
            with open(f"{path}.{os.getpid()}", "wb", opener=private) as file:
                file.write(data)
            os.replace(f"{path}.{os.getpid()}", path)


def decline(places: Places, pieces: Pieces) -> None:
    """Leave what is new or changed out, and do not ask about it again as it is."""
    trust = trust_of(places.trust_file, places.root)
    left = {name: digest(data) for name, data in pieces.items() if not trust.covers(name, data)}
    _record(places.trust_file, places.root, _Yes(trust.content or {}, {**trust.declined, **left}))


def not_loaded(places: Places, trust: Trust) -> str:
    """What of a trusted folder is left out because it is new or has changed; empty if nothing is."""
    found = changes(trust, pieces(places)) if trust.trusted else []
    return left_out(found) if found else ""


def former(places: Places, trust: Trust, name: str) -> bytes | None:
    """A piece as it was trusted; None if it was not, or is no longer known."""
    known = (trust.content or {}).get(name)
    if known:
        with contextlib.suppress(OSError), open(os.path.join(_copies(places), os.path.basename(known)), "rb") as file:
            data = file.read()
            return data if digest(data) == known else None
    return None


def _record(path: str, root: str, said: bool | _Yes) -> bool:
    with private_files.locked(path):
        folders = _decisions(path)
        if folders.get(root) == said:
            return False
        private_files.write_json(path, msgspec.to_builtins({**folders, root: said}))
        return True


def _copies(places: Places) -> str:
    return os.path.join(places.state, "trusted")


class Link(bytes):
    """What stands for a piece that is a link out of the project: where it leads. Whoever says yes, it is not loaded."""


def leads_out(root: str, path: str) -> bool:
    """Whether a path of a project goes by a link to somewhere else; `root` is the project's real path."""
    return inside(real_path(path), root) is None


def read_own(root: str, name: str) -> bytes | None:
    """A file of a project's as it is; None if there is no plain file, or a link leads out to it."""
    path = os.path.join(root, name)
    return None if leads_out(root, path) else read_bytes(path)


def pieces(places: Places) -> dict[str, bytes]:
    """Every piece by its name."""
    root = places.root
    found = dict(files_below(root, TOOLS))
    for folder in (PROMPTS, *AGENTS, *SKILLS):
        found |= files_below(root, folder)
    for name in (SETTINGS, SERVERS):
        found |= _link(root, name)
    if (data := read_own(root, SETTINGS)) is not None:
        found[SETTINGS] = data
        for script in scripts_of(root, _hooks(data)):
            found |= _link(root, script) or {script: read_bytes(os.path.join(root, script)) or b""}
    if (data := read_own(root, SERVERS)) is not None:
        found |= {server_piece(name): written(given) for name, given in server_entries(data)[0].items()}
    return found


def files_below(root: str, folder: str) -> dict[str, bytes]:
    """The files of a folder, by their paths in the project."""
    if found := _link(root, folder):
        return found
    top = os.path.join(root, folder)
    for path, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            whole = os.path.join(path, name)
            if len(found) >= MOST_FILES:
                found[f"{folder}/…"] = os.urandom(16)  # what cannot be looked through cannot be trusted
                return found
            name = os.path.relpath(whole, root)
            found |= _link(root, name) or {name: read_bytes(whole) or b""}
        for name in folders:
            if os.path.islink(whole := os.path.join(path, name)):
                name = os.path.relpath(whole, root)
                found |= _link(root, name) or {name: _where(whole)}
    return found


def _link(root: str, name: str) -> dict[str, bytes]:
    """The first part of a path that is a link out of the project, and where it leads; nothing if there is none."""
    if not leads_out(root, os.path.join(root, name)):
        return {}
    parts = name.split("/")
    ways = ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]
    first = next(way for way in ways if leads_out(root, os.path.join(root, way)))
    return {first: Link(_where(os.path.join(root, first)) + b", not loaded")}


def _where(path: str) -> bytes:
    try:
        return b"link to " + os.fsencode(os.readlink(path))
    except OSError:  # gone meanwhile
        return b"link"


def read_bytes(path: str) -> bytes | None:
    """A file as it is; None if there is no plain file. One that is too large is known by its size and time."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                return None
            if info.st_size > MOST_BYTES:
                return f"{info.st_size} bytes of {info.st_mtime_ns}".encode()
            return file.read(MOST_BYTES)
    except OSError:
        return None


def scripts_of(root: str, commands: Iterable[str]) -> Iterator[str]:
    """The programs and scripts of the project that shell commands name; a file that they read or write is none."""
    for command in commands:
        for simple in _COMMANDS.split(command):
            words = [word for word in _WORDS.findall(simple) if "=" not in word.partition("/")[0]]
            runs = True  # the next word that is no option is what runs, or what an interpreter reads
            for word in words:
                path = inside(word, root)
                whole = os.path.join(root, path) if path and path != "." else ""
                if whole and os.path.isfile(whole) and (runs or _is_script(whole)):
                    yield os.path.normpath(path or "")
                    runs = False
                elif word[0] != "-":
                    runs = runs and bool(_INTERPRETERS.fullmatch(word.rpartition("/")[2]))


def gone_from(root: str, command: str, trust: Trust) -> Iterator[str]:
    """What a command names that was trusted and is no file any more: it would end as if it had no objection."""
    for word in _WORDS.findall(command):
        path = os.path.normpath(inside(word, root) or ".")
        if path in (trust.content or {}) and not os.path.isfile(os.path.join(root, path)):
            yield path


def unlooked(root: str, commands: Iterable[str]) -> list[str]:
    """The project's hooks that run, or may run, more of the project than the scripts that trust covers."""
    return [command for command in dict.fromkeys(commands) if not _is_looked_at(root, command)]


def _is_looked_at(root: str, command: str) -> bool:
    for simple in _COMMANDS.split(command):
        words = [word for word in _WORDS.findall(simple) if "=" not in word.partition("/")[0]]
        if not words or words[0] in _PLAIN:  # these run nothing
            continue
        outside = os.path.isabs(words[0]) and inside(words[0], root) is None and len(words) == 1
        if "-m" in words or not (outside or any(scripts_of(root, [simple]))):
            return False
    return True


def _is_script(path: str) -> bool:
    return os.access(path, os.X_OK) or bool(_SCRIPT.search(path))


def server_entries(data: bytes) -> tuple[dict[str, Any], list[str]]:
    """The MCP servers that a `.mcp.json` names, as they stand there; and what is wrong with it."""
    if len(data) > MOST_SERVER_BYTES:
        return {}, [f"{SERVERS}: more than {MOST_SERVER_BYTES // 1000} kB is too large for a list of servers"]
    try:
        table = json.loads(data).get("mcpServers", {})
        return {str(name): given for name, given in table.items()}, []
    except (ValueError, AttributeError, RecursionError) as error:
        return {}, [f'{SERVERS}: expected {{"mcpServers": {{NAME: {{…}}}}}} ({error})']


def server_piece(name: str) -> str:
    return f"{SERVERS}: {name}"


def written(entry: object) -> bytes:
    """A server's entry, the same however it was written."""
    return json.dumps(entry, indent=2, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _hooks(data: bytes) -> list[str]:
    if b"hooks" not in data:
        return []
    import tomllib  # most projects have no hooks

    try:
        table = tomllib.loads(data.decode("utf-8")).get("hooks", {})
        return [command for commands in table.values() for command in commands if isinstance(command, str)]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []
